"use strict";
// What the data element holds, what of it is chosen, and the makers of elements. The page joins these files in order:
// weights.js, views.js, attention.js. Text from the data only ever becomes textContent, never markup.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const NOTES = {
  encoder: "Each source subword (row) attends to the source (columns).",
  decoder: "The position that produces a subword (row) attends to what has been produced before it (columns).",
  cross: "The position that produces a subword (row) attends to the source (columns).",
};
const SIDES = { encoder: ["source", "source"], decoder: ["produces", "was given"], cross: ["produces", "source"] };
const NAMES = { encoder: "Encoder", decoder: "Decoder", cross: "Cross" };
const MEAN = -1;
const FAINT = 0.01; // a line below this weight is not drawn

const state = { kind: "cross", words: false, layer: data.layer - 1, head: MEAN, view: "map", sort: "layer", down: false };

// ---- the weights -----------------------------------------------------------------------------------------------

function decoded(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const width = data.bits / 8, weights = new Float32Array(bytes.length / width), most = 2 ** data.bits - 1;
  for (let i = 0; i < weights.length; i++) {
    weights[i] = ((width === 1 ? bytes[i] : bytes[2 * i] + 256 * bytes[2 * i + 1]) / most) ** 2; // roots are stored
  }
  return weights;
}

for (const kind of Object.values(data.kinds)) {
  kind.values = decoded(kind.weights);
  [kind.layers, kind.count, kind.rows, kind.columns] = kind.shape;
  kind.means = [];
}

// The same weights by words: those of a key's subwords together, of a query's subwords on average.
function byWords(kind) {
  const rows = kind.words.queries, columns = kind.words.keys, size = rows.length * columns.length;
  const values = new Float32Array(kind.layers * kind.count * size);
  for (let map = 0; map < kind.layers * kind.count; map++) {
    rows.forEach(([, queries], row) => columns.forEach(([, keys], column) => {
      let sum = 0;
      for (const query of queries) for (const key of keys) sum += kind.values[(map * kind.rows + query) * kind.columns + key];
      values[map * size + row * columns.length + column] = sum / queries.length;
    }));
  }
  const texts = (side) => side.map(([text]) => text);
  return { ...kind, values, means: [], rows: rows.length, columns: columns.length, queries: texts(rows), keys: texts(columns) };
}

const kindsByWords = Object.fromEntries(Object.entries(data.kinds).map(([name, kind]) => [name, byWords(kind)]));
const chosenKind = () => (state.words ? kindsByWords : data.kinds)[state.kind];

function weightsOf(kind, layer, head) {
  const size = kind.rows * kind.columns;
  if (head !== MEAN) return kind.values.subarray((layer * kind.count + head) * size, (layer * kind.count + head + 1) * size);
  kind.means[layer] ??= Float32Array.from({ length: size }, (_, i) => {
    let sum = 0;
    for (let h = 0; h < kind.count; h++) sum += kind.values[(layer * kind.count + h) * size + i];
    return sum / kind.count;
  });
  return kind.means[layer];
}

// ---- colours: the strength is the square root of the weight, so that weak attention can be seen -----------------

function painted(canvas, weights, rows, columns) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  weights.forEach((weight, i) => image.data.set([...data.colour, Math.round(255 * Math.sqrt(weight))], 4 * i));
  context.putImageData(image, 0, 0);
  return canvas;
}

// ---- small makers ----------------------------------------------------------------------------------------------

function element(name, attributes = {}, text = null, parent = null) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  parent?.append(made);
  return made;
}

const SVG = byId("picture").namespaceURI;
function shape(parent, name, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  parent.append(made);
  return made;
}

function label(parent, text, attributes) {
  const made = shape(parent, "text", attributes), spaces = text.match(/^·*/)[0];
  if (spaces) shape(made, "tspan", { class: "space" }, spaces);
  made.append(text.slice(spaces.length));
  return made;
}

const shown = (weight) => (weight === 0 ? "0" : weight < 0.0005 ? "< 0.001" : weight.toFixed(3));
const isolated = (text) => `\u2068${text}\u2069`;
const headName = (head) => (head === MEAN ? "mean of heads" : `head ${head + 1}`);

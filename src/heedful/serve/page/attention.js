// What a word of a translation looked at: the words of the source by their weights, and a picture for each head.

export const $ = (selector, within = document) => within.querySelector(selector);

export function node(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export function showAttention(found, word, place) {
  const row = rowOf(found.target, word, place);
  $("#attention").hidden = false;
  $("#word").textContent = word;
  $("#looked").replaceChildren(
    ...found.source.flatMap((one, column) => {
      const weight = found.weights[row][column];
      const made = node("span", { className: "word", textContent: one });
      made.style.setProperty("--weight", weight);
      if (weight >= 0.05) made.append(" ", node("small", { textContent: `${Math.round(100 * weight)}%` }));
      return [made, " "];
    }),
  );
  $("#heads").hidden = Boolean(found.heads);
  $("#grid").replaceChildren(...(found.heads ?? []).map((weights, head) => picture(weights, head, found, row)));
}

// The word's row: what was carried through may have shifted the words by some.
function rowOf(target, word, place) {
  let best = Math.min(place, target.length - 1);
  let distance = Infinity;
  target.forEach((one, row) => {
    if (one === word && Math.abs(row - place) < distance) [best, distance] = [row, Math.abs(row - place)];
  });
  return best;
}

function drawn(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// One head: a row for each word of the translation, a column for each of the source.
function picture(weights, head, found, chosen) {
  const size = 12;
  const [rows, columns] = [found.target.length, found.source.length];
  const most = weights[chosen].indexOf(Math.max(...weights[chosen]));
  const caption = `head ${head + 1}: mostly “${found.source[most]}”`;
  const cells = weights.flatMap((row, y) =>
    row.map((weight, x) => {
      const title = drawn("title", {}, `${found.target[y]} → ${found.source[x]}: ${Math.round(100 * weight)}%`);
      const opacity = (weight * (y === chosen ? 1 : 0.6)).toFixed(3);
      return drawn("rect", { x: x * size, y: y * size, width: size, height: size, "fill-opacity": opacity }, title);
    }),
  );
  const frame = drawn("rect", { class: "frame", x: 0.5, y: chosen * size + 0.5, width: columns * size - 1, height: size - 1 });
  const box = { viewBox: `0 0 ${columns * size} ${rows * size}`, role: "img", "aria-label": caption };
  return node("figure", {}, node("figcaption", { textContent: caption }), drawn("svg", box, ...cells, frame));
}

// The page at /: two fields, translation while you type, the beams as they grow, and what a word looked at.
// It asks the server it came from, and nobody else.

const WAIT = 250; // milliseconds of silence before what was typed is translated
const PATIENCE = 1500; // milliseconds after which half a translation is better than the last one
const $ = (selector, within = document) => within.querySelector(selector);
const text = $("#text");
const sides = [...document.querySelectorAll(".output")];
const running = [null, null]; // what can be stopped, for each side
const answers = [null, null];
const since = [0, 0];
const grown = [new Map(), new Map()]; // what each sentence has come to while it is searched for
let models = [];
let names = {};
let timer = 0;
let shown = null; // the sentence and word whose attention is open

function node(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function headers() {
  const key = $("#key").value.trim();
  return { "Content-Type": "application/json", ...(key && { Authorization: `Bearer ${key}` }) };
}

function modelOf(side) {
  return models.find((model) => model.name === (side ? $("#other").value : $("#pair").value));
}

function complain(message) {
  $("#problem").hidden = !message;
  $("#problem").textContent = message;
}

// Translating

function changed() {
  clearTimeout(timer);
  running.forEach((one) => one?.abort());
  const given = text.value;
  $("#count").textContent = given.length.toLocaleString();
  $("#clear").hidden = !given;
  history.replaceState(null, "", given ? `#${encodeURIComponent(given.slice(0, 1500))}` : location.pathname);
  if (!given.trim()) {
    sides.forEach((_, side) => empty(side));
    complain("");
    $("#state").textContent = "";
    return;
  }
  timer = setTimeout(translate, WAIT);
}

function empty(side) {
  answers[side] = null;
  const place = $(".translation", sides[side]);
  place.textContent = "";
  place.classList.remove("growing");
  $(".copy", sides[side]).hidden = true;
  $(".hint", sides[side]).textContent = "";
  if (side === 0) {
    $("#hypotheses").hidden = true;
    closeAttention();
  }
}

function translate() {
  clearTimeout(timer);
  complain("");
  const both = $("#compare").checked;
  for (const side of both ? [0, 1] : [0]) follow(side);
}

async function follow(side) {
  running[side]?.abort();
  const stop = (running[side] = new AbortController());
  const model = modelOf(side);
  grown[side].clear();
  const began = (since[side] = performance.now());
  if (side === 0) $("#state").textContent = "Translating …";
  try {
    const answer = await fetch("api/stream", {
      method: "POST",
      headers: headers(),
      signal: stop.signal,
      body: JSON.stringify({ text: text.value, model: model.name, n_best: model.n_best }),
    });
    if (!answer.ok) {
      const problem = await answer.json().catch(() => ({}));
      if (answer.status === 429) {
        const seconds = Number(answer.headers.get("Retry-After")) || 1;
        $("#state").textContent = `Busy: again in ${seconds} s`;
        timer = setTimeout(translate, seconds * 1000);
        return;
      }
      throw new Error(problem.error || `The server answered ${answer.status}.`);
    }
    for await (const line of linesOf(answer.body)) {
      if (stop.signal.aborted) return;
      if (line.beams) showBeams(side, line.beams);
      if (line.error) throw new Error(line.error);
      if (line.result) {
        showResult(side, line.result);
        if (side === 0) $("#state").textContent = `${((performance.now() - began) / 1000).toFixed(1)} s`;
      }
    }
  } catch (error) {
    if (error.name === "AbortError") return;
    $("#state").textContent = "";
    complain(error instanceof TypeError ? "The server cannot be reached. Is it still running?" : error.message);
  }
}

async function* linesOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) yield JSON.parse(line);
  }
}

// Showing

function showBeams(side, beams) {
  for (const one of beams) {
    const best = one.hypotheses.find((hypothesis) => hypothesis.ended) ?? one.hypotheses[0];
    grown[side].set(one.sentence, best?.text ?? "");
  }
  const place = $(".translation", sides[side]);
  place.classList.add("growing");
  const sentences = [...grown[side]].sort(([a], [b]) => a - b).map(([, said]) => said);
  // The translation of what was there before stays, lest it flicker at every key, unless this takes long.
  if (!answers[side] || performance.now() - since[side] > PATIENCE) place.textContent = sentences.join(" ");
  const going = beams.filter((one) => one.hypotheses.some((hypothesis) => !hypothesis.ended));
  if (!going.length) return;
  const first = going.reduce((a, b) => (b.sentence < a.sentence ? b : a));
  if (side !== 0) return;
  const best = Math.max(...first.hypotheses.map((one) => one.log_probability));
  const several = grown[0].size > 1 || first.sentence ? ` of sentence ${first.sentence + 1}` : "";
  list("The search", `hypotheses${several} as they grow, with their log-probabilities`, true);
  $("#hypotheses ol").replaceChildren(
    ...first.hypotheses.map((one) => {
      const item = node("li", { className: one.ended ? "ended" : "" }, node("span", { textContent: one.text || "…" }));
      item.append(node("span", { className: "score", textContent: one.log_probability.toFixed(2) }));
      item.style.setProperty("--share", Math.exp(one.log_probability - best).toFixed(3));
      return item;
    }),
  );
}

function list(what, how, growing) {
  $("#hypotheses").hidden = false;
  $("#hypotheses").classList.toggle("growing", growing);
  $("#what").textContent = what;
  $("#how").textContent = how;
}

function showResult(side, answer) {
  answers[side] = answer;
  const [result] = answer.results;
  const place = $(".translation", sides[side]);
  place.classList.remove("growing");
  place.replaceChildren(...words(result, side));
  $(".copy", sides[side]).hidden = !place.textContent.trim();
  $(".hint", sides[side]).textContent = answer.notices[0] ?? (side ? "" : "Click a word to see what it looked at.");
  if (side !== 0) return;
  const others = result.translations.slice(1);
  list("Other translations", "best first, with their scores; click one to copy it", false);
  $("#hypotheses").hidden = !others.length;
  $("#hypotheses ol").replaceChildren(
    ...others.map((one) => {
      const item = node("li", { tabIndex: 0, title: "Copy" }, node("span", { textContent: one.text }));
      item.append(node("span", { className: "score", textContent: one.score.toFixed(2) }));
      const take = () => copy(one.text, item.lastChild);
      item.addEventListener("click", take);
      item.addEventListener("keydown", (event) => event.key === "Enter" && take());
      return item;
    }),
  );
  closeAttention();
}

// The translation with a span for every word: sentences are found in it one after the other.
function words(result, side) {
  const whole = result.translations[0].text;
  const nodes = [];
  let at = 0;
  for (const [number, sentence] of result.sentences.entries()) {
    const begin = whole.indexOf(sentence.target, at);
    if (begin < 0) continue;
    nodes.push(whole.slice(at, begin));
    at = begin + sentence.target.length;
    let place = 0;
    for (const part of sentence.target.split(/(\s+)/)) {
      if (!part.trim() || !sentence.read) nodes.push(part);
      else nodes.push(wordNode(part, side, number, place++));
    }
  }
  nodes.push(whole.slice(at));
  return nodes;
}

function wordNode(word, side, sentence, place) {
  const made = node("span", { className: "word", textContent: word, tabIndex: -1 });
  made.addEventListener("click", () => openAttention(made, side, sentence, place));
  return made;
}

// Attention

async function openAttention(clicked, side, number, place, heads = false) {
  document.querySelectorAll(".word.chosen").forEach((one) => one.classList.remove("chosen"));
  clicked.classList.add("chosen");
  const answer = answers[side];
  const sentence = answer.results[0].sentences[number];
  shown = { clicked, side, number, place };
  let found;
  try {
    const asked = await fetch("api/attention", {
      method: "POST",
      headers: headers(),
      body: JSON.stringify({ text: sentence.read, translation: sentence.written, model: answer.model, heads }),
    });
    found = await asked.json();
    if (!asked.ok) throw new Error(found.error);
  } catch (error) {
    complain(error.message);
    return;
  }
  if (shown?.clicked !== clicked) return;
  const row = rowOf(found.target, clicked.textContent, place);
  $("#attention").hidden = false;
  $("#word").textContent = clicked.textContent;
  $("#looked").replaceChildren(
    ...found.source.flatMap((word, column) => {
      const weight = found.weights[row][column];
      const made = node("span", { className: "word", textContent: word });
      made.style.setProperty("--weight", weight);
      if (weight >= 0.05) made.append(node("small", { textContent: `${Math.round(100 * weight)}%` }));
      return [made, " "];
    }),
  );
  $("#heads").hidden = heads;
  $("#grid").replaceChildren(...(found.heads ?? []).map((weights, head) => picture(weights, head, found, row)));
  if (!heads) $("#attention").scrollIntoView({ block: "nearest", behavior: "smooth" });
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

// One head: a row for each word of the translation, a column for each of the source.
function picture(weights, head, found, chosen) {
  const space = "http://www.w3.org/2000/svg";
  const size = 12;
  const svg = document.createElementNS(space, "svg");
  const [rows, columns] = [found.target.length, found.source.length];
  svg.setAttribute("viewBox", `0 0 ${columns * size} ${rows * size}`);
  weights.forEach((row, y) =>
    row.forEach((weight, x) => {
      const cell = document.createElementNS(space, "rect");
      for (const [name, value] of Object.entries({ x: x * size, y: y * size, width: size, height: size }))
        cell.setAttribute(name, value);
      cell.setAttribute("fill-opacity", (weight * (y === chosen ? 1 : 0.6)).toFixed(3));
      const title = document.createElementNS(space, "title");
      title.textContent = `${found.target[y]} → ${found.source[x]}: ${Math.round(100 * weight)}%`;
      cell.append(title);
      svg.append(cell);
    }),
  );
  const frame = document.createElementNS(space, "rect");
  for (const [name, value] of Object.entries({ x: 0.5, y: chosen * size + 0.5, width: columns * size - 1, height: size - 1 }))
    frame.setAttribute(name, value);
  frame.style.fill = "none";
  frame.style.stroke = "currentColor";
  svg.append(frame);
  const most = weights[chosen].indexOf(Math.max(...weights[chosen]));
  return node("figure", {}, node("figcaption", { textContent: `head ${head + 1}: mostly “${found.source[most]}”` }), svg);
}

function closeAttention() {
  shown = null;
  $("#attention").hidden = true;
  document.querySelectorAll(".word.chosen").forEach((one) => one.classList.remove("chosen"));
}

// Buttons and keys

async function copy(value, where) {
  try {
    await navigator.clipboard.writeText(value);
  } catch {
    const area = node("textarea", { value }); // without https a browser has no clipboard for pages
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const before = where.textContent;
  where.textContent = "Copied";
  setTimeout(() => (where.textContent = before), 900);
}

function swap() {
  const { source, target } = modelOf(0);
  const back = models.find((model) => model.source === target && model.target === source);
  if (!back) return;
  const translation = answers[0]?.results[0].translations[0].text;
  $("#pair").value = back.name;
  if (translation) text.value = translation;
  chooseModel();
  changed();
}

function chooseModel() {
  const { source, target, name } = modelOf(0);
  const alike = models.filter((model) => model.source === source && model.target === target && model.name !== name);
  const before = $("#other").value;
  $("#other").replaceChildren(...alike.map((model) => node("option", { value: model.name, textContent: model.name })));
  if (alike.some((model) => model.name === before)) $("#other").value = before;
  $("#comparing").hidden = !alike.length;
  if (!alike.length) $("#compare").checked = false;
  const both = $("#compare").checked;
  sides[1].hidden = !both;
  $(".which", sides[0]).hidden = !both;
  $(".which", sides[0]).textContent = name;
  $("#fields").classList.toggle("three", both);
  const back = models.some((model) => model.source === target && model.target === source);
  $("#swap").disabled = !back;
  $("#swap").title = back ? "Swap languages (Alt+S)" : `No model here translates from ${names[target]} to ${names[source]}`;
  text.lang = source;
  sides.forEach((side) => ($(".translation", side).lang = target));
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function otherTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  localStorage.setItem("theme", next);
  setTheme(next);
}

function listen() {
  text.addEventListener("input", changed);
  $("#theme").addEventListener("click", otherTheme);
  $("#swap").addEventListener("click", swap);
  $("#close").addEventListener("click", closeAttention);
  $("#keyed").addEventListener("submit", (event) => event.preventDefault());
  $("#key").addEventListener("change", () => (sessionStorage.setItem("key", $("#key").value), changed()));
  for (const id of ["#pair", "#compare", "#other"])
    $(id).addEventListener("change", () => (sides.forEach((_, side) => empty(side)), chooseModel(), changed()));
  $("#heads").addEventListener("click", () => {
    if (shown) openAttention(shown.clicked, shown.side, shown.number, shown.place, true);
  });
  $("#clear").addEventListener("click", clear);
  sides.forEach((side, number) =>
    $(".copy", side).addEventListener("click", (event) =>
      copy(answers[number].results[0].translations[0].text, event.currentTarget),
    ),
  );
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") shown ? closeAttention() : clear();
    if (event.altKey && event.code === "KeyS") (event.preventDefault(), swap());
    if (event.altKey && event.code === "KeyC" && answers[0]) (event.preventDefault(), $(".copy", sides[0]).click());
    if (event.ctrlKey && event.key === "Enter") translate();
  });
}

function clear() {
  text.value = "";
  changed();
  text.focus();
}

async function begin() {
  setTheme(localStorage.getItem("theme"));
  $("#key").value = sessionStorage.getItem("key") ?? "";
  listen();
  const known = await (await fetch("api/models")).json();
  models = known.models;
  names = known.languages;
  $("#keyed").hidden = !known.limits.key;
  text.maxLength = known.limits.characters;
  const twice = (model) => models.some((one) => one !== model && one.source === model.source && one.target === model.target);
  $("#pair").replaceChildren(
    ...models.map((model) =>
      node("option", {
        value: model.name,
        textContent: `${names[model.source]} → ${names[model.target]}${twice(model) ? ` · ${model.name}` : ""}`,
      }),
    ),
  );
  chooseModel();
  if (location.hash.length > 1) {
    try {
      text.value = decodeURIComponent(location.hash.slice(1));
    } catch {
      text.value = "";
    }
    changed();
  }
}

begin().catch(() => complain("The server cannot be reached. Is it still running?"));

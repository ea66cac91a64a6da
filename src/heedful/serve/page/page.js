// The page at /: two fields, translation while you type, the beams as they grow, and what a word looked at.
// It asks the server it came from, and nobody else.

import { $, node, showAttention } from "./attention.js";

const WAIT = 250; // milliseconds of silence before what was typed is translated
const PATIENCE = 1500; // milliseconds after which half a translation is better than the last one
const AGAIN = 3000; // milliseconds before a server that did not answer is asked again
const LINKED = 1500; // characters of a text that a link may hold
const ALIKE = 60; // characters that a translation has at its beginning like the best, so that they are left out
const UNREACHABLE = "The server cannot be reached. Is it still running?";
const CLICK = "Choose a word to see what it looked at.";
const text = $("#text");
const sides = [...document.querySelectorAll(".output")];
const running = [null, null]; // what can be stopped, for each side
const answers = [null, null];
const since = [0, 0];
const grown = [new Map(), new Map()]; // what each sentence has come to while it is searched for
let models = [];
let names = {};
let most = Infinity; // characters of a text
let timer = 0;
let shown = null; // the sentence and word whose attention is open

function headers() {
  const key = $("#key").value.trim();
  return { "Content-Type": "application/json", ...(key && { Authorization: `Bearer ${key}` }) };
}

// The models that the chosen languages leave; nothing chosen: the server finds out which language a text is in.
function fitting() {
  const [source, target] = [$("#source").value, $("#target").value];
  return models.filter((one) => (!source || one.source === source) && (!target || one.target === target));
}

// What a request says of the model, and of how many translations it wants.
function asked(side) {
  const name = side ? $("#other").value : $("#model").value;
  const fits = fitting().filter((one) => !name || one.name === name);
  const best = Math.min(...fits.map((one) => one.n_best));
  if ($("#source").value) return { model: fits[0].name, n_best: best };
  return { source: "auto", ...($("#target").value && { target: $("#target").value }), n_best: best };
}

function complain(message) {
  $("#problem").hidden = !message;
  $("#problem").textContent = message;
}

// Translating

function changed() {
  stop();
  const given = text.value;
  const length = [...given].length; // as the server counts: an emoji is one
  const long = length > most;
  $("#count").textContent = given || most < Infinity ? `${length.toLocaleString()} / ${most.toLocaleString()}` : "";
  $("#count").classList.toggle("bad", long);
  $("#clear").hidden = !given;
  if (!given.trim() || long) {
    sides.forEach((_, side) => empty(side));
    complain(long ? `This text is too long: ${most.toLocaleString()} characters at most are translated at a time.` : "");
    remember("");
    return;
  }
  timer = setTimeout(translate, WAIT);
}

// So that the page can be reloaded, and a link sent: with all of a text or, where that is long, without it.
// A browser may refuse where it is done too often.
function remember(given) {
  const languages = `${$("#source").value || "auto"}/${$("#target").value || "auto"}`;
  try {
    const linked = given.length > LINKED ? "" : encodeURIComponent(given);
    history.replaceState({ given }, "", given ? `#${languages}/${linked}` : location.pathname);
  } catch {} // then the address stays as it is
}

function stop(said = "") {
  clearTimeout(timer);
  running.forEach((one) => one?.abort());
  running.fill(null);
  $("#stop").hidden = true;
  if (said) $(".hint", sides[0]).textContent = said;
}

function empty(side) {
  answers[side] = null;
  const place = $(".translation", sides[side]);
  place.textContent = "";
  grow(place, false);
  $(".copy", sides[side]).hidden = true;
  $(".hint", sides[side]).textContent = "";
  if (side === 0) {
    detected(null);
    $("#hypotheses").hidden = true;
    closeAttention();
  }
}

function grow(place, growing) {
  place.classList.toggle("growing", growing);
  place.ariaBusy = String(growing); // lest every word is read aloud as it comes
}

function translate() {
  clearTimeout(timer);
  remember(text.value);
  const both = $("#compare").checked;
  for (const side of both ? [0, 1] : [0]) follow(side);
}

async function follow(side) {
  running[side]?.abort();
  const own = (running[side] = new AbortController());
  const hint = $(".hint", sides[side]);
  grown[side].clear();
  const began = (since[side] = performance.now());
  hint.textContent = "Translating …";
  try {
    const answer = await fetch("api/stream", {
      method: "POST",
      headers: headers(),
      signal: own.signal,
      body: JSON.stringify({ text: text.value, ...asked(side) }),
    });
    complain("");
    const problem = answer.ok ? {} : await answer.json().catch(() => ({}));
    if (answer.status === 429) {
      const seconds = Number(answer.headers.get("Retry-After")) || 1;
      hint.textContent = `${problem.error ?? "The server is busy"}: again in ${seconds} s`;
      timer = setTimeout(translate, seconds * 1000);
      return;
    }
    if (answer.status === 403 && !$("#key").value) throw new Error("This server needs an API key: give one in the field above.");
    if (!answer.ok) throw new Error(problem.error || `The server answered ${answer.status}.`);
    for await (const line of linesOf(answer.body)) {
      if (own.signal.aborted) return;
      if (line.beams) showBeams(side, line.beams);
      if (line.error) throw new Error(line.error);
      if (line.result) showResult(side, line.result, (performance.now() - began) / 1000);
    }
    if (!own.signal.aborted && hint.textContent === "Translating …") throw new TypeError("the answer was cut off");
  } catch (error) {
    if (error.name === "AbortError") return;
    grow($(".translation", sides[side]), true); // what still stands there is of another text
    hint.textContent = "";
    complain(error.message);
    if (error instanceof TypeError) {
      complain(`${UNREACHABLE} This page goes on trying.`);
      timer = setTimeout(translate, AGAIN);
    }
  }
  if (running[side] === own) running[side] = null;
  $("#stop").hidden = running.every((one) => one === null);
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
  grow(place, true);
  const late = performance.now() - since[side] > PATIENCE;
  if (late) $("#stop").hidden = false;
  const sentences = [...grown[side]].sort(([a], [b]) => a - b).map(([, said]) => said);
  // The translation of what was there before stays, lest it flicker at every key, unless this takes long.
  if (!answers[side] || late) place.textContent = sentences.join(" ");
  const going = beams.filter((one) => one.hypotheses.some((hypothesis) => !hypothesis.ended));
  if (!going.length) return;
  if (side !== 0) return;
  const first = going.reduce((a, b) => (b.sentence < a.sentence ? b : a));
  const best = Math.max(...first.hypotheses.map((one) => one.log_probability));
  const several = grown[0].size > 1 || first.sentence ? ` of sentence ${first.sentence + 1}` : "";
  list("The search", `the beams${several} as they grow, with their log-probabilities`, true);
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

function showResult(side, answer, seconds) {
  answers[side] = answer;
  const [result] = answer.results;
  const place = $(".translation", sides[side]);
  place.lang = answer.target;
  grow(place, false);
  place.replaceChildren(...words(result, side));
  $(".copy", sides[side]).hidden = !place.textContent.trim();
  $(".hint", sides[side]).textContent = answer.notices[0] ?? `${seconds.toFixed(1)} s. ${place.querySelector(".word") ? CLICK : ""}`;
  if (side !== 0) return;
  detected(answer);
  const whose = $("#compare").checked ? `of ${answer.model}, ` : "";
  list("Best translations", `${whose}with their scores; click one to copy it`, false);
  $("#hypotheses").hidden = !place.querySelector(".word");
  $("#hypotheses ol").replaceChildren(
    ...result.translations.map((one) => {
      const score = node("span", { className: "score", textContent: one.score.toFixed(2) });
      const said = node("span", { textContent: different(one.text, result.translations[0].text) });
      const button = node("button", { type: "button", title: "Copy" }, said, score);
      button.addEventListener("click", () => copy(one.text, score));
      return node("li", {}, button);
    }),
  );
  closeAttention();
}

// A long translation from shortly before where it differs from the best one.
function different(said, best) {
  let alike = 0;
  while (alike < said.length && said[alike] === best[alike]) alike++;
  if (alike < ALIKE || said === best) return said;
  return `… ${said.slice(said.lastIndexOf(" ", alike - ALIKE / 2) + 1)}`;
}

// Says which languages it was, where the server was to find out.
function detected(answer) {
  const [source, target] = [$("#source option[value='']"), $("#target option[value='']")];
  if (source) source.textContent = answer ? `Auto: ${names[answer.source]}` : "Detect language";
  if (target) target.textContent = answer ? `Auto: ${names[answer.target]}` : "Automatic";
  allowSwap();
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
  mark(clicked);
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
    complain(error instanceof TypeError ? UNREACHABLE : error.message);
    return;
  }
  if (shown?.clicked !== clicked) return;
  showAttention(found, clicked.textContent, place);
  if (!heads) $("#attention").scrollIntoView({ block: "nearest", behavior: "smooth" });
}

function closeAttention() {
  shown = null;
  $("#attention").hidden = true;
  mark(null);
}

function mark(word) {
  document.querySelectorAll(".word.chosen").forEach((one) => one.classList.remove("chosen"));
  word?.classList.add("chosen");
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
  const before = (where.dataset.before ??= where.textContent); // it may say so already
  where.textContent = "Copied";
  setTimeout(() => (where.textContent = before), 900);
}

// The model that translates back; none where languages are still to be found.
function back() {
  const { source, target } = answers[0] ?? { source: $("#source").value, target: $("#target").value };
  return models.find((one) => one.source === target && one.target === source);
}

function allowSwap() {
  const found = back();
  $("#swap").disabled = !found;
  $("#swap").title = found ? "Swap languages (Alt+S)" : "No model here translates back, as far as is known yet";
}

function swap() {
  const found = back();
  if (!found) return;
  const translation = answers[0]?.results[0].translations[0].text;
  if (translation && !answers[0].notices.length) text.value = translation; // text in the other language stays
  choose(found.source, found.target);
}

function fill(select, pairs) {
  const before = select.value;
  select.replaceChildren(...pairs.map(([value, textContent]) => node("option", { value, textContent })));
  if (pairs.some(([value]) => value === before)) select.value = before;
}

// Take these languages, and translate again.
function choose(source, target) {
  $("#source").value = source;
  offer();
  if ([...$("#target").options].some((one) => one.value === target)) $("#target").value = target;
  offer();
  sides.forEach((_, side) => empty(side));
  changed();
}

// What can be chosen beside what was chosen.
function offer() {
  const source = $("#source").value;
  const targets = new Set(models.filter((one) => !source || one.source === source).map((one) => one.target));
  const known = [...targets].map((code) => [code, names[code]]);
  fill($("#target"), source ? known : [["", "Automatic"], ...known]);
  const alike = source ? fitting() : [];
  fill($("#model"), alike.map((one) => [one.name, one.name]));
  const others = alike.filter((one) => one.name !== $("#model").value);
  fill($("#other"), others.map((one) => [one.name, one.name]));
  $("#model").hidden = $("#comparing").hidden = !others.length;
  if (!others.length) $("#compare").checked = false;
  const both = $("#compare").checked;
  sides[1].hidden = !both;
  $(".which", sides[0]).hidden = !both;
  $(".which", sides[0]).textContent = $("#model").value;
  $("#fields").classList.toggle("three", both);
  text.lang = source;
  sides.forEach((side) => ($(".translation", side).lang = $("#target").value));
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
  text.addEventListener("scroll", alongside);
  $("#theme").addEventListener("click", otherTheme);
  $("#swap").addEventListener("click", swap);
  $("#stop").addEventListener("click", () => stop("Stopped."));
  $("#close").addEventListener("click", closeAttention);
  $("#clear").addEventListener("click", clear);
  $("#keyed").addEventListener("submit", (event) => event.preventDefault());
  $("#key").addEventListener("change", () => (sessionStorage.setItem("key", $("#key").value), changed()));
  $("#source").addEventListener("change", () => choose($("#source").value, ""));
  for (const id of ["#target", "#model", "#compare", "#other"])
    $(id).addEventListener("change", () => choose($("#source").value, $("#target").value));
  $("#heads").addEventListener("click", () => {
    if (shown) openAttention(shown.clicked, shown.side, shown.number, shown.place, true);
  });
  sides.forEach((side, number) => {
    $(".copy", side).addEventListener("click", (event) =>
      copy(answers[number].results[0].translations[0].text, event.currentTarget),
    );
    $(".translation", side).addEventListener("keydown", walk);
  });
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") shown ? closeAttention() : running[0] && stop("Stopped.");
    if (event.altKey && event.code === "KeyS") (event.preventDefault(), swap());
    if (event.altKey && event.code === "KeyC" && answers[0]) (event.preventDefault(), $(".copy", sides[0]).click());
    if (event.ctrlKey && event.key === "Enter" && text.value.trim()) translate();
  });
}

// What is read on the left is seen on the right.
function alongside() {
  const share = text.scrollTop / Math.max(1, text.scrollHeight - text.clientHeight);
  for (const place of sides.map((side) => $(".translation", side)))
    place.scrollTop = share * (place.scrollHeight - place.clientHeight);
}

// With the arrows from word to word, with Enter to what it looked at.
function walk(event) {
  const all = [...event.currentTarget.querySelectorAll(".word")];
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const now = all.indexOf(document.activeElement);
  if (step && all.length) {
    event.preventDefault();
    all[now < 0 ? 0 : Math.min(Math.max(now + step, 0), all.length - 1)].focus();
  } else if (event.key === "Enter" && now >= 0) all[now].click();
}

// As if somebody had deleted it: then it can be undone.
function clear() {
  text.focus();
  text.select();
  if (!document.execCommand("delete")) (text.value = ""), changed();
}

async function begin() {
  setTheme(localStorage.getItem("theme"));
  $("#key").value = sessionStorage.getItem("key") ?? "";
  listen();
  const known = await (await fetch("api/models")).json();
  models = known.models;
  names = known.languages;
  most = known.limits.characters;
  $("#keyed").hidden = !known.limits.key;
  const sources = [...new Set(models.map((one) => one.source))].map((code) => [code, names[code]]);
  fill($("#source"), sources.length > 1 ? [["", "Detect language"], ...sources] : sources);
  const [source, target, ...given] = location.hash.slice(1).split("/");
  try {
    text.value ||= history.state?.given ?? decodeURIComponent(given.join("/"));
  } catch {} // a link that somebody has cut off
  const fits = models.find((one) => one.source === source && one.target === target);
  choose(fits?.source ?? $("#source").value, fits?.target ?? "");
}

begin().catch(() => complain(UNREACHABLE));

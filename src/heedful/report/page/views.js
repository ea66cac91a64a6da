// The chosen head, as a map or as lines.

function drawChosen() {
  const kind = chosenKind(), weights = weightsOf(kind, state.layer, state.head);
  byId("chosen-title").textContent = `${NAMES[state.kind]}, layer ${state.layer + 1}, ${headName(state.head)}`;
  const facts = kind.heads.find((head) => head.layer === state.layer + 1 && head.head === state.head + 1);
  byId("numbers").textContent = facts
    ? `distance ${facts.distance.toFixed(2)}, entropy ${facts.entropy.toFixed(2)} nats (${percent(facts.entropy_share)} of the widest)`
    : "";
  byId("picture").replaceChildren();
  byId("picture").setAttribute("aria-label", byId("chosen-title").textContent);
  (state.view === "map" ? drawMap : drawLines)(byId("picture"), kind, weights);
}

const percent = (share) => `${Math.round(100 * share)} %`;

function hint(text) {
  byId("readout").className = `${state.view} hint`;
  byId("readout").replaceChildren(element("span", { class: "note" }, text));
}

function widest(texts, size) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${size}px system-ui, sans-serif`;
  return Math.max(...texts.map((text) => context.measureText(text).width));
}

function sized(svg, width, height) {
  svg.setAttribute("width", Math.ceil(width));
  svg.setAttribute("height", Math.ceil(height));
  svg.setAttribute("viewBox", `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`);
}

function mapMeasures(kind) {
  const room = byId("frame").clientWidth, [rowTitle, columnTitle] = SIDES[state.kind];
  let cell = 11, size = 10, slanted = false, left = 0, top = 0, right = 0;
  for (const tried of [36, 32, 28, 24, 21, 18, 16, 14, 12, 11]) {
    cell = tried;
    size = Math.min(13, Math.max(9.5, cell * 0.72));
    slanted = cell >= 16;
    left = Math.max(widest(kind.queries, size), widest([rowTitle], 12)) + 10;
    const reach = widest(kind.keys, size);
    top = 22 + (slanted ? reach * 0.71 + size : reach + 4);
    right = slanted ? Math.max(4, reach * 0.71 - cell / 2) : 4;
    if (left + cell * kind.columns + right <= room) break;
  }
  right = Math.max(right, widest([columnTitle], 12) + 8 - cell * kind.columns);
  return { cell, size, slanted, left, top, right, rowTitle, columnTitle };
}

function drawMap(svg, kind, weights) {
  const m = mapMeasures(kind), width = m.cell * kind.columns, height = m.cell * kind.rows;
  sized(svg, m.left + width + m.right, m.top + height + 6);
  shape(svg, "text", { x: m.left - 8, y: m.top - 6, class: "soft", "font-size": 12, "text-anchor": "end" }, m.rowTitle);
  shape(svg, "text", { x: m.left, y: 12, class: "soft", "font-size": 12 }, m.columnTitle + " →");
  const rows = kind.queries.map((text, row) =>
    label(svg, text, { x: m.left - 6, y: m.top + m.cell * (row + 0.5) + m.size * 0.35, "font-size": m.size, "text-anchor": "end" }));
  const columns = kind.keys.map((text, column) => {
    const x = m.left + m.cell * (column + 0.5) + m.size * (m.slanted ? 0.1 : 0.35), y = m.top - 5;
    return label(svg, text, { "font-size": m.size, transform: `translate(${x} ${y}) rotate(${m.slanted ? -45 : -90})` });
  });
  const href = painted(document.createElement("canvas"), weights, kind.rows, kind.columns).toDataURL();
  shape(svg, "image", { x: m.left, y: m.top, width, height, href, preserveAspectRatio: "none" });
  const frame = shape(svg, "rect", { x: m.left, y: m.top, width, height, class: "frame", "pointer-events": "all" });
  const bands = shape(svg, "g", { visibility: "hidden" });
  const across = shape(bands, "rect", { x: m.left, width, height: m.cell, class: "band" });
  const down = shape(bands, "rect", { y: m.top, width: m.cell, height, class: "band" });
  hint("Point at a cell to read its weight.");

  function point(event) {
    const box = frame.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * kind.columns);
    const row = Math.floor(((event.clientY - box.top) / box.height) * kind.rows);
    if (row < 0 || column < 0 || row >= kind.rows || column >= kind.columns) return;
    across.setAttribute("y", m.top + row * m.cell);
    down.setAttribute("x", m.left + column * m.cell);
    bands.setAttribute("visibility", "visible");
    rows.forEach((text, i) => text.classList.toggle("strong", i === row));
    columns.forEach((text, i) => text.classList.toggle("strong", i === column));
    read(kind.queries[row], [[kind.keys[column], weights[row * kind.columns + column]]]);
  }
  frame.addEventListener("pointermove", point);
  frame.addEventListener("pointerdown", point);
}

function read(query, pairs, arrow = "→") {
  const out = byId("readout");
  out.className = state.view;
  out.replaceChildren(element("b", {}, isolated(query)), ` ${arrow} `);
  pairs.forEach(([key, weight], i) => out.append(i ? ", " : "", isolated(key), ": ", element("b", {}, shown(weight))));
}

// ---- lines -----------------------------------------------------------------------------------------------------

function drawLines(svg, kind, weights) {
  const step = Math.max(kind.rows, kind.columns) > 40 ? 17 : 24, size = step > 20 ? 13.5 : 12;
  const [rowTitle, columnTitle] = SIDES[state.kind];
  const numbers = 48, top = 30; // room for a weight beside each label
  const left = widest([...kind.keys, columnTitle], size) + numbers, right = widest([...kind.queries, rowTitle], size) + numbers;
  const width = Math.max(left + right + 90, Math.min(byId("frame").clientWidth - 4, left + right + 360));
  const height = Math.max(kind.rows, kind.columns) * step;
  sized(svg, width, top + height + 6);
  // The shorter side is spread over the height of the longer one, so that a diagonal is a level line.
  const place = (i, count) => top + ((i + 0.5) * height) / count;
  shape(svg, "text", { x: left - 6, y: 14, class: "soft", "font-size": 12, "text-anchor": "end" }, columnTitle);
  shape(svg, "text", { x: width - right + 6, y: 14, class: "soft", "font-size": 12 }, rowTitle);
  const lines = drawnLines(svg, kind, weights, left, width - right, place);
  hint(`Point at a ${state.words ? "word" : "subword"}, or step to it with the Tab key, to see its lines alone.`);

  const tokens = { key: [], query: [] };
  function isolate(side, index) {
    const other = side === "query" ? "key" : "query", names = { query: kind.queries, key: kind.keys };
    const weightOf = (i) => (side === "query" ? weights[index * kind.columns + i] : weights[i * kind.columns + index]);
    // Alone, weak lines may be seen too.
    const opacity = (line) => (side === null ? line.weight : line[side] === index ? Math.sqrt(line.weight) : 0);
    for (const line of lines) line.node.setAttribute("opacity", opacity(line));
    for (const name of ["key", "query"]) for (const token of tokens[name]) token.mark("", false);
    if (side === null) return;
    tokens[side][index].mark("", true);
    tokens[other].forEach((token, i) => weightOf(i) >= FAINT && token.mark(shown(weightOf(i)), false));
    const best = names[other].map((text, i) => [text, weightOf(i)]).sort((a, b) => b[1] - a[1]);
    read(names[side][index], best.slice(0, 5).filter(([, weight], i) => i === 0 || weight >= FAINT), side === "query" ? "→" : "←");
  }
  kind.keys.forEach((text, i) => tokens.key.push(token(svg, text, { x: left - 6, y: place(i, kind.columns), size, step, end: true }, () => isolate("key", i))));
  kind.queries.forEach((text, i) => tokens.query.push(token(svg, text, { x: width - right + 6, y: place(i, kind.rows), size, step, end: false }, () => isolate("query", i))));
  svg.onpointerleave = () => isolate(null, 0);
}

function drawnLines(svg, kind, weights, x1, x2, place) {
  const lines = [];
  for (let query = 0; query < kind.rows; query++) {
    for (let key = 0; key < kind.columns; key++) {
      const weight = weights[query * kind.columns + key];
      if (weight < FAINT) continue;
      const at = { x1, y1: place(key, kind.columns), x2, y2: place(query, kind.rows) };
      const node = shape(svg, "line", { ...at, class: "line", opacity: weight, "stroke-width": 1 + 2 * weight });
      lines.push({ node, query, key, weight });
    }
  }
  return lines;
}

function token(svg, text, { x, y, size, step, end }, isolate) {
  const group = shape(svg, "g", { class: "token", tabindex: 0, role: "img", "aria-label": text });
  const wide = widest([text], size) + 4;
  shape(group, "rect", { x: end ? x - wide : x - 2, y: y - step / 2, width: wide + 2, height: step, class: "touch" });
  const anchor = end ? "end" : "start";
  const name = label(group, text, { x, y: y + size * 0.35, "font-size": size, "text-anchor": anchor });
  const number = shape(group, "text", {
    x: end ? x - wide - 2 : x + wide + 2, y: y + size * 0.35, "font-size": size - 2, "text-anchor": anchor, class: "weight",
  });
  group.addEventListener("pointerenter", isolate);
  group.addEventListener("focus", isolate);
  return {
    mark(weight, strong) {
      number.textContent = weight;
      name.classList.toggle("strong", strong);
    },
  };
}

"use strict";
// The charts are drawn already; this reads the values under the pointer, or steps through them with the arrow keys.

function shown(value) {
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(3);
  return Number(value.toPrecision(Math.abs(value) >= 1000 ? 6 : 4)).toLocaleString("en", { maximumFractionDigits: 6 });
}

function place([low, high, begin, end], value, log = false) {
  const measured = (number) => (log ? Math.log(number) : number);
  return begin + ((measured(value) - measured(low)) / (measured(high) - measured(low) || 1)) * (end - begin);
}

function nearest(points, x) {
  return points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
}

function readable(figure) {
  const svg = figure.querySelector("svg"), out = figure.querySelector("output");
  const cursor = svg.appendChild(document.createElementNS(svg.namespaceURI, "g"));
  const data = JSON.parse(figure.querySelector("script").textContent);
  const series = data.series.filter((one) => one.points.length);
  if (!series.length) return;
  cursor.setAttribute("class", "cursor");
  svg.tabIndex = 0; // for the arrow keys
  const steps = [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
  let at = null;

  function show(step) {
    at = step;
    const x = place(data.x, step);
    const found = series.map((one) => ({ ...one, point: nearest(one.points, step) }));
    // A series that has no point nearby has nothing to say about this step.
    const near = found.filter((one) => Math.abs(place(data.x, one.point[0]) - x) < 12);
    cursor.replaceChildren();
    shape("path", { d: `M${x} ${data.y[3]}V${data.y[2]}` });
    for (const one of near) {
      const y = Math.max(place(data.y, one.point[1], data.log), data.y[3]);
      shape("path", { class: `dots ${one.kind}`, d: `M${place(data.x, one.point[0])} ${y}h0` });
    }
    const values = near.map((one) => {
      const where = one.point[0] === step ? "" : ` (${data.label} ${shown(one.point[0])})`;
      return `${one.name}${one.name ? " " : ""}${shown(one.point[1])}${where}`;
    });
    const where = data.names ? data.names[step] : `${data.label} ${step.toLocaleString("en")}`;
    out.textContent = `${where}: ${values.join(", ")}`;
  }

  function shape(name, attributes) {
    const made = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    cursor.append(made);
  }

  function clear() {
    at = null;
    cursor.replaceChildren();
    out.textContent = "";
  }

  function point(event) {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const [low, high, begin, end] = data.x;
    show(nearest(steps.map((step) => [step]), low + ((x - begin) / (end - begin)) * (high - low))[0]);
  }

  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && clear());
  svg.addEventListener("blur", clear);
  svg.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    const next = at === null ? (by > 0 ? 0 : steps.length - 1) : steps.indexOf(at) + by;
    show(steps[Math.min(Math.max(next, 0), steps.length - 1)]);
    event.preventDefault();
  });
}

document.querySelectorAll("figure.chart").forEach((figure) => figure.querySelector("script") && readable(figure));

// A phone shows the sentences, and their attention when it is asked for.
const narrow = matchMedia("(max-width: 30rem)").matches;
document.querySelectorAll("details.attention").forEach((map) => { map.open = !narrow; });

// Paper has nothing to open.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((folded) => { folded.open = true; }));

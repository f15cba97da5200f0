// Elements, numbers and small charts: what all drawings are made of. Text is always set as text, never as markup.

const SVG_SPACE = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function html(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function svg(name, attributes, ...children) {
  return filled(document.createElementNS(SVG_SPACE, name), attributes, children);
}

function drawing(width, height, label, ...children) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...children);
}

function short(number, digits = 3) {
  if (number === null) return "infinity";
  if (Number.isNaN(number)) return "missing";
  const size = Math.abs(number);
  if (size >= 1e5 || Number.isInteger(number)) return Math.round(number).toLocaleString("en");
  return size !== 0 && size < 1e-4 ? number.toExponential(1) : String(Number(number.toPrecision(digits)));
}

function percent(share, digits = 1) {
  return `${(100 * share).toFixed(digits)}%`;
}

// What a rate is at most: rounded up to a tenth of a percent.
function percentAtMost(share) {
  return `${(Math.ceil(1000 * share - 1e-9) / 10).toFixed(1)}%`;
}

// The same of a number: three figures, and above 100 whole.
function shortAtMost(number) {
  const unit = number >= 100 ? 1 : 10 ** (2 - Math.floor(Math.log10(number)));
  return short(Math.ceil(number * unit - 1e-9) / unit);
}

function signed(number) {
  return `${number < 0 ? "−" : "+"}${short(Math.abs(number))}`;
}

function clipped(text, letters) {
  return text.length <= letters ? text : `${text.slice(0, letters - 1)}…`;
}

function capital(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}`;
}

function plural(n, one, many) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many || `${one}s`}`;
}

// A function from [from, to] to [start, end], as charts need it.
function scale(from, to, start, end) {
  const width = to - from || 1;
  return (value) => start + ((value - from) / width) * (end - start);
}

// About four round numbers between two ends.
function ticks(low, high, wanted = 4) {
  const rough = (high - low || 1) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((own) => own >= rough);
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step)
    found.push(Number(tick.toPrecision(12)));
  return found;
}

// Axes of a chart: lines, ticks and their names. `x` and `y` are scales; `box` is {left, right, top, bottom}.
function axes(box, x, y, xTicks, yTicks, named = short) {
  const group = svg("g", {});
  for (const tick of yTicks) {
    group.append(svg("line", { class: "grid", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) }));
    group.append(svg("text", { class: "quiet small end", x: box.left - 6, y: y(tick) + 4 }, named(tick)));
  }
  for (const tick of xTicks) {
    group.append(svg("text", { class: "quiet small middle", x: x(tick), y: box.bottom + 15 }, named(tick)));
  }
  group.append(svg("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  return group;
}

// How good the model is, by the private evaluation: every number with the interval that noise and chance leave.

const PLOT = { width: 340, height: 320, left: 48, right: 330, top: 12, bottom: 280 };

function scoreFigures(scores) {
  const figures = [];
  if (scores.calibration && scores.calibration.length > 1) figures.push(calibrationFigure(scores));
  if (scores.roc && scores.roc.length > 2) figures.push(rocFigure(scores));
  if (scores.recall)
    figures.push(intervalFigure("Of the records of each class, the share that is found", scores.recall, percent));
  if (scores.errors) figures.push(errorFigure(scores));
  if (scores.groups.length) {
    const rows = scores.groups.map(([name, , ...estimate]) => [name, ...estimate]);
    const said = scores.recall ? "accuracy" : "mean absolute error";
    figures.push(intervalFigure(`By ${scores.by}: ${said}`, rows, scores.recall ? percent : short));
  }
  return html("div", { class: "figures" }, ...figures);
}

// All scores as a table, for those who want the digits.
function scoreTable({ summary, n, who }) {
  const head = html(
    "tr",
    {},
    ...["score", "value", "95% interval"].map((name, i) =>
      html("th", { scope: "col", class: i ? "number" : null }, name),
    ),
  );
  const rows = summary.map(([name, value, low, high]) =>
    html(
      "tr",
      {},
      html("th", { scope: "row" }, name),
      html("td", { class: "number" }, short(value, 4)),
      html("td", { class: "number" }, `${short(low, 4)} to ${short(high, 4)}`),
    ),
  );
  return html(
    "table",
    {},
    html("caption", { class: "note" }, `Scored on about ${short(n)} ${who}`),
    html("thead", {}, head),
    html("tbody", {}, ...rows),
  );
}

function square(label, xName, yName, marks) {
  const [x, y] = [scale(0, 1, PLOT.left, PLOT.right), scale(0, 1, PLOT.bottom, PLOT.top)];
  const even = svg("line", { class: "zero", x1: x(0), y1: y(0), x2: x(1), y2: y(1) });
  const names = [
    svg("text", { class: "quiet small end", x: PLOT.right, y: PLOT.bottom + 34 }, xName),
    svg("text", { class: "quiet small", x: PLOT.left, y: PLOT.top - 2 }, yName),
  ];
  const grid = axes(PLOT, x, y, [0, 0.5, 1], [0, 0.25, 0.5, 0.75, 1], (tick) => percent(tick, 0));
  return drawing(PLOT.width, PLOT.height, label, grid, even, ...marks(x, y), ...names);
}

function calibrationFigure({ calibration, of }) {
  const most = Math.max(...calibration.map((row) => row[4]));
  const marks = (x, y) =>
    calibration.flatMap(([said, value, low, high, n]) => [
      svg("line", { class: "whisker", x1: x(said), x2: x(said), y1: y(low), y2: y(high) }),
      svg(
        "circle",
        { class: "dot", cx: x(said), cy: y(value), r: (2 + 4 * Math.sqrt(Math.max(n, 0) / most)).toFixed(1) },
        svg(
          "title",
          {},
          `says ${percent(said)}, is ${percent(value)} (${percent(low)} to ${percent(high)}), about ${short(n)} records`,
        ),
      ),
    ]);
  const caption = html(
    "figcaption",
    {},
    html("b", {}, "Calibration. "),
    "On the dotted line, what the model says is so. Larger dots have more records.",
  );
  const words = calibration.map(([said, value]) => `says ${percent(said, 0)}, is ${percent(value, 0)}`).join("; ");
  return html(
    "figure",
    {},
    caption,
    square(`Calibration: ${words}`, `chance of ${of}, as the model says`, "as it is", marks),
  );
}

function rocFigure({ roc, summary }) {
  const [, area, low, high] = summary.find(([name]) => name === "AUC");
  const marks = (x, y) => {
    const inside = (value) => Math.min(Math.max(value, 0), 1);
    const upper = roc.map(([a, b, band]) => `${x(a)},${y(inside(b + band))}`);
    const lower = [...roc].reverse().map(([a, b, band]) => `${x(a)},${y(inside(b - band))}`);
    const line = roc.map(([a, b], i) => `${i ? "L" : "M"}${x(a)} ${y(b)}`).join("");
    return [
      svg("polygon", { class: "band", points: [...upper, ...lower].join(" ") }),
      svg("path", { class: "curve", d: line }),
    ];
  };
  const words = `area ${short(area)} (${short(low)} to ${short(high)})`;
  const caption = html("figcaption", {}, html("b", {}, "ROC curve. "), `${words}; the band is about 95% wide.`);
  return html("figure", {}, caption, square(`ROC curve, ${words}`, "false alarms", "found", marks));
}

// Rows of [name, value, low, high] as dots with whiskers.
function intervalFigure(title, rows, show) {
  const [left, right, row] = [120, 270, 26];
  const low = Math.min(...rows.map((own) => own[2]), show === percent ? 1 : Infinity);
  const x = scale(Math.max(0, low - 0.02), Math.max(...rows.map((own) => own[3])), left, right);
  const marks = rows.flatMap(([name, value, from, to], i) => {
    const y = i * row + 14;
    return [
      svg("text", { class: "small end", x: left - 8, y: y + 4 }, clipped(name, 18), svg("title", {}, name)),
      svg("line", { class: "whisker", x1: x(from), x2: x(to), y1: y, y2: y }),
      svg("circle", { class: "dot", cx: x(value), cy: y, r: 4 }),
      svg("text", { class: "quiet small", x: right + 10, y: y + 4 }, show(value)),
    ];
  });
  const words = rows
    .map(([name, value, from, to]) => `${name} ${show(value)} (${show(from)} to ${show(to)})`)
    .join(", ");
  return html(
    "figure",
    {},
    html("figcaption", {}, html("b", {}, title)),
    drawing(340, rows.length * row + 8, words, ...marks),
  );
}

// Errors of a numeric target: about how many records have each.
function errorFigure({ errors }) {
  const inner = wideEnough(errors.filter(([from, to]) => to > from));
  const dense = inner.map(([from, to, n]) => Math.max(n, 0) / (to - from));
  const [x, y] = [
    scale(inner[0][0], inner[inner.length - 1][1], PLOT.left, PLOT.right),
    scale(0, Math.max(...dense, 1e-9), PLOT.bottom, PLOT.top),
  ];
  const marks = inner.map(([from, to, n], i) =>
    svg(
      "rect",
      {
        class: "fill",
        x: x(from),
        width: Math.max(x(to) - x(from) - 0.5, 0.5),
        y: y(dense[i]),
        height: PLOT.bottom - y(dense[i]),
      },
      svg("title", {}, `${short(from)} to ${short(to)}: about ${short(Math.round(n))}`),
    ),
  );
  const caption = html(
    "figcaption",
    {},
    html("b", {}, "Errors. "),
    "Prediction less target: the higher, the more records, by noisy counts.",
  );
  const grid = axes(PLOT, x, y, ticks(inner[0][0], inner[inner.length - 1][1]), []);
  return html("figure", {}, caption, drawing(PLOT.width, PLOT.height, "Distribution of errors", grid, ...marks));
}

// Bins near zero are so narrow that their noise would tower over the rest: neighbours are shown together.
function wideEnough(bins) {
  const least = (bins[bins.length - 1][1] - bins[0][0]) / 60;
  const merged = [];
  for (const [from, to, n] of bins) {
    const last = merged[merged.length - 1];
    if (last && last[1] - last[0] < least) merged[merged.length - 1] = [last[0], to, last[2] + n];
    else merged.push([from, to, n]);
  }
  return merged;
}

// How good the model is, by the private evaluation: every number with the interval that noise and chance leave.

const PLOT = { width: 340, height: 320, left: 48, right: 330, top: 12, bottom: 280 };

function scoreFigures(scores, schema) {
  const figures = [];
  if (scores.calibration && scores.calibration.filter(known).length > 1) figures.push(calibrationFigure(scores));
  if (scores.roc && scores.roc.length > 2) figures.push(rocFigure(scores));
  if (scores.recall) {
    const found = scores.recall.map(([, ...own], k) => [`recall: ${schema.says[k]}`, ...own]);
    const right = scores.precision.map(([, ...own], k) => [`precision: ${schema.says[k]}`, ...own]);
    figures.push(intervalFigure("Recall and precision of each class", [...found, ...right], percent));
  }
  if (scores.errors) figures.push(errorFigure(scores));
  if (scores.groups.length) {
    const rows = scores.groups.map(([name, n, ...estimate]) => [`${name}, about ${short(n)}`, ...estimate]);
    const said = scores.recall ? "Accuracy" : "Mean absolute error";
    figures.push(intervalFigure(`${said} by ${scores.by}`, rows, scores.recall ? percent : short));
  }
  return html("div", { class: "figures" }, ...figures);
}

// Whether noise leaves anything of a number: where it does not, three blanks stand for it.
function known([, value]) {
  return value !== null;
}

// All scores as tables, for those who want the digits.
function scoreTables({ scores, schema }) {
  const { summary, n, who, common } = scores;
  const first = summary.slice(0, common ? 1 : 0);
  const saying = common ? schema.says[schema.classes.indexOf(common[0])] : "";
  const always = common ? [[`always saying ${saying}`, ...common.slice(1)]] : [];
  const rows = [...first, ...always, ...summary.slice(first.length)];
  const about = `Scored on about ${short(n[0])} ${who} (a noisy count: ${short(n[1])} to ${short(n[2])})`;
  const isShare = ([name]) => common && (name === "accuracy" || name === always[0][0]);
  const cells = rows.map((own) => estimateCells(own, isShare(own) ? percent : (value) => short(value, 4)));
  const tables = [table(about, ["score", "value", "95% interval"], cells)];
  if (scores.recall) {
    const caption = "Recall: of those that are of a class, the share that is found. Precision: of those that are said to be of it, the share that is.";
    const each = scores.recall.map(([, ...found], k) => [
      schema.says[k],
      intervalText(found, percent),
      intervalText(scores.precision[k].slice(1), percent),
    ]);
    tables.push(table(caption, ["class", "recall", "precision"], each));
  }
  return tables;
}

function estimateCells([name, value, low, high], show) {
  return [name, show(value), `${show(low)} to ${show(high)}`];
}

function intervalText([value, low, high], show) {
  return value === null ? "noise hides it" : `${show(value)} (${show(low)} to ${show(high)})`;
}

function table(caption, names, rows) {
  const head = names.map((name, i) => html("th", { scope: "col", class: i ? "number" : null }, name));
  const line = ([name, ...cells]) =>
    html("tr", {}, html("th", { scope: "row" }, name), ...cells.map((cell) => html("td", { class: "number" }, cell)));
  return html(
    "table",
    {},
    html("caption", { class: "note" }, caption),
    html("thead", {}, html("tr", {}, ...head)),
    html("tbody", {}, ...rows.map(line)),
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

function calibrationFigure({ calibration: every, of }) {
  const calibration = every.filter(known);
  const hidden = every.filter((own) => !known(own)).map(([said]) => percent(said, 0));
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
    hidden.length ? ` Where it says ${hidden.join(", ")}, noise hides what is so: nothing is drawn.` : null,
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

// Rows of [name, value, low, high] as dots with whiskers over an axis, with the numbers; nothing is drawn for blanks.
function intervalFigure(title, rows, show) {
  const [left, right, row, top] = [12, 328, 44, 6];
  const shown = rows.filter(known);
  const share = show === percent;
  const end = share ? 1 : Math.max(...shown.map((own) => own[3]), 1e-9);
  const x = scale(0, end, left, right);
  const bottom = top + rows.length * row;
  const lines = ticks(0, end).map((tick) => [
    svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: bottom }),
    svg("text", { class: "quiet small middle", x: x(tick), y: bottom + 15 }, share ? percent(tick, 0) : short(tick)),
  ]);
  const marks = rows.flatMap(([name, value, from, to], i) => {
    const y = top + i * row + 32;
    const words = intervalText([value, from, to], show);
    const texts = [
      svg("text", { class: "small strong", x: left, y: y - 14 }, clipped(name, 28), svg("title", {}, name)),
      svg("text", { class: "quiet small end", x: right, y: y - 14 }, words),
    ];
    if (value === null) return texts;
    const whisker = svg("line", { class: "whisker", x1: x(from), x2: x(to), y1: y, y2: y });
    return [...texts, whisker, svg("circle", { class: "dot", cx: x(value), cy: y, r: 4 })];
  });
  const axis = svg("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom });
  const words = rows.map(([name, ...own]) => `${name}: ${intervalText(own, show)}`).join(", ");
  return html(
    "figure",
    {},
    html("figcaption", {}, html("b", {}, title)),
    drawing(340, bottom + 22, words, ...lines.flat(), axis, ...marks),
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

// Why this answer: what each feature, or features together, moved the prediction by, from the average to the record.

const MOST_BARS = 12;

// [{name, by}] from `start` to `end`, for one class or for a number; null where labels alone were released.
function reasons(facts, walker, values, found, output) {
  if (facts.model.kind === "boosted") return boostedReasons(facts, walker, values, found, output);
  if (!facts.model.trees.every((tree) => tree.weighed)) return null;
  return treeReasons(facts, found, output);
}

function treeReasons(facts, found, output) {
  const moved = new Map();
  const n = facts.model.trees.length;
  let start = 0;
  facts.model.trees.forEach((tree, t) => {
    const summaries = summariesOf(tree, facts.schema);
    const path = found.paths[t];
    start += summaries[0].outputs[output] / n;
    path.slice(1).forEach((child, i) => {
      const name = facts.schema.features[tree.nodes[path[i]].f].name;
      const by = (summaries[child].outputs[output] - summaries[path[i]].outputs[output]) / n;
      moved.set(name, (moved.get(name) || 0) + by);
    });
  });
  const end = facts.schema.target ? found.value : found.chances[output];
  return {
    start,
    end,
    steps: [...moved].map(([name, by]) => ({ name, by })),
    unit: facts.schema.target ? "" : "chance",
  };
}

function boostedReasons(facts, walker, values, found, output) {
  const { model, schema } = facts;
  const unit = schema.target ? schema.target[1] - schema.target[0] : 1;
  const sums = new Map(model.terms.map((term) => [term.f.join(), 0]));
  for (const own of model.rounds) {
    if (own.o === output)
      sums.set(own.f.join(), sums.get(own.f.join()) + own.v[walker.partOf(own, values)] / model.one);
  }
  const steps = model.terms.map((term) => ({
    name: term.f.map((f) => schema.features[f].name).join(" and "),
    by: (sums.get(term.f.join()) - term.mean[output]) * unit,
  }));
  let start = model.terms.reduce((sum, term) => sum + term.mean[output], 0) * unit;
  if (!schema.target) return { start, end: found.scores[output], steps, unit: "score" };
  start += schema.target[0] + (model.calibration.start / model.calibration.one) * unit;
  steps.push({ name: "calibration at the end", by: found.value - start - steps.reduce((sum, own) => sum + own.by, 0) });
  return { start, end: found.value, steps, unit: "" };
}

// The bars, largest first; what is small is one bar together.
function waterfall({ start, end, steps, unit }) {
  const sorted = steps.filter((own) => own.by !== 0).sort((a, b) => Math.abs(b.by) - Math.abs(a.by));
  const rest = sorted.slice(MOST_BARS);
  const bars = sorted.slice(0, MOST_BARS);
  if (rest.length)
    bars.push({ name: plural(rest.length, "smaller part"), by: rest.reduce((sum, own) => sum + own.by, 0) });
  const show = unit === "chance" ? (value) => percent(value) : (value) => short(value);
  const points = [start];
  bars.forEach((own) => points.push(points[points.length - 1] + own.by));
  const [left, right, row] = [230, 620, 24];
  const x = scale(Math.min(...points, end), Math.max(...points, end), left, right);
  const marks = [bar("On average", show(start), x(start), x(start), 0, row)];
  bars.forEach((own, i) => {
    const by = unit === "chance" ? `${own.by < 0 ? "−" : "+"}${percent(Math.abs(own.by))}` : signed(own.by);
    marks.push(bar(own.name, by, x(points[i]), x(points[i + 1]), i + 1, row, own.by < 0 ? "minus" : "plus"));
  });
  marks.push(bar("This record", show(end), x(end), x(end), bars.length + 1, row));
  const moves = bars.map((own) => `${own.name} ${signed(own.by)}`);
  const label = `From ${show(start)} on average to ${show(end)}: ${moves.join(", ")}`;
  return drawing(700, (bars.length + 2) * row + 4, label, ...marks);
}

function bar(name, said, from, to, i, row, kind) {
  const y = i * row + 4;
  const mark = kind
    ? svg("rect", {
        class: kind,
        x: Math.min(from, to),
        y,
        width: Math.max(Math.abs(to - from), 1),
        height: row - 9,
        rx: 2,
      })
    : svg("rect", { class: "fill", x: from - 1.5, y, width: 3, height: row - 9 });
  const text = svg(
    "text",
    { class: kind ? "end" : "end strong", x: 222, y: y + 12 },
    clipped(name, 34),
    svg("title", {}, name),
  );
  return svg("g", {}, text, mark, svg("text", { class: "quiet", x: Math.max(from, to) + 7, y: y + 12 }, said));
}

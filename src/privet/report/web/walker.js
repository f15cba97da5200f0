// Follows one record through the released model, exactly as `predict` does: the same comparisons, in the same order.

class Walker {
  constructor(facts) {
    this.schema = facts.schema;
    this.model = facts.model;
  }

  // A record as numbers and codes, from what a person typed: {values, problems}.
  read(typed) {
    const values = [];
    const problems = [];
    for (const feature of this.schema.features) {
      const text = typed[feature.name];
      const [value, problem] = feature.values ? readCategory(feature, text) : readNumber(feature, text);
      values.push(value);
      if (problem) problems.push(`${feature.name}: ${problem}`);
    }
    return { values, problems };
  }

  // What the model says: {answer, chances or null, value or null, leaves}.
  predict(values) {
    if (this.model.kind === "boosted") return this.predictBoosted(values);
    const leaves = this.model.trees.map((tree) => pathIn(tree, values));
    const last = this.model.trees.map((tree, t) => tree.nodes[leaves[t][leaves[t].length - 1]]);
    if (this.schema.target) {
      const value = last.reduce((sum, leaf) => sum + leaf.v, 0) / last.length;
      return { answer: value, value, chances: null, paths: leaves };
    }
    const chances = meanShares(last, this.schema.classes.length);
    const best = this.model.votes ? this.firstLargest(chances) : last[0].a;
    const known = this.model.trees.every((tree) => tree.weighed) || last.length > 1;
    return { answer: this.schema.classes[best], best, value: null, chances: known ? chances : null, paths: leaves };
  }

  predictBoosted(values) {
    const scores = new Array(this.model.outputs).fill(0);
    for (const own of this.model.rounds) scores[own.o] += own.v[this.partOf(own, values)];
    const units = scores.map((score) => score / this.model.one);
    if (this.schema.target) {
      const value = lifted(units[0], this.model.calibration, this.schema.target);
      return { answer: value, value, chances: null, scores: units, paths: [] };
    }
    const chances = chancesOf(units);
    const best = this.firstLargest(chances);
    return { answer: this.schema.classes[best], best, value: null, chances, scores: units, paths: [] };
  }

  // Of several largest chances the first class by name has it.
  firstLargest(chances) {
    let best = this.schema.order[0];
    for (const k of this.schema.order) if (chances[k] > chances[best]) best = k;
    return best;
  }

  // The part of a round's table that a record is in.
  partOf(own, values) {
    let part = 0;
    own.f.forEach((feature, k) => {
      const { at, width } = this.stretch(feature, own.p[k], this.cell(feature, values[feature]));
      part = part * width + at;
    });
    return part;
  }

  cell(feature, value) {
    const cuts = this.model.cuts[feature];
    if (cuts === null) return value;
    return Number.isNaN(value) ? cuts.length + 1 : below(cuts, value);
  }

  // Parts of numbers are told by where each but the first begins, parts of categories one by one.
  stretch(feature, parts, cell) {
    if (this.model.cuts[feature] === null) return { at: parts[cell], width: Math.max(...parts) + 1 };
    return { at: parts.reduce((n, start) => n + (start <= cell), 0), width: parts.length + 1 };
  }
}

function readNumber(feature, text) {
  if (text === undefined || text === null || text === "") return [NaN, feature.missing ? "" : "give a number"];
  const value = Number(text);
  return Number.isFinite(value) ? [value, ""] : [NaN, "is not a number"];
}

// Empty text may be a value of its own; what is not listed, or missing, is "other".
function readCategory(feature, text) {
  const code = text === undefined || text === null ? -1 : feature.values.indexOf(String(text));
  if (code >= 0) return [code, ""];
  return [feature.values.length, feature.other ? "" : "choose one of the values"];
}

// How many cuts are below a value.
function below(cuts, value) {
  let low = 0;
  let high = cuts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cuts[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function childOf(node, value) {
  if (!node.c) return node.k[node.p[value]];
  return node.k[node.p[Number.isNaN(value) ? node.c.length + 1 : below(node.c, value)]];
}

// The numbers of the nodes from the root to a leaf.
function pathIn(tree, values) {
  const path = [0];
  for (let node = tree.nodes[0]; node.k; node = tree.nodes[path[path.length - 1]])
    path.push(childOf(node, values[node.f]));
  return path;
}

// A leaf's class probabilities: its noisy counts' shares, none above that of the label it predicts.
function sharesOf(leaf, classes) {
  if (!leaf.n) return Array.from({ length: classes }, (_, k) => (k === leaf.a ? 1 : 0));
  const counts = leaf.n.map((n) => Math.max(n, 0));
  const total = counts.reduce((a, b) => a + b, 0);
  const shares = counts.map((n) => (total > 0 ? n / total : 1 / classes));
  const most = Math.max(...shares);
  if (shares.indexOf(most) !== leaf.a) shares[leaf.a] = most * (1 + 1e-9);
  const sum = shares.reduce((a, b) => a + b, 0);
  return shares.map((share) => share / sum);
}

function meanShares(leaves, classes) {
  const total = new Array(classes).fill(0);
  for (const leaf of leaves) sharesOf(leaf, classes).forEach((share, k) => (total[k] += share));
  return total.map((sum) => sum / leaves.length);
}

// The chance that a score stands for where gradients are clipped at one half.
function linked(score) {
  const p = 1 / (1 + Math.exp(-Math.min(Math.max(score, -500), 500)));
  return p >= 0.5 ? 1 / (3 - 2 * p) : (2 * p) / (1 + 2 * p);
}

function chancesOf(scores) {
  const chances = scores.map(linked);
  if (chances.length === 1) return [1 - chances[0], chances[0]];
  const sum = chances.reduce((a, b) => a + b, 0);
  return chances.map((chance) => chance / sum);
}

// A numeric target from its score: the start, the lift of its level, and back into the public range.
function lifted(score, calibration, [low, high]) {
  const whole = Math.round(score * calibration.one) + calibration.start;
  const lift = calibration.values[below(calibration.cuts, whole)];
  const part = Math.min(Math.max((whole + lift) / calibration.one, 0), 1);
  return Math.min(Math.max(low + part * (high - low), low), high);
}

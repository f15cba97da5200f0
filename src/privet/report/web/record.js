// A record that somebody types: its path, its prediction and why. Nothing leaves the page.

class RecordForm {
  constructor(facts, onWalk) {
    Object.assign(this, { facts, onWalk });
    this.walker = new Walker(facts);
    this.inputs = new Map();
    this.outcome = html("div", { class: "outcome", "aria-live": "polite" });
    this.form = html("form", {
      autocomplete: "off",
      onsubmit: (event) => {
        event.preventDefault();
        this.answer();
      },
    });
    const used = usedFeatures(facts);
    const fields = facts.schema.features.map((feature, f) => this.field(feature, used.has(f)));
    const tools = html(
      "div",
      { class: "tools" },
      html("button", { class: "main", type: "submit" }, "Follow this record"),
      html("button", { type: "button", onclick: () => this.random() }, "Draw one at random"),
    );
    this.form.append(html("div", { class: "fields" }, ...fields), tools);
    this.form.addEventListener("change", () => this.answer());
  }

  field(feature, used) {
    const input = feature.values ? choiceOf(feature) : numberOf(feature);
    this.inputs.set(feature.name, input);
    const hint = feature.values
      ? plural(feature.values.length, "value")
      : `${short(feature.low)} to ${short(feature.high)}`;
    return html("label", {}, feature.name, input, html("span", {}, used ? hint : `${hint}; not used by the model`));
  }

  typed() {
    return Object.fromEntries(
      [...this.inputs].map(([name, input]) => [name, input.value === OTHER ? null : input.value]),
    );
  }

  // A made-up record, even over the public ranges.
  random() {
    for (const feature of this.facts.schema.features) {
      const input = this.inputs.get(feature.name);
      if (feature.values) input.value = feature.values[Math.floor(Math.random() * feature.values.length)];
      else {
        const value = feature.low + Math.random() * (feature.high - feature.low);
        input.value = feature.integer ? Math.round(value) : Number(value.toPrecision(4));
      }
    }
    this.answer();
  }

  answer(walked = true) {
    const { values, problems } = this.walker.read(this.typed());
    if (problems.length) {
      this.outcome.replaceChildren(html("p", {}, `Cannot follow it yet. ${problems.join("; ")}.`));
      this.onWalk([]);
      return;
    }
    const found = this.walker.predict(values);
    this.outcome.replaceChildren(...this.told(found), ...this.why(found, values));
    if (walked) this.onWalk(found.paths);
  }

  told(found) {
    const { schema } = this.facts;
    const said = schema.target ? short(found.value, 5) : schema.says[found.best];
    const named = said.startsWith(`${schema.label} = `) ? "" : `${schema.label || "Prediction"}: `;
    const parts = [html("p", { class: "big" }, `${named}${said}`)];
    if (found.chances) {
      const chances = found.chances.map((chance, k) => `${schema.says[k]}: ${percent(chance)}`);
      parts.push(html("p", { class: "note" }, chances.join(", ")));
    } else if (!schema.target) {
      parts.push(
        html("p", { class: "note" }, "This model released labels and no counts, so it cannot say how sure it is."),
      );
    }
    if (found.paths.length === 1) parts.push(this.path(found.paths[0]));
    return parts;
  }

  path(nodes) {
    const tree = this.facts.model.trees[0];
    const items = nodes.slice(1).map((number) => html("li", { title: tree.nodes[number].x || null }, tree.nodes[number].t));
    return items.length ? html("ol", { class: "path" }, ...items) : html("p", {}, "The tree has a single leaf.");
  }

  why(found, values) {
    const { schema, model } = this.facts;
    const output = schema.target || (model.kind === "boosted" && model.outputs === 1) ? 0 : found.best;
    const reason = reasons(this.facts, this.walker, values, found, output);
    if (!reason || !reason.steps.some((own) => own.by !== 0)) return [];
    const of = schema.target
      ? schema.label || "the target"
      : `${reason.unit} of ${schema.says[model.kind === "boosted" && model.outputs === 1 ? 1 : output]}`;
    return [html("h3", {}, `What moved the ${of}`), waterfall(reason)];
  }
}

const OTHER = "\u0000other"; // stands for all values that a schema does not list

function choiceOf(feature) {
  const options = feature.values.map((value) => html("option", { value }, value || "(empty)"));
  if (feature.other) options.push(html("option", { value: OTHER }, "(any other value)"));
  return html("select", {}, ...options);
}

function numberOf(feature) {
  const start = startOf(feature);
  const value = feature.integer ? Math.round(start) : Number(start.toPrecision(2));
  return html("input", {
    type: "number",
    step: "any",
    value: Math.min(Math.max(value, feature.low), feature.high),
    placeholder: feature.missing ? "missing" : null,
    inputmode: "decimal",
  });
}

// A value to begin with that somebody might have, from the public range alone. Ranges are wide, and most values are in
// their lower part: of orders of magnitude the middle one; few of what is counted from 0 or 1 on; else a third.
function startOf({ low, high, log, integer }) {
  if (log && low >= 0) return Math.sqrt((low + 1) * (high + 1)) - 1;
  if (low < 0 && high > 0 && (high > -2 * low || low < -2 * high)) return 0;
  const age = high >= 90 && high <= 130;
  if (integer && (low === 0 || low === 1) && !age) return low + Math.floor(Math.cbrt(high - low + 1)) - 1;
  return low + (high - low) / 3;
}

function usedFeatures({ model }) {
  if (model.kind === "boosted") return new Set(model.rounds.flatMap((own) => own.f));
  return new Set(model.trees.flatMap((tree) => tree.nodes.filter((node) => node.k).map((node) => node.f)));
}

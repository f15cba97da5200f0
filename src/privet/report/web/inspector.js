// What is known of one node, in words: how records come here, what was released, and what it cost.

class Inspector {
  constructor(facts, budget) {
    Object.assign(this, { facts, budget });
    this.panel = html("div", { class: "inspector", "aria-live": "polite" });
  }

  show(view, number) {
    const node = view.tree.nodes[number];
    const conditions = [];
    for (let at = number; at; at = view.parents[at]) conditions.unshift(view.tree.nodes[at].x || view.tree.nodes[at].t);
    const where = conditions.length
      ? html("ol", {}, ...conditions.map((text) => html("li", {}, text)))
      : html("p", {}, "The root: every record begins here.");
    this.panel.replaceChildren(
      where,
      html("p", {}, this.released(view, node, number)),
      html("p", { class: "note" }, this.paid(node)),
    );
  }

  released(view, node, number) {
    const schema = this.facts.schema;
    const rare = number && view.rare(number) ? " By noisy counts hardly any records come here: noise may have picked the rule." : "";
    if (node.k) {
      const how = node.drawn ? "was drawn without looking at records" : "was chosen privately";
      return `Asks ${schema.features[node.f].name}; the rule ${how}, and parts the records ${node.k.length} ways.${rare}`;
    }
    if (schema.target)
      return `Predicts ${short(node.v, 5)}, a noisy mean of about ${short(node.w)} records. ${this.noise(node)}${rare}`;
    if (!node.n)
      return `Says ${schema.says[node.a]}. Only this label was released, and not how many records are here.`;
    const counts = node.n.map((n, k) => `${schema.says[k]}: ${short(n)}`).join(", ");
    const remark = node.m ? `; ${node.m}` : "";
    return `Says ${schema.says[node.a]}. Noisy counts: ${counts}${remark}. ${this.noise(node)}${rare}`;
  }

  // What is said of the noise in the sums that were asked for here.
  noise(node) {
    const counted = this.budget.at(node.s).map(([group]) => this.facts.budget.groups[group]);
    return counted.filter((own) => own.spread !== undefined).pop()?.noise || "";
  }

  paid(node) {
    const { currency } = this.facts.budget;
    const own = this.budget.at(node.s);
    const path = this.budget.above(node.s);
    const words = own.length
      ? own.map(([group, amount]) => `${short(amount)} for “${this.facts.budget.groups[group].asked}”`).join(", ")
      : "nothing of its own";
    return `Budget here, in ${currency}: ${words}. From the root to here: ${short(path)}.`;
  }
}

// The receipt as a bar: how the budget was spent along one path, from the root to a leaf.

class Budget {
  constructor(facts) {
    this.facts = facts.budget;
    this.box = html("div", { class: "budget" });
    this.list = html("ol", { class: "steps" }, ...this.facts.groups.map((group, i) => this.step(group, i)));
  }

  // What was charged to a scope itself: [group, amount].
  at(scope) {
    return this.facts.spent[scope] || [];
  }

  // Groups and amounts from the root to a scope.
  along(scope) {
    const total = new Map();
    for (let own = scope; own >= 0; own = this.facts.parents[own]) {
      for (const [group, amount] of this.at(own)) total.set(group, (total.get(group) || 0) + (amount ?? Infinity));
    }
    return [...total].sort((a, b) => a[0] - b[0]);
  }

  above(scope) {
    return this.along(scope).reduce((sum, [, amount]) => sum + amount, 0);
  }

  draw(parts, title) {
    const total = this.facts.total;
    if (total === null || !parts.length) {
      this.box.replaceChildren(html("p", {}, "Exact values were read, so there is no budget that could be drawn."));
      return;
    }
    const used = parts.reduce((sum, [, amount]) => sum + amount, 0);
    const x = scale(0, Math.max(total, used), 0, 1000);
    const picture = svg("svg", { viewBox: "0 0 1000 74", role: "group", "aria-label": title });
    picture.append(svg("rect", { class: "track", x: 0, y: 14, width: 1000, height: 34, rx: 6 }));
    let at = 0;
    parts.forEach(([group, amount], i) => {
      picture.append(this.piece(group, amount, x(at), x(at + amount) - x(at), i));
      at += amount;
    });
    picture.append(svg("text", { class: "quiet", x: 0, y: 67 }, `${short(used)} ${this.facts.currency} on this path`));
    picture.append(svg("text", { class: "quiet end", x: 1000, y: 67 }, `${short(total)} in all`));
    this.box.replaceChildren(html("p", { class: "note" }, title), picture);
  }

  piece(group, amount, x, width, i) {
    const words = `${this.facts.groups[group].asked} ${short(amount)} ${this.facts.currency}`;
    const light = () => this.light(group);
    const piece = svg(
      "rect",
      {
        class: i % 2 ? "step-odd" : "step-even",
        x,
        y: 14,
        width: Math.max(width - 1.5, 1),
        height: 34,
        rx: 3,
        role: "button",
        tabindex: "0",
        "aria-label": words,
        onmouseenter: light,
        onfocus: light,
        onclick: light,
      },
      svg("title", {}, words),
    );
    return piece;
  }

  light(group) {
    [...this.list.children].forEach((item, i) => item.classList.toggle("lit", i === group));
  }

  step(group, i) {
    const { currency } = this.facts;
    const price = group.least === group.most ? short(group.most) : `${short(group.least)} to ${short(group.most)}`;
    const times =
      group.times === 1
        ? "once"
        : `${plural(group.times, "time")}${group.parallel ? ", on disjoint records: counted once" : ""}`;
    const elsewhere =
      this.facts.dearest.length && !this.facts.dearest.some(([own]) => own === i)
        ? " Asked about other records than those of the path above: each record is in one part, and pays for that part alone."
        : "";
    const fine = `${group.mechanism}, lemma ${group.lemma}, sensitivity ${group.sensitivity}, noise scale ${group.scale}`;
    return html(
      "li",
      { onmouseenter: () => this.light(i) },
      html("div", { class: "price" }, `${currency} ${price}`, html("small", {}, times)),
      html(
        "div",
        {},
        html("h3", {}, group.asked),
        html("p", {}, `${group.how} ${group.noise}${elsewhere}`),
        html("p", { class: "fine" }, fine),
      ),
    );
  }
}

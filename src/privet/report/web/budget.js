// The receipt as bars: how the budget was spent along one path, from the root to a leaf. Records that are learned from
// and those that score the model each have a box with a sum of its own, because nobody is in both.

class Budget {
  constructor(facts) {
    this.facts = facts.budget;
    this.items = this.facts.groups.map((group, i) => this.step(group, i));
    this.bars = this.facts.parts.map(() => html("div", { class: "budget" }));
    const boxes = this.facts.parts.map((part, p) => this.partBox(part, p));
    this.box = html(
      "div",
      {},
      this.facts.together ? html("p", { class: "together" }, capital(this.facts.together)) : null,
      html("div", { class: boxes.length > 1 ? "parts" : "" }, ...boxes),
    );
    this.facts.parts.forEach((_, p) => this.drawDearest(p));
  }

  partBox({ name, spent }, p) {
    const items = this.items.filter((_, i) => this.facts.groups[i].part === p);
    const title = `${capital(name)}: ${this.facts.currency} ${short(spent)}`;
    return html(
      "div",
      { class: "part" },
      this.facts.parts.length > 1 ? html("h3", {}, title) : null,
      this.bars[p],
      html("ol", { class: "steps" }, ...items),
    );
  }

  // What was charged to a scope itself: [group, amount].
  at(scope) {
    return this.facts.spent[scope] || [];
  }

  // The noise in what was counted at a scope last: of both classes' counts together, about.
  spreadAt(scope) {
    const spreads = this.at(scope).map(([group]) => this.facts.groups[group].spread);
    return (spreads.filter((own) => own !== undefined).pop() || 0) * Math.SQRT2;
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

  drawDearest(p) {
    const dearest = this.facts.parts[p].dearest;
    this.draw(p, dearest, dearest.length > 1 ? "The path that cost most" : "What it cost");
  }

  // A path inside the part of its last question.
  drawPath(parts, title) {
    const p = this.facts.groups[parts[parts.length - 1][0]].part;
    const inside = parts.filter(([group]) => this.facts.groups[group].part === p);
    this.draw(p, inside, title);
  }

  draw(p, parts, title) {
    const total = this.facts.parts[p].spent;
    if (total === null || !parts.length) {
      this.bars[p].replaceChildren(html("p", {}, "Exact values were read, so there is no budget that could be drawn."));
      return;
    }
    const used = parts.reduce((sum, [, amount]) => sum + amount, 0);
    const x = scale(0, Math.max(total, used), 0, 1000);
    const picture = svg("svg", { viewBox: "0 0 1000 52", role: "group", "aria-label": title, preserveAspectRatio: "none" });
    picture.append(svg("rect", { class: "track", x: 0, y: 9, width: 1000, height: 34, rx: 6 }));
    let at = 0;
    parts.forEach(([group, amount], i) => {
      picture.append(this.piece(group, amount, x(at), x(at + amount) - x(at), i));
      at += amount;
    });
    const sum = `${this.facts.currency} ${short(used)} of ${short(total)}`;
    this.bars[p].replaceChildren(html("p", { class: "note" }, `${title}: ${sum}.`), picture);
  }

  piece(group, amount, x, width, i) {
    const words = `${this.facts.groups[group].asked} ${short(amount)} ${this.facts.currency}`;
    const light = () => this.light(group);
    const piece = svg(
      "rect",
      {
        class: i % 2 ? "step-odd" : "step-even",
        x,
        y: 9,
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
    this.items.forEach((item, i) => item.classList.toggle("lit", i === group));
  }

  step(group, i) {
    const { currency } = this.facts;
    const price = group.least === group.most ? short(group.most) : `${short(group.least)} to ${short(group.most)}`;
    const times =
      group.times === 1
        ? "once"
        : `${plural(group.times, "time")}${group.parallel ? ", on disjoint records: counted once" : ""}`;
    const fine = `${group.mechanism}, lemma ${group.lemma}, sensitivity ${group.sensitivity}, noise scale ${group.scale}`;
    return html(
      "li",
      { onmouseenter: () => this.light(i) },
      html("div", { class: "price" }, `${currency} ${price}`, html("small", {}, times)),
      html(
        "div",
        {},
        html("h4", {}, group.asked),
        html("p", {}, `${group.how} ${group.noise}`),
        html("details", { class: "fine" }, html("summary", {}, "For those who check"), html("p", {}, fine)),
      ),
    );
  }
}

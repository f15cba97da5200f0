// A tree, drawn from left to right, or as an outline where there is little room: one card for each node, with the
// condition that leads to it. Branches fold, cards are reached by the arrow keys, and the window around it scrolls, so
// that panning works as everywhere else.

const CARD = { width: 232, height: 60, row: 69, margin: 14, letters: 31 };
const ACROSS = { column: 264, outline: false };
const OUTLINE = { column: 20, outline: true };
const NARROW = 640;
const MARGIN_OF_SIGHT = 16; // a strip this wide has no card in it
const RARE = 0.002; // a smaller share of all records is hardly any, and so is what noise alone may have counted
const FIRST_LEAVES = 16; // a first look has room for so many; the rest is folded
const FIRST_OUTLINED = 6; // an outline takes a row for each node, and inner ones are as many

class TreeView {
  // `spread` is the standard deviation of the noise in a leaf's released counts, where it is known.
  constructor(tree, schema, onChoose, spread = 0) {
    Object.assign(this, { tree, schema, onChoose, spread });
    this.summaries = summariesOf(tree, schema);
    this.depths = depthsOf(tree);
    this.parents = parentsOf(tree);
    this.walked = new Set();
    this.chosen = 0;
    this.cards = new Map();
    this.zoom = 1;
    this.layout = window.innerWidth < NARROW ? OUTLINE : ACROSS;
    this.folded = foldedAtFirst(tree, this.depths, this.layout.outline ? FIRST_OUTLINED : FIRST_LEAVES);
    this.window = html("div", { class: "tree-window", tabindex: "-1" });
    this.hint = html("p", { class: "note more", hidden: true });
    this.window.addEventListener("scroll", () => this.tellMore(), { passive: true });
    new ResizeObserver(() => this.tellMore()).observe(this.window);
    this.dragging();
    this.window.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  draw() {
    const places = this.places();
    const width = CARD.margin * 2 + CARD.width + this.layout.column * Math.max(...places.map((own) => own.depth));
    const height = CARD.margin * 2 + CARD.row * Math.max(...places.map((own) => own.row + 1));
    const at = new Map(places.map((own) => [own.node, own]));
    const branches = places.filter((own) => own.node).map((own) => this.branch(at.get(this.parents[own.node]), own));
    this.cards = new Map(places.map((own) => [own.node, this.card(own)]));
    const label = `Decision tree with ${plural(this.tree.nodes.length, "node")}`;
    this.svg = svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, width: width * this.zoom, height: height * this.zoom },
      svg("g", { "aria-hidden": "true" }, ...branches),
      svg("g", { role: "tree", "aria-label": label }, ...this.cards.values()),
    );
    this.size = { width, height };
    this.window.replaceChildren(this.svg);
    this.tellMore();
    return this.window;
  }

  // Whether something is out of sight, and how to see it: below the window, beside it, or folded.
  tellMore() {
    const { scrollTop, scrollLeft, clientHeight, clientWidth, scrollHeight, scrollWidth } = this.window;
    const below = scrollHeight - scrollTop - clientHeight > MARGIN_OF_SIGHT;
    const beside = scrollWidth - scrollLeft - clientWidth > MARGIN_OF_SIGHT;
    const where = [below ? "below" : null, beside ? "to the right" : null].filter(Boolean).join(" and ");
    const nodes = this.tree.nodes.length;
    const folded = this.cards.size < nodes ? `${this.cards.size} of ${nodes} nodes are shown: + unfolds one.` : "";
    this.hint.textContent = [folded, where ? `The tree goes on ${where}: scroll inside it.` : ""].filter(Boolean).join(" ");
    this.hint.hidden = !this.hint.textContent;
  }

  // Visible nodes with their places. In an outline each takes a row; else leaves and folded nodes do, and others are in
  // the middle of their children.
  places() {
    const found = [];
    let next = 0;
    const visit = (node) => {
      const own = { node, depth: this.depths[node], row: this.layout.outline ? next++ : 0 };
      found.push(own);
      const below = this.open(node).map(visit);
      if (!this.layout.outline) own.row = below.length ? (below[0] + below[below.length - 1]) / 2 : next++;
      return own.row;
    };
    visit(0);
    return found;
  }

  open(node) {
    return this.folded.has(node) ? [] : this.tree.nodes[node].k || [];
  }

  corner({ depth, row }) {
    return { x: CARD.margin + depth * this.layout.column, y: CARD.margin + row * CARD.row };
  }

  branch(above, own) {
    const from = this.corner(above);
    const to = this.corner(own);
    const kind = this.walked.has(own.node) ? "branch walked" : "branch";
    const middle = to.y + CARD.height / 2;
    if (this.layout.outline)
      return svg("path", { class: kind, d: `M${from.x + 9} ${from.y + CARD.height}V${middle}H${to.x}` });
    const [x, y] = [from.x + CARD.width, from.y + CARD.height / 2];
    const bend = (x + to.x) / 2;
    return svg("path", { class: kind, d: `M${x} ${y}C${bend} ${y} ${bend} ${middle} ${to.x} ${middle}` });
  }

  card(own) {
    const node = this.tree.nodes[own.node];
    const { x, y } = this.corner(own);
    const kinds = ["node", node.k ? "inner" : "leaf"];
    if (this.walked.has(own.node)) kinds.push("walked");
    if (this.chosen === own.node) kinds.push("chosen");
    const group = svg("g", {
      class: kinds.join(" "),
      role: "treeitem",
      transform: `translate(${x} ${y})`,
      tabindex: this.chosen === own.node ? "0" : "-1",
      "aria-level": own.depth + 1,
      "aria-expanded": node.k ? String(!this.folded.has(own.node)) : null,
      "aria-selected": String(this.chosen === own.node),
      "aria-label": this.spoken(own.node),
      onclick: () => this.choose(own.node),
      ondblclick: () => this.fold(own.node),
      onmouseenter: () => this.onChoose(own.node, false),
      onkeydown: (event) => this.key(event, own.node),
    });
    group.append(svg("rect", { class: "card", width: CARD.width, height: CARD.height, rx: 7 }));
    const lines = inTwoLines(node.t || "All records", CARD.letters);
    lines.forEach((line, i) =>
      group.append(svg("text", { x: 11, y: (lines.length > 1 ? 17 : 23) + 15 * i, class: own.node ? "" : "strong" }, line)),
    );
    group.append(...(node.k ? this.innerMarks(own.node, node) : this.leafMarks(own.node, node)));
    group.append(svg("title", {}, this.spoken(own.node)));
    return group;
  }

  innerMarks(number, node) {
    const name = this.schema.features[node.f].name;
    const asks = svg(
      "text",
      { x: 11, y: 49, class: "quiet small" },
      clipped(`asks ${name}${node.drawn ? " (drawn)" : ""}`, 36),
    );
    const fold = svg("g", {
      onclick: (event) => {
        event.stopPropagation();
        this.fold(number);
      },
    });
    fold.append(svg("circle", { class: "fold", cx: CARD.width, cy: CARD.height / 2, r: 9 }));
    fold.append(
      svg(
        "text",
        { class: "small middle", x: CARD.width, y: CARD.height / 2 + 4 },
        this.folded.has(number) ? "+" : "−",
      ),
    );
    return [asks, fold, ...(this.tree.weighed ? this.bar(this.summaries[number].outputs) : [])];
  }

  leafMarks(number, node) {
    const said = svg("text", { x: 11, y: 49, class: "strong" }, clipped(this.says(node), 18));
    const count = svg("text", { x: CARD.width - 11, y: 49, class: "quiet small end" }, this.records(number));
    return [said, count, ...this.bar(this.summaries[number].outputs)];
  }

  // About how many records are here, where that was released; a leaf for hardly anybody says so.
  records(number) {
    const node = this.tree.nodes[number];
    if (!node.n && node.w === undefined) return "";
    const about = `about ${short(Math.round(this.summaries[number].weight))}`;
    return this.rare(number) ? `hardly any: ${about}` : about;
  }

  rare(number) {
    const { weight } = this.summaries[number];
    return this.tree.weighed && (weight < RARE * this.summaries[0].weight || weight < 2 * this.spread);
  }

  // Along the lower edge: shares of noisy counts, one colour for a label alone, or where a number is in its range.
  bar(outputs) {
    if (this.schema.target) {
      const [low, high] = this.schema.target;
      const width = scale(low, high, 0, CARD.width - 22)(outputs[0]);
      return [svg("rect", { class: "fill", x: 11, y: 55, width: Math.max(width, 1), height: 3 })];
    }
    let x = 11;
    return outputs.map((share, k) => {
      const width = share * (CARD.width - 22);
      x += width;
      return svg("rect", { class: `class-${k % 6}`, x: x - width, y: 55, width, height: 3 });
    });
  }

  says(node) {
    return this.schema.target ? short(node.v, 4) : (this.schema.says || this.schema.classes)[node.a];
  }

  spoken(number) {
    const node = this.tree.nodes[number];
    const here = node.x || node.t || "All records";
    const rare = number && this.rare(number) ? " (hardly any records, by noisy counts)" : "";
    return node.k ? `${here}${rare}; asks ${this.schema.features[node.f].name}` : `${here}: ${this.says(node)}${rare}`;
  }

  // -- moving about ----------------------------------------------------------------------------------------------

  key(event, number) {
    const go = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const shown = [...this.cards.keys()];
    if (go) this.choose(shown[shown.indexOf(number) + go] ?? number);
    else if (event.key === "Home") this.choose(0);
    else if (event.key === "End") this.choose(shown[shown.length - 1]);
    else if (event.key === "ArrowRight")
      this.folded.has(number) ? this.fold(number) : this.choose(this.open(number)[0] ?? number);
    else if (event.key === "ArrowLeft")
      this.open(number).length ? this.fold(number) : this.choose(this.parents[number]);
    else if (event.key === "Enter" || event.key === " ") this.fold(number);
    else if (event.key === "+" || event.key === "=") this.zoomTo(this.zoom * 1.25);
    else if (event.key === "-") this.zoomTo(this.zoom / 1.25);
    else return;
    event.preventDefault();
  }

  choose(number, focus = true) {
    this.chosen = number;
    this.draw();
    if (focus) this.cards.get(number).focus({ preventScroll: true });
    this.reveal(number);
    this.onChoose(number, true);
  }

  reveal(number) {
    const card = this.cards.get(number);
    if (card) card.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  fold(number) {
    if (!this.tree.nodes[number].k) return;
    this.folded.has(number) ? this.folded.delete(number) : this.folded.add(number);
    this.choose(number);
  }

  foldAll(wanted) {
    const inner = this.tree.nodes.map((_, number) => number).filter((number) => number && this.tree.nodes[number].k);
    this.folded = new Set(wanted ? inner : []);
    this.chosen = 0;
    this.draw();
  }

  // Show the path of a record, unfolded.
  walk(path) {
    this.walked = new Set(path);
    for (const number of path) this.folded.delete(number);
    this.chosen = path.length ? path[path.length - 1] : 0;
    this.draw();
    this.onChoose(this.chosen, path.length > 0);
  }

  zoomTo(zoom) {
    this.zoom = Math.min(Math.max(zoom, 0.2), 2.5);
    this.svg.setAttribute("width", this.size.width * this.zoom);
    this.svg.setAttribute("height", this.size.height * this.zoom);
    this.tellMore();
  }

  // As large as fits the window, or its width alone, but never so small that nobody can read it.
  fit(smallest = 0.2, whole = true) {
    const most = (whole && parseFloat(getComputedStyle(this.window).maxHeight)) || Infinity;
    const across = (this.window.clientWidth - 4) / this.size.width;
    this.zoomTo(Math.max(smallest, Math.min(1, across, (most - 4) / this.size.height)));
  }

  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.zoomTo(this.zoom * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
  }

  // A mouse pulls the drawing; fingers scroll by themselves.
  dragging() {
    let from = null;
    this.window.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && !event.target.closest(".node")) {
        from = [event.clientX + this.window.scrollLeft, event.clientY + this.window.scrollTop];
        this.window.classList.add("dragged");
      }
    });
    window.addEventListener("pointermove", (event) => {
      if (from) this.window.scrollTo(from[0] - event.clientX, from[1] - event.clientY);
    });
    window.addEventListener("pointerup", () => {
      from = null;
      this.window.classList.remove("dragged");
    });
  }
}

// A condition in at most two lines. One that is longer still loses its middle, never its end: there it says whether
// values that nobody listed belong to it.
function inTwoLines(text, letters) {
  if (text.length <= letters) return [text];
  const cut = text.lastIndexOf(" ", letters);
  const at = cut > 0 ? cut : letters;
  const rest = text.slice(at).trim();
  if (rest.length <= letters) return [text.slice(0, at), rest];
  const end = text.endsWith("any other value") ? ", any other value" : text.slice(-Math.floor(letters / 2));
  return [text.slice(0, at), `${rest.slice(0, letters - end.length - 1)}…${end}`];
}

function parentsOf(tree) {
  const parents = new Array(tree.nodes.length).fill(0);
  tree.nodes.forEach((node, number) => (node.k || []).forEach((child) => (parents[child] = number)));
  return parents;
}

function depthsOf(tree) {
  const depths = new Array(tree.nodes.length).fill(0);
  tree.nodes.forEach((node, number) => (node.k || []).forEach((child) => (depths[child] = depths[number] + 1)));
  return depths;
}

// Fold from the depth on at which there would be too many rows.
function foldedAtFirst(tree, depths, most) {
  const rows = (deepest) =>
    tree.nodes.filter((node, i) => depths[i] === deepest || (!node.k && depths[i] < deepest)).length;
  let deepest = 1;
  while (deepest < Math.max(...depths) && rows(deepest + 1) <= most) deepest++;
  return new Set(tree.nodes.map((_, i) => i).filter((i) => tree.nodes[i].k && depths[i] >= Math.max(deepest, 1)));
}

// For each node about how many records, and what is predicted there on average: from the leaves' released numbers.
function summariesOf(tree, schema) {
  const found = new Array(tree.nodes.length);
  for (let number = tree.nodes.length - 1; number >= 0; number--) {
    const node = tree.nodes[number];
    found[number] = node.k ? mixed(node.k.map((child) => found[child])) : leafSummary(node, schema);
  }
  return found;
}

function leafSummary(node, schema) {
  if (schema.target) return { weight: Math.max(node.w, 0), outputs: [node.v] };
  const weight = (node.n || []).reduce((sum, n) => sum + Math.max(n, 0), 0);
  return { weight, outputs: sharesOf(node, schema.classes.length) };
}

function mixed(parts) {
  const weight = parts.reduce((sum, part) => sum + part.weight, 0);
  const shares = parts.map((part) => (weight > 0 ? part.weight / weight : 1 / parts.length));
  const outputs = parts[0].outputs.map((_, k) => parts.reduce((sum, part, i) => sum + shares[i] * part.outputs[k], 0));
  return { weight, outputs };
}

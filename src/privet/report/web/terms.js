// What features add to the scores in boosting: curves of one, heat maps of two, slices of three. All with their noise.

const TERM = { width: 340, height: 210, left: 46, right: 332, top: 10, bottom: 176 };
const FIRST_TERMS = 12;
const LETTER = 6.2; // about as wide as a small letter is
const SURE = 2; // a number further from 0 than so many standard deviations is more than noise

class Terms {
  constructor(facts) {
    this.walker = new Walker(facts);
    this.schema = facts.schema;
    this.model = facts.model;
    this.output = 0; // the class whose score is shown
    this.unit = this.schema.target ? this.schema.target[1] - this.schema.target[0] : 1;
    this.shown = FIRST_TERMS;
    this.byKey = new Map();
    for (const own of this.model.rounds) {
      const key = own.f.join();
      if (!this.byKey.has(key)) this.byKey.set(key, []);
      this.byKey.get(key).push(own);
    }
    this.figures = html("div", { class: "figures" });
    this.more = html("button", { type: "button", onclick: () => this.draw(Infinity) }, "Show all");
  }

  draw(shown = this.shown) {
    this.shown = shown;
    // Of several classes each has rounds of its own: what adds nothing to this one's score is left out.
    const adds = (term) => this.byKey.get(term.f.join()).some((own) => own.o === this.output);
    const terms = this.model.terms.filter(adds);
    this.figures.replaceChildren(...terms.slice(0, shown).map((term) => this.figure(term)));
    this.more.hidden = shown >= terms.length;
    this.more.textContent = `Show all ${terms.length}`;
  }

  figure(term) {
    const names = term.f.map((f) => this.schema.features[f].name);
    const caption = html(
      "figcaption",
      {},
      html("b", {}, names.join(" and ")),
      ` moves ${percent(term.share)} of the scores`,
    );
    const draw =
      { 1: () => this.curve(term), 2: () => this.heat(term, null) }[term.f.length] || (() => this.slices(term));
    return html("figure", {}, caption, draw());
  }

  // The stretches of a feature that any round of a term tells apart, each with one cell that stands for it.
  stretches(term, k) {
    const rounds = this.byKey.get(term.f.join());
    const feature = term.f[k];
    const cuts = this.model.cuts[feature];
    if (cuts === null) return categories(this.schema.features[feature]);
    const starts = [...new Set([0, ...rounds.flatMap((own) => own.p[k])])].sort((a, b) => a - b);
    return starts.map((cell, i) => this.numberStretch(feature, cuts, cell, starts[i + 1]));
  }

  numberStretch(feature, cuts, cell, next) {
    const { low, high } = this.schema.features[feature];
    if (cell > cuts.length) return { cell, name: "missing", missing: true };
    const from = cell === 0 ? low : cuts[cell - 1];
    const to = next === undefined || next > cuts.length ? high : cuts[next - 1];
    return { cell, from, to, name: `${short(from)} to ${short(to)}` };
  }

  // What a term adds in these cells, and the standard deviation of its noise.
  adds(term, cells, output = this.output) {
    let value = 0;
    let variance = 0;
    for (const own of this.byKey.get(term.f.join())) {
      if (own.o !== output) continue;
      let part = 0;
      own.f.forEach((feature, k) => {
        const { at, width } = this.walker.stretch(feature, own.p[k], cells[k]);
        part = part * width + at;
      });
      value += own.v[part] / this.model.one;
      variance += own.e[part] ** 2;
    }
    return { value: (value - term.mean[output]) * this.unit, error: Math.sqrt(variance) * this.unit };
  }

  curve(term) {
    const stretches = this.stretches(term, 0).map((own) => ({ ...own, ...this.adds(term, [own.cell]) }));
    const numbers = stretches.filter((own) => own.from !== undefined);
    return numbers.length
      ? this.steps(
          term,
          numbers,
          stretches.find((own) => own.missing),
        )
      : this.dots(stretches);
  }

  steps(term, stretches, missing) {
    const feature = this.schema.features[term.f[0]];
    const box = TERM;
    const place = feature.log ? (value) => Math.log1p(value) : (value) => value;
    const x = scale(place(feature.low), place(feature.high), box.left, box.right);
    const y = this.heights(missing ? [...stretches, missing] : stretches, box);
    const at = (value) => x(place(value)).toFixed(1);
    const line = stretches
      .map((own, i) => `${i ? "L" : "M"}${at(own.from)} ${y(own.value).toFixed(1)}H${at(own.to)}`)
      .join("");
    const upper = stretches.map(
      (own) => `${at(own.from)},${y(own.value + SURE * own.error)} ${at(own.to)},${y(own.value + SURE * own.error)}`,
    );
    const lower = [...stretches]
      .reverse()
      .map(
        (own) => `${at(own.to)},${y(own.value - SURE * own.error)} ${at(own.from)},${y(own.value - SURE * own.error)}`,
      );
    const marks = [
      svg("polygon", { class: "band", points: [...upper, ...lower].join(" ") }),
      svg("path", { class: "curve", d: line }),
    ];
    const ends = feature.log ? decades(feature.low, feature.high) : ticks(feature.low, feature.high);
    const note = missing
      ? svg("text", { class: "quiet small end", x: box.right, y: box.bottom + 31 }, `missing: ${signed(missing.value)}`)
      : null;
    const values = stretches.map((own) => own.value);
    const label = `What ${feature.name} adds: from ${short(Math.min(...values))} to ${short(Math.max(...values))}`;
    return drawing(
      box.width,
      box.height,
      label,
      axes(box, (v) => Number(at(v)), y, ends, this.marks),
      this.zero(y, box),
      ...marks,
      note,
    );
  }

  heights(all, box) {
    const low = Math.min(0, ...all.map((own) => own.value - SURE * own.error));
    const high = Math.max(0, ...all.map((own) => own.value + SURE * own.error));
    this.marks = ticks(low, high);
    return scale(low, high, box.bottom, box.top);
  }

  zero(y, box) {
    return svg("line", { class: "zero", x1: box.left, x2: box.right, y1: y(0), y2: y(0) });
  }

  // Categories: a dot with whiskers each, the largest first.
  dots(stretches) {
    const sorted = [...stretches].sort((a, b) => b.value - a.value);
    const shown = sorted.length <= 14 ? sorted : [...sorted.slice(0, 7), ...sorted.slice(-7)];
    const [left, row] = [138, 17];
    const bottom = shown.length * row + 6;
    const reach = Math.max(...shown.map((own) => Math.abs(own.value) + SURE * own.error), 1e-9);
    const x = scale(-reach, reach, left, TERM.right);
    const marks = shown.flatMap((own, i) => {
      const y = i * row + 12;
      const ends = { x1: x(own.value - SURE * own.error), x2: x(own.value + SURE * own.error), y1: y, y2: y };
      return [
        svg(
          "text",
          { class: "small end", x: left - 8, y: y + 4 },
          clipped(own.name, 21),
          svg("title", {}, `${own.name}: ${signed(own.value)}`),
        ),
        svg("line", { class: "whisker", ...ends }),
        svg("circle", { class: "dot", cx: x(own.value), cy: y, r: 3.6 }),
      ];
    });
    const zero = svg("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: bottom });
    const axis = ticks(-reach, reach, 4).map((tick) =>
      svg("text", { class: "quiet small middle", x: x(tick), y: bottom + 13 }, short(tick)),
    );
    const label = shown.map((own) => `${own.name} ${signed(own.value)}`).join(", ");
    return drawing(TERM.width, bottom + 18, label, zero, ...marks, ...axis);
  }

  // Two features: blue adds, orange takes away, crossed out is what noise alone could have made.
  heat(term, third) {
    const [rows, columns] = [this.stretches(term, 0), this.stretches(term, 1)];
    const others = third === null ? [] : [third];
    const cells = rows.map((row) => columns.map((column) => this.adds(term, [row.cell, column.cell, ...others])));
    const most = Math.max(...cells.flat().map((own) => Math.abs(own.value)), 1e-9);
    const box = { left: 112, top: 4, bottom: 172 };
    box.width = (TERM.right - box.left) / columns.length;
    box.height = (box.bottom - box.top) / rows.length;
    const tiles = cells.flatMap((line, r) =>
      line.map((own, c) => this.tile(own, `${rows[r].name}, ${columns[c].name}`, box, r, c, most)),
    );
    // One path for all: thousands of lines, or a pattern, would make a printed page a hundred times as large.
    const strokes = cells.flatMap((line, r) => line.map((own, c) => (this.sure(own) ? "" : this.stroke(box, r, c))));
    const names = term.f.map((f) => this.schema.features[f].name);
    const label = `Heat map of ${names.join(" and ")}, from −${short(most)} to +${short(most)}`;
    const hatch = svg("path", { class: "hatch", d: strokes.join("") || "M0 0" });
    const texts = this.heatNames(rows, columns, box, term, most);
    return drawing(TERM.width, TERM.height, label, ...tiles, hatch, ...texts);
  }

  sure(own) {
    return Math.abs(own.value) >= SURE * own.error;
  }

  tile(own, name, box, r, c, most) {
    const at = { x: (box.left + c * box.width).toFixed(1), y: (box.top + r * box.height).toFixed(1) };
    const size = {
      width: Math.max(box.width - 0.6, 0.5).toFixed(1),
      height: Math.max(box.height - 0.6, 0.5).toFixed(1),
    };
    const strength = (0.06 + (0.94 * Math.abs(own.value)) / most).toFixed(2);
    const words = `${name}: ${signed(own.value)} ± ${short(SURE * own.error)}`;
    const kind = own.value < 0 ? "minus" : "plus";
    return svg("rect", { ...at, ...size, class: kind, "fill-opacity": strength }, svg("title", {}, words));
  }

  stroke(box, r, c) {
    const [x, y] = [box.left + c * box.width, box.top + r * box.height];
    return `M${x.toFixed(1)} ${(y + box.height).toFixed(1)}l${box.width.toFixed(1)} ${(-box.height).toFixed(1)}`;
  }

  heatNames(rows, columns, box, term, most) {
    const everyRow = Math.ceil(rows.length / 11);
    const everyColumn = Math.ceil(columns.length / 3);
    const names = rows
      .filter((_, i) => i % everyRow === 0)
      .map((own, i) =>
        svg(
          "text",
          { class: "quiet small end", x: box.left - 5, y: box.top + (i * everyRow + 0.5) * box.height + 4 },
          clipped(own.name, 16),
        ),
      );
    const below = this.namesBelow(
      columns.map((own, i) => ({ name: own.name, x: box.left + i * box.width })).filter((_, i) => i % everyColumn === 0),
      box.bottom + 14,
    );
    const [down, across] = term.f.map((f) => this.schema.features[f].name);
    const said = svg(
      "text",
      { class: "quiet small end", x: TERM.right, y: box.bottom + 30 },
      clipped(`${down} ↓ ${across} → up to ±${short(most)}`, 50),
    );
    return [...names, ...below, said];
  }

  // Names of columns begin below them, or further left where they would run out of the picture; none reaches the next.
  namesBelow(columns, y) {
    let end = TERM.right;
    const placed = [...columns].reverse().map(({ name, x }, i) => {
      const before = columns[columns.length - 2 - i];
      const least = before ? before.x + LETTER * 4 : 0;
      const start = Math.max(Math.min(x, end - LETTER * name.length), least);
      const letters = Math.max(Math.floor((end - start) / LETTER), 2);
      end = start - LETTER;
      return svg("text", { class: "quiet small", x: start, y }, clipped(name, letters), svg("title", {}, name));
    });
    return placed.reverse();
  }

  // Three features: a heat map of the first two for each stretch of the third.
  slices(term) {
    const all = this.stretches(term, 2);
    const name = this.schema.features[term.f[2]].name;
    const box = html("div", {}, this.heat(term, all[0].cell));
    const pick = html("select", {
      "aria-label": `Stretch of ${name}`,
      onchange: () => box.replaceChildren(this.heat(term, all[pick.value].cell)),
    });
    pick.append(...all.map((own, i) => html("option", { value: i }, `${name}: ${own.name}`)));
    return html("div", {}, pick, box);
  }
}

function categories({ values, other }) {
  return [...values, ...(other ? ["any other value"] : [])].map((name, cell) => ({ cell, name }));
}

// Powers of ten inside a range, for values that spread over orders of magnitude.
function decades(low, high) {
  const powers = [10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9].filter((power) => power > low && power < high);
  return [low, ...powers.filter((_, i) => powers.length <= 4 || i % 2 === 1)];
}

// Accuracy and one person's risk over epsilon: two charts, one above the other, that share their axis with the slider.

const HEIGHTS = { score: { top: 16, bottom: 196 }, risk: { top: 232, bottom: 340 }, height: 366 };
// Left and right are those of the slider, which the style sheet places below.
const TRADE =
  window.innerWidth < 640
    ? { width: 480, left: 48, right: 470, ...HEIGHTS }
    : { width: 1000, left: 70, right: 980, ...HEIGHTS };
const LEAST = 0.01;
const MOST = 10;

const epsilonAt = scale(0, 60, Math.log10(LEAST), Math.log10(MOST));
const rounded = (value) => Number(value.toPrecision(2));
// The chance that a guess at membership is right, if it was even before.
const guessRate = (epsilon) => 1 / (1 + Math.exp(-epsilon));

// A tick such as 82.5% keeps its half.
const digitsOf = (share) => (Math.abs(share * 100 - Math.round(share * 100)) < 1e-6 ? 0 : 1);

class Tradeoff {
  constructor(facts) {
    this.facts = facts;
    this.box = document.getElementById("tradeoff");
    this.x = scale(Math.log10(LEAST), Math.log10(MOST), TRADE.left, TRADE.right);
  }

  // `points` are [epsilon, score] of all draws so far; `now` those of the present epsilon.
  draw(points, epsilon, best) {
    const scores = points.map((own) => own[1]);
    const low = Math.min(this.facts.baseline, ...scores);
    const high = Math.max(this.facts.baseline + 0.02, best ?? 0, ...scores);
    const room = (high - low) * 0.08;
    const y = scale(low - room, high + room, TRADE.score.bottom, TRADE.score.top);
    const words = `${this.facts.score} and risk over epsilon, now ${epsilon}`;
    this.box.replaceChildren(
      drawing(
        TRADE.width,
        TRADE.height,
        words,
        ...this.scores(points, epsilon, y, low, high, best),
        ...this.risk(epsilon),
        this.marker(epsilon),
      ),
    );
  }

  at(epsilon) {
    return this.x(Math.log10(epsilon));
  }

  scores(points, epsilon, y, low, high, best) {
    const show = this.facts.score === "accuracy" ? (tick) => percent(tick, digitsOf(tick)) : (tick) => short(tick);
    const grid = axes({ ...TRADE, ...TRADE.score }, this.x, y, [], ticks(low, high, 4), show);
    const dots = points.map(([own, score]) =>
      svg("circle", {
        class: own === epsilon ? "dot" : "past",
        cx: this.at(own),
        cy: y(score),
        r: own === epsilon ? 6 : 4,
      }),
    );
    const name = svg(
      "text",
      { class: "strong", x: TRADE.left, y: TRADE.score.top - 6 },
      this.facts.score === "accuracy" ? "Accuracy, one dot for each draw" : "R², one dot for each draw",
    );
    return [
      grid,
      this.level(y, this.facts.baseline, "knows nothing"),
      best === null ? null : this.level(y, best, "no noise to speak of"),
      ...dots,
      name,
    ];
  }

  level(y, value, words) {
    return svg(
      "g",
      {},
      svg("line", { class: "zero", x1: TRADE.left, x2: TRADE.right, y1: y(value), y2: y(value) }),
      svg("text", { class: "quiet small end", x: TRADE.right, y: y(value) - 4 }, words),
    );
  }

  risk(epsilon) {
    const y = scale(0.5, 1, TRADE.risk.bottom, TRADE.risk.top);
    const line = Array.from({ length: 61 }, (_, i) => 10 ** epsilonAt(i)).map(
      (own) => `${this.at(own).toFixed(1)} ${y(guessRate(own)).toFixed(1)}`,
    );
    const path = `M${line.join("L")}`;
    const grid = axes(
      { ...TRADE, ...TRADE.risk },
      (tick) => this.at(tick),
      y,
      [0.01, 0.03, 0.1, 0.3, 1, 3, 10],
      [0.5, 0.75, 1],
      (tick) => (tick >= 0.5 && tick < 1.01 && tick !== 1 ? percent(tick, 0) : String(tick)),
    );
    grid.querySelectorAll(".end")[2].textContent = "100%";
    return [
      grid,
      svg("path", { class: "risk-area", d: `${path}V${TRADE.risk.bottom}H${TRADE.left}Z` }),
      svg("path", { class: "risk-line", d: path }),
      svg("circle", { class: "risk-dot", cx: this.at(epsilon), cy: y(guessRate(epsilon)), r: 6 }),
      svg(
        "text",
        { class: "strong", x: TRADE.left, y: TRADE.risk.top - 8 },
        `One ${this.facts.one}'s risk: how often a guess can be right`,
      ),
      svg("text", { class: "quiet small", x: TRADE.left + 8, y: TRADE.risk.bottom - 7 }, "50%: a coin toss"),
    ];
  }

  marker(epsilon) {
    return svg("line", {
      class: "marker",
      x1: this.at(epsilon),
      x2: this.at(epsilon),
      y1: TRADE.score.top,
      y2: TRADE.risk.bottom,
    });
  }
}

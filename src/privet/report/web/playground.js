// The playground: settings, the slider, four draws side by side. Fits are asked from the server that sent this page.

const facts = JSON.parse(document.getElementById("facts").textContent);
const token = new URLSearchParams(location.search).get("token");
const page = String(Math.random()); // turns of pages that are open at once, or were reloaded, are told apart
const here = (id) => document.getElementById(id);
const DRAWS = 4;
const PAUSE = 160; // milliseconds of rest after which a move counts
const SKETCH = [0.01, 0.03, 0.1, 0.3, 1, 3, 10];
const NO_NOISE = 1000; // an epsilon at which noise makes no difference
const LEAST_ZOOM = 0.5; // cards of a deep tree are no smaller

class PlaygroundPage {
  constructor() {
    this.tradeoff = new Tradeoff(facts);
    this.settings = { method: facts.methods[0][0], depth: 4, records: facts.sizes[facts.sizes.length - 1], first: 0 };
    this.seen = new Map(); // [epsilon, score] by setting
    this.turn = 0;
    this.panels = Array.from({ length: DRAWS }, (_, i) =>
      html("article", { "aria-label": `Draw ${i + 1}` }, html("h3", {}, `Draw ${i + 1}`)),
    );
    here("panels").append(...this.panels);
    here("tools").append(...this.tools());
    here("slider").addEventListener("input", () => this.moved());
    this.moved(0);
  }

  get epsilon() {
    return rounded(10 ** epsilonAt(Number(here("slider").value)));
  }

  tools() {
    const set = (name, read) => (event) => {
      this.settings[name] = read(event.target.value);
      this.moved(0);
    };
    const choice = (label, name, options, read = Number) => {
      const select = html(
        "select",
        { onchange: set(name, read) },
        ...options.map(([value, text]) => html("option", { value }, text)),
      );
      select.value = String(this.settings[name]);
      return html("label", { class: "note" }, `${label} `, select);
    };
    this.depthBox = choice(
      "Depth",
      "depth",
      [1, 2, 3, 4, 5, 6, 8].map((depth) => [depth, depth]),
    );
    return [
      choice("Method", "method", facts.methods, String),
      this.depthBox,
      choice(
        "Learn from",
        "records",
        facts.sizes.map((n) => [n, `${n.toLocaleString("en")} ${facts.many}`]),
      ),
      html(
        "button",
        {
          type: "button",
          onclick: () => {
            this.settings.first += DRAWS;
            this.moved(0);
          },
        },
        "Draw again",
      ),
    ];
  }

  moved(pause = PAUSE) {
    const epsilon = this.epsilon;
    const deep = facts.methods.find(([name]) => name === this.settings.method)[2];
    this.depthBox.querySelector("select").disabled = !deep;
    here("epsilon").textContent = epsilon;
    here("people").textContent = this.settings.records.toLocaleString("en");
    here("risk").textContent = percentAtMost(guessRate(epsilon));
    here("odds").textContent = `of guesses right, at most; odds grow up to ${shortAtMost(Math.exp(epsilon))} times`;
    here("verdict").textContent = verdict(epsilon);
    here("slider").setAttribute("aria-valuetext", `epsilon ${epsilon}, ${verdict(epsilon)}`);
    this.chart();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(epsilon), pause);
  }

  key() {
    return `${this.settings.method} ${this.settings.depth} ${this.settings.records}`;
  }

  chart() {
    const points = this.seen.get(this.key()) || [];
    this.tradeoff.draw(
      points.filter(([epsilon]) => epsilon <= MOST),
      this.epsilon,
      points.find(([epsilon]) => epsilon === NO_NOISE)?.[1] ?? null,
    );
  }

  // Four draws of the present settings, then a sketch of the curve; a later move makes this one stale.
  async refresh(epsilon) {
    const turn = ++this.turn;
    this.panels.forEach((panel) => panel.classList.add("waiting"));
    here("progress").value = 0;
    const found = [];
    for (let i = 0; i < DRAWS; i++) {
      const draw = await this.ask(epsilon, this.settings.first + i, turn);
      if (!draw) return;
      found.push(draw);
      this.show(draw, i);
      here("progress").value = i + 1;
    }
    this.tell(found, epsilon);
    for (const other of [NO_NOISE, ...SKETCH]) if (!(await this.ask(other, 0, turn))) return;
  }

  async ask(epsilon, draw, turn) {
    const { method, depth, records } = this.settings;
    const key = this.key();
    const query = new URLSearchParams({ method, depth, records, epsilon, draw, turn, page });
    try {
      const answer = await fetch(`/draw?${query}`, { headers: { "X-Privet-Token": token } });
      const said = await answer.json();
      if (turn !== this.turn || said.stale) return null;
      if (said.error) throw new Error(said.error);
      this.keep(key, epsilon, said.score, draw);
      this.chart();
      return said;
    } catch (error) {
      here("agree").textContent = `${error.message}. Is privet playground still running?`;
      return null;
    }
  }

  keep(key, epsilon, score, draw) {
    const points = this.seen.get(key) || [];
    if (!points.some((own) => own[0] === epsilon && own[2] === draw)) points.push([epsilon, score, draw]);
    this.seen.set(key, points);
  }

  show(draw, i) {
    const panel = this.panels[i];
    const score = facts.score === "accuracy" ? percent(draw.score) : short(draw.score);
    const title = html("h3", {}, `Draw ${i + 1}`, html("span", {}, score));
    panel.classList.remove("waiting");
    if (draw.model.kind === "boosted") panel.replaceChildren(title, termsOf(draw.model));
    else {
      const view = treeOf(draw.model);
      panel.replaceChildren(title, view.draw(), view.hint);
      view.fit(LEAST_ZOOM, false);
    }
  }

  tell(found, epsilon) {
    here("score").dataset.epsilon = epsilon; // what the numbers are of, as long as new ones are on their way
    const scores = found.map((draw) => draw.score);
    const show = facts.score === "accuracy" ? percent : (value) => short(value);
    here("score").textContent = show(scores.reduce((a, b) => a + b, 0) / scores.length);
    const measured = facts.score === "accuracy" ? "Accuracy" : facts.score;
    here("score-name").textContent = `${measured} on ${facts.many} that it has not seen`;
    here("score-range").textContent =
      `${show(Math.min(...scores))} to ${show(Math.max(...scores))} in ${plural(scores.length, "draw")}`;
    here("agree").textContent = agreement(found);
    const rows = found[0].noise.map(([asked, noise]) => html("div", {}, html("dt", {}, asked), html("dd", {}, noise)));
    here("noise-here").replaceChildren(...rows);
  }
}

function verdict(epsilon) {
  if (epsilon <= 0.1) return "strong privacy";
  if (epsilon <= 1) return "usual";
  return epsilon <= 5 ? "little privacy" : "hardly any privacy";
}

function treeOf(model) {
  const view = new TreeView(model.trees[0], facts.schema, () => {});
  view.layout = { column: 13, outline: true };
  return view;
}

function termsOf(model) {
  const terms = new Terms({ schema: facts.schema, model });
  terms.draw(3);
  return terms.figures;
}

// Which question the draws ask first, in a sentence.
function agreement(found) {
  const boosted = found[0].model.kind === "boosted";
  const firsts = found.map(({ model }) => (boosted ? model.terms[0]?.f[0] : model.trees[0].nodes[0].f));
  const counts = new Map();
  for (const f of firsts) counts.set(f, (counts.get(f) || 0) + 1);
  const [most, times] = [...counts].sort((a, b) => b[1] - a[1])[0];
  if (most === undefined)
    return `No draw has learned anything: every record is predicted the same. More ${facts.many} or a larger epsilon help.`;
  const name = facts.schema.features[most].name;
  const does = boosted ? `find ${name} the most telling feature` : `ask for ${name} first`;
  const all = times === found.length ? `All ${times} draws` : `${times} of ${found.length} draws`;
  return `${all} ${does}. The same records and the same settings: what differs is chance alone.`;
}

new PlaygroundPage();

// Puts the drawings into the page's sections.

const facts = JSON.parse(document.getElementById("facts").textContent);
const budget = new Budget(facts);
const place = (id, ...nodes) => document.getElementById(id)?.append(...nodes);

function button(text, act, label) {
  return html("button", { type: "button", onclick: act, "aria-label": label || null }, text);
}

// -- the model ---------------------------------------------------------------------------------------------------

function showTrees() {
  const inspector = new Inspector(facts, budget);
  const holder = html("div", {});
  let view = null;
  const open = (t) => {
    const tree = facts.model.trees[t];
    const act = (number, chosen) => {
      inspector.show(view, number);
      if (chosen) showPath(view.tree.nodes[number].s);
    };
    view = new TreeView(tree, facts.schema, act, budget.spreadAt(tree.nodes.find((node) => !node.k).s));
    holder.replaceChildren(view.draw(), view.hint);
    view.fit(0.8);
    inspector.show(view, 0);
  };
  const pick = html("select", { "aria-label": "Which tree", onchange: () => open(Number(pick.value)) });
  pick.append(
    ...facts.model.trees.map((_, t) => html("option", { value: t }, `Tree ${t + 1} of ${facts.model.trees.length}`)),
  );
  const tools = html(
    "div",
    { class: "tools" },
    facts.model.trees.length > 1 ? pick : null,
    button("−", () => view.zoomTo(view.zoom / 1.25), "Zoom out"),
    button("+", () => view.zoomTo(view.zoom * 1.25), "Zoom in"),
    button("Fit", () => view.fit()),
    button("Unfold all", () => view.foldAll(false)),
    button("Fold all", () => view.foldAll(true)),
  );
  place("model-here", tools, holder, inspector.panel);
  open(0);
  window.addEventListener("beforeprint", () => view.foldAll(false));
  return (paths) => view.walk(paths[facts.model.trees.indexOf(view.tree)] || []);
}

function showTerms() {
  const terms = new Terms(facts);
  const pick = html("select", {
    "aria-label": "Which class",
    onchange: () => {
      terms.output = Number(pick.value);
      terms.draw();
    },
  });
  pick.append(...(facts.schema.classes || []).map((name, k) => html("option", { value: k }, `Score of ${name}`)));
  place(
    "model-here",
    html("div", { class: "tools" }, facts.model.outputs > 1 ? pick : null),
    terms.figures,
    html("div", { class: "tools" }, terms.more),
  );
  terms.draw();
  return () => {};
}

// -- the budget --------------------------------------------------------------------------------------------------

function showPath(scope) {
  const parts = budget.along(scope);
  if (facts.budget.total !== null && parts.length)
    budget.drawPath(parts, "The path to the node that is chosen in the tree");
}

// -- all together ------------------------------------------------------------------------------------------------

place("budget-here", budget.box);
let walk = () => {};
if (facts.model.kind === "boosted") walk = showTerms();
else if (facts.model.kind !== "hidden") walk = showTrees();
if (facts.model.kind !== "hidden") {
  const record = new RecordForm(facts, walk);
  place("record-here", record.form, record.outcome);
  record.answer(false); // a made-up record, until somebody types
}
if (facts.scores)
  place("scores-here", html("div", { class: "tables" }, ...scoreTables(facts)), scoreFigures(facts.scores, facts.schema));
// Printed pages show what screens fold.
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((own) => (own.open = true)));
// For other programs, and for tests: the same walker that the form uses.
window.privet = {
  predict(typed) {
    const walker = new Walker(facts);
    const { values, problems } = walker.read(typed);
    return problems.length ? { problems } : walker.predict(values);
  },
};

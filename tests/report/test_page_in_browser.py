"""The report in a real browser: it agrees with ``predict``, complains of nothing, and everybody can use it."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import browser
from privet import (
    Categorical,
    Numeric,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
    Schema,
)
from privet.algorithms.explained import subject_of
from privet.explain.text import remark_on_counts
from privet.report.page import report_page
from privet.tree.tree import Tree, TreeNode

FEATURES = {
    "age": Numeric(0, 99, integer=True, missing=True),
    "income": Numeric(0, 1e6, log=True),
    "height": Numeric(1.2, 2.2),
    "city": Categorical(["Aachen", "Bonn </script><b>", "Köln\u2028", ""]),
    "member": Categorical([True, False], other=False),
    "grade": Categorical([1, 2, 3]),
}
CLASSES = Schema(FEATURES, classes=[2, 0, 1], label="risk")  # predictions order them by name, the schema does not
TARGET = Schema(FEATURES, target=(-5, 20), label="cost")
N = 4000


def table(rng, n):
    def some(values, weights):
        return rng.choice(len(values), size=n, p=weights)

    age = rng.integers(-10, 120, n).astype(float)
    age[rng.random(n) < 0.1] = np.nan
    cities = np.array([*FEATURES["city"].values, "Ulm", None], dtype=object)
    return {
        "age": [None if np.isnan(own) else own for own in age],
        "income": np.expm1(rng.random(n) * 14).tolist(),
        "height": rng.uniform(1.1, 2.3, n).tolist(),
        "city": cities[some(cities, [0.3, 0.2, 0.2, 0.1, 0.1, 0.1])].tolist(),
        "member": (rng.random(n) < 0.4).tolist(),
        "grade": rng.integers(1, 5, n).tolist(),
    }


def fitted(model):
    rng = np.random.default_rng(5)
    columns = table(rng, N)
    signal = np.array([0 if own is None else own for own in columns["age"]]) / 40 + np.array(columns["member"])
    signal = signal + rng.normal(0, 0.3, N)
    y = np.digitize(signal, [1.0, 2.0]) if model.schema.classes else signal * 4
    return model.fit(pa.table(columns), y, holdout=0.25)


MODELS = {
    "tree": lambda: PrivateTreeClassifier(CLASSES, epsilon=5, max_depth=6, leaves="counts"),
    "labels": lambda: PrivateTreeClassifier(CLASSES, epsilon=1, max_depth=3),
    "forest": lambda: PrivateForestClassifier(CLASSES, epsilon=8, method="trees", n_trees=4),
    "boosted": lambda: PrivateForestClassifier(CLASSES, epsilon=5, delta=1e-6, method="boosting"),
    "numbers": lambda: PrivateTreeRegressor(TARGET, epsilon=2),
    "several": lambda: PrivateForestRegressor(TARGET, epsilon=4, method="trees", n_trees=3),
    "boosted numbers": lambda: PrivateForestRegressor(TARGET, epsilon=3, method="boosting"),
}


@pytest.fixture(scope="module")
def chromium():
    with browser.browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Every kind of model, with the address of its page."""
    folder = tmp_path_factory.mktemp("reports")
    found = {}
    for name, make in MODELS.items():
        model = fitted(make())
        path = folder / f"{name.replace(' ', '-')}.html"
        path.write_text(report_page(subject_of(model)), encoding="utf-8")
        found[name] = model, path.as_uri()
    return found


@pytest.mark.parametrize("name", MODELS)
def test_the_walker_agrees_with_predict_on_500_records(reports, chromium, name):
    model, url = reports[name]
    columns = table(np.random.default_rng(11), 500)
    wanted = model.predict(pa.table(columns))
    records = [dict(zip(columns, values)) for values in zip(*columns.values())]
    typed = [{k: str(v) if k != "age" else v for k, v in own.items() if v is not None} for own in records]
    with browser.page_of(chromium, url) as page:
        said = page.evaluate("records => records.map((own) => window.privet.predict(own).answer)", typed)
        if model.schema_.classes is None:
            np.testing.assert_allclose(said, wanted, rtol=0, atol=1e-12)
        else:
            assert said == [str(own) for own in wanted]
            chances = page.evaluate("records => records.map((own) => window.privet.predict(own).chances)", typed)
            if chances[0] is not None:
                order = [model.classes_.tolist().index(own) for own in model.schema_.classes]
                np.testing.assert_allclose(chances, model.predict_proba(pa.table(columns))[:, order], atol=1e-12)


@pytest.mark.parametrize(("name", "scheme"), [("tree", "light"), ("boosted", "dark")])
def test_nobody_is_shut_out_of_a_report(reports, chromium, name, scheme):
    with browser.page_of(chromium, reports[name][1], color_scheme=scheme) as page:
        assert browser.serious_issues(page) == []
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, paper[4:-1].split(", "))) < 200) == (scheme == "dark")


@pytest.mark.parametrize("name", ["tree", "boosted"])
def test_a_report_fits_a_phone(reports, chromium, name):
    with browser.page_of(chromium, reports[name][1], viewport=browser.PHONE) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= browser.PHONE["width"]
        assert page.locator("h1").is_visible()


INSIDE = """(selector) => {
    const window_ = document.querySelector(".tree-window").getBoundingClientRect();
    return [...document.querySelectorAll(selector)].every((own) => {
        const box = own.getBoundingClientRect();
        return box.bottom <= window_.bottom && box.right <= window_.right + 1;
    });
}"""


@pytest.mark.parametrize("viewport", [{"width": 1200, "height": 800}, browser.PHONE])
def test_a_tree_is_whole_when_it_opens_or_says_what_is_out_of_sight(reports, chromium, viewport):
    with browser.page_of(chromium, reports["tree"][1], viewport=viewport) as page:
        shown, nodes = page.locator("[role=treeitem]").count(), len(reports["tree"][0].tree_.nodes)
        assert page.evaluate(INSIDE, ".tree-window .card") or "goes on" in page.locator(".more").inner_text()
        assert page.evaluate("() => document.querySelector('.tree-window').scrollTop") == 0
        window = page.locator(".tree-window")
        assert window.evaluate("(own) => own.scrollHeight - own.clientHeight") <= 16
        if shown < nodes:
            assert page.locator(".more").inner_text().startswith(f"{shown} of {nodes} nodes are shown")
        page.get_by_role("button", name="Unfold all").click()
        for _ in range(4):
            page.get_by_role("button", name="Zoom in").click()
        assert "The tree goes on below" in page.locator(".more").inner_text()
        window.evaluate("(own) => own.scrollTo(own.scrollWidth, own.scrollHeight)")
        page.locator(".more").wait_for(state="hidden")


@pytest.mark.parametrize("viewport", [browser.DESK, browser.PHONE])
def test_the_bar_of_the_promise_is_legible_below_its_answer(reports, chromium, viewport):
    with browser.page_of(chromium, reports["labels"][1], viewport=viewport) as page:
        bar, words = page.locator(".meter rect.track").bounding_box(), page.locator(".meter text")
        assert float(words.evaluate("(own) => getComputedStyle(own).fontSize")[:-2]) >= 11
        assert words.bounding_box()["height"] >= 11  # a picture that is shrunk has smaller letters than it says
        assert words.text_content() == "73.2 of 100 guesses right, at most"
        box, end = words.bounding_box(), bar["x"] + 0.462 * bar["width"]
        assert box["x"] - 2 <= end <= box["x"] + box["width"] + 2
        assert bar["x"] - 2 <= box["x"]
        assert box["x"] + box["width"] <= bar["x"] + bar["width"] + 2


def test_a_number_has_one_form_on_a_page(reports, chromium):
    model, url = reports["labels"]
    size = model.evaluation_.size
    right = model.evaluation_.accuracy.outward(3)
    with browser.page_of(chromium, url) as page:
        for place in ("#summary", "#scores"):
            said = page.locator(place).inner_text()
            assert f"{size.low:,.0f} to {size.high:,.0f}" in said
            assert f"{right.low:.1%} to {right.high:.1%}" in said
        assert f"{right.value:.4g}" not in page.locator("#scores").inner_text()


def test_no_name_runs_out_of_its_heat_map(reports, chromium):
    with browser.page_of(chromium, reports["boosted"][1]) as page:
        page.get_by_role("button", name="Show all").click()
        outside = """() => [...document.querySelectorAll("#model figure svg")].flatMap((picture) => {
            const edge = picture.getBoundingClientRect();
            return [...picture.querySelectorAll("text")].filter((own) => {
                const box = own.getBoundingClientRect();
                return picture.querySelector(".hatch") && (box.right > edge.right + 1 || box.left < edge.left - 1);
            }).map((own) => own.textContent);
        })"""
        assert page.locator("#model .hatch").count()
        assert page.evaluate(outside) == []


def test_technical_names_are_folded(reports, chromium):
    with browser.page_of(chromium, reports["tree"][1]) as page:
        said = page.locator("main").inner_text()
        assert not any(word in said for word in ("mixed(", "tally(", "noise scale", "permute"))
        page.locator("#budget summary").first.click()
        assert "noise scale" in page.locator("main").inner_text()


def test_counts_that_contradict_the_label_are_told_in_the_words_of_the_rules(reports, chromium, tmp_path):
    subject = subject_of(reports["tree"][0])
    leaf = TreeNode(label=1, counts=(90, -2, 4), scope="/fit0:0")
    path = tmp_path / "leaf.html"
    path.write_text(report_page(replace(subject, released=Tree(CLASSES, (leaf,)))), encoding="utf-8")
    with browser.page_of(chromium, path.as_uri()) as page:
        page.locator("[role=treeitem]").first.click()
        said = page.locator(".inspector").inner_text()
    remark = remark_on_counts(leaf, ["risk = 2", "risk = 0", "risk = 1"])
    assert remark.startswith("what is below 0 is taken as none; largest for risk = 2")
    assert f"Noisy counts: risk = 2: 90, risk = 0: -2, risk = 1: 4; {remark}." in said


def test_a_tree_is_walked_and_folded_by_keys_alone(reports, chromium):
    with browser.page_of(chromium, reports["tree"][1]) as page:
        page.locator("[role=treeitem]").first.focus()
        chosen = page.locator("[role=treeitem][aria-selected=true]")
        before = page.locator("[role=treeitem]").count()
        page.keyboard.press("ArrowLeft")
        assert chosen.get_attribute("aria-expanded") == "false"
        assert page.locator("[role=treeitem]").count() == 1 < before
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert chosen.get_attribute("aria-level") == "2"
        assert page.evaluate("document.activeElement.getAttribute('aria-level')") == "2"
        assert page.locator(".inspector li").count() == 1
        page.keyboard.press("End")
        assert "path to the node" in page.locator("#budget").inner_text()


def test_a_typed_record_shows_its_path_and_its_reasons(reports, chromium):
    model, url = reports["tree"]
    with browser.page_of(chromium, url) as page:
        form = page.locator("#record form")
        form.get_by_label("age").fill("30")
        form.get_by_label("height").fill("1.7")
        form.get_by_label("income").fill("0")
        page.keyboard.press("Enter")
        shown = page.locator(".outcome").inner_text()
        record = {"age": 30.0, "income": 0.0, "height": 1.7, "city": "Aachen", "member": True, "grade": 1}
        wanted = model.predict(pa.table({name: [value] for name, value in record.items()}))[0]
        assert f"risk = {wanted}" in shown
        assert page.locator(".node.walked").count() == page.locator(".outcome .path li").count() + 1
        assert page.locator(".outcome svg").count() == 1
        form.get_by_label("height").fill("")
        form.get_by_label("height").blur()
        assert "height: give a number" in page.locator(".outcome").inner_text()


def test_a_report_runs_nothing_that_a_schema_says(chromium, tmp_path):
    evil = "</script><script>window.stolen=1</script><img src=x onerror=window.stolen=1>{{facts}}"
    schema = Schema({evil: Numeric(0, 1)}, classes=["no", evil], label=f"label {evil}")
    model = PrivateTreeClassifier(schema, epsilon=1, leaves="counts")
    model.fit(np.linspace(0, 1, 200)[:, None], ["no", evil] * 100)
    (tmp_path / "evil.html").write_text(report_page(subject_of(model)), encoding="utf-8")
    with browser.page_of(chromium, (tmp_path / "evil.html").as_uri()) as page:
        assert page.evaluate("window.stolen") is None
        assert evil in page.locator("h1").inner_text()
        assert json.loads(page.locator("#facts").text_content())["schema"]["label"] == f"label {evil}"


@pytest.mark.parametrize("name", ["tree", "boosted"])
def test_a_report_prints_without_its_controls(reports, chromium, name):
    with browser.page_of(chromium, reports[name][1]) as page:
        page.emulate_media(media="print")
        assert not page.locator("nav").is_visible()
        assert not page.locator("#record").is_visible()  # a form that nobody can fill in, with a made-up record
        assert page.locator(".answers").is_visible()
        assert 20_000 < len(page.pdf(format="A4")) < 2_000_000

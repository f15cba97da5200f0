"""A model is what its receipt pays for and what its class and parameters say, whoever wrote the file.

Each forgery here adds up and has the digest of its own model: what it says of the model itself gives it away.
"""

import hashlib
import json
import math
import re
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from privet import (
    HiddenForestClassifier,
    Numeric,
    PrivateForestClassifier,
    PrivateForestRegressor,
    PrivateSearch,
    PrivateTreeClassifier,
    ReceiptError,
    Schema,
)
from privet.algorithms.model_file import from_dict, to_dict
from privet.algorithms.registry import make
from privet.algorithms.verification import stated_of
from privet.cli import app
from privet.explain.coverage import digest
from privet.privacy.event import add_up
from privet.privacy.receipt import Receipt

rng = np.random.default_rng(0)
X = rng.uniform(size=(3000, 2))
Y = np.where(X[:, 0] + 0.2 * X[:, 1] > 0.6, "yes", "no")
CLASSES = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, classes=["no", "yes"])
TARGET = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}, target=(0, 1))
SMALL = PrivateTreeClassifier(max_depth=1)


def fitted(name, **params):
    schema, y = (TARGET, X[:, 0]) if name.endswith("Regressor") else (CLASSES, Y)
    return make(name, schema=schema, **{"epsilon": 20} | params).fit(X, y)


def plain_of(model, **changed):
    return json.loads(json.dumps(to_dict(model) | changed))


def resealed(plain):
    """The model of a file whose receipt says again what its events add up to, and holds the model's digest."""
    model = from_dict(plain | {"receipt": plain["receipt"] | {"epsilon": "infinity", "void": ["not added up yet"]}})
    total = str(add_up(model.privacy_.events))
    scored = plain.get("evaluation")
    released = digest(getattr(model, model._released), scored, plain.get("chosen"))
    model.privacy_ = Receipt.from_dict(
        plain["receipt"] | {"spent": total, "epsilon": total, "released": released, "void": []}
    )
    assert model.privacy_.verify()
    return model


def written_again(model, pattern, instead):
    """The same model with every scope of it, and of its receipt, written differently."""
    return resealed(json.loads(re.sub(pattern, instead, json.dumps(to_dict(model)))))


# -- secret runs -----------------------------------------------------------------------------------------------------


def search(method="random_stopping", holdout=None):
    found = PrivateSearch(CLASSES, candidates=[SMALL], epsilon=5, method=method)
    if method == "random_stopping":
        found.set_params(expected_runs=2)
    return found.fit(X, Y, holdout=holdout)


def chain(depth, scope="/fit0:0"):
    """A tree that somebody wrote by hand, as a file has it."""
    nodes = []
    for level in range(depth):
        here = len(nodes)
        cut = round((level + 1) / (depth + 1), 6)
        nodes.append({"feature": "a", "cuts": [cut], "part": [0, 1], "children": [here + 1, here + 2], "scope": scope})
        nodes.append({"label": level % 2, "counts": [1000 + level, level], "scope": f"{scope}/split0:0"})
        scope += "/split0:1"
    return {"nodes": [*nodes, {"label": 0, "counts": [5, 6], "scope": scope}]}


RUN = {
    "scope": "/fit0:0",
    "question": "best of a secret number of runs",
    "mechanism": "random_stopping",
    "sensitivity": "3",
    "scale": math.nextafter(3 / 5, math.inf),
    "charged": "5",
    "lemma": "random_stopping",
    "delta": "0",
    "drawn": "",
}


def of_secret_runs(depth=1, scope="/fit0:0", others=(), **said):
    """A tree by hand beside a receipt of one event, as a search's winner has it."""
    plain = plain_of(search().best_estimator_, tree=chain(depth, scope), **said)
    plain["receipt"]["events"] = [RUN, *others]
    return plain


@pytest.mark.parametrize("holdout", [None, 0.2])
def test_the_winner_of_secret_runs_is_verified_with_what_it_was_chosen_among(holdout):
    found = search(holdout=holdout)
    assert found.verify()
    assert from_dict(plain_of(found.best_estimator_)).verify()


def test_an_event_of_secret_runs_pays_for_no_model_that_no_search_chose():
    plain = of_secret_runs(depth=40)
    del plain["chosen"]
    with pytest.raises(ReceiptError, match="does not say what it chose among"):
        resealed(plain).verify()


def test_a_winner_is_no_deeper_than_its_parameters_say():
    assert resealed(of_secret_runs(depth=1)).verify()  # this no check can see
    with pytest.raises(ReceiptError, match="deeper than its max_depth, which is 1"):
        resealed(of_secret_runs(depth=40)).verify()


@pytest.mark.parametrize("scope", ["/fit1:0", "/fit0:1", ""])
def test_secret_runs_pay_for_nothing_outside_of_their_scope(scope):
    with pytest.raises(ReceiptError, match="paid for"):
        resealed(of_secret_runs(scope=scope)).verify()


def test_boosted_rounds_are_inside_the_scope_of_their_secret_runs():
    plain = plain_of(fitted("PrivateForestClassifier", method="boosting"))
    plain["chosen"] = {"candidates": ["PrivateForestClassifier()"], "winner": 0}
    plain["receipt"]["events"] = [RUN]
    assert resealed(plain).verify()
    with pytest.raises(ReceiptError, match="paid for a round"):
        written_again(resealed(plain), '"scope": "/fit0:0", "paid"', '"scope": "/fit1:0", "paid"').verify()


@pytest.mark.parametrize("scope", ["", "/fit0:0", "/fit0:0/parts0:0", "/fit1:0"])
def test_beside_secret_runs_nothing_else_teaches(scope):
    tally = {"question": "tally", "mechanism": "geometric", "sensitivity": "1", "scale": 1.0, "lemma": "tally(1)"}
    for other in (RUN, RUN | tally | {"charged": "1"}):
        plain = of_secret_runs(others=[other | {"scope": scope}])
        plain["params"]["epsilon"], plain["receipt"]["claimed"] = 10, "10"
        with pytest.raises(ReceiptError, match="nothing else is asked"):
            resealed(plain).verify()


@pytest.mark.parametrize("method", ["trials", "random_stopping"])
def test_what_a_winner_was_chosen_among_is_in_its_digest(method):
    plain = plain_of(search(method).best_estimator_)
    assert from_dict(plain).verify()
    for other in ({"candidates": ["PrivateTreeClassifier(max_depth=9)"], "winner": 0}, None):
        changed = {name: value for name, value in plain.items() if name != "chosen"}
        with pytest.raises(ReceiptError, match=r"another model|does not say what it chose among"):
            from_dict(changed | ({} if other is None else {"chosen": other})).verify()


def test_a_model_that_no_search_chose_is_not_said_to_be_chosen():
    plain = plain_of(fitted("PrivateTreeClassifier"))
    plain["chosen"] = {"candidates": ["PrivateTreeClassifier()", "PrivateForestClassifier()"], "winner": 0}
    with pytest.raises(ReceiptError, match="Take 'chosen' out of the file"):
        from_dict(plain).verify()


def test_a_model_without_a_search_has_the_digest_that_it_always_had():
    tree = fitted("PrivateTreeClassifier").tree_
    plain = {"released": tree.to_dict(), "schema": CLASSES.to_dict()}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    assert digest(tree) == hashlib.sha256(text.encode()).hexdigest()


def test_verify_says_that_secret_runs_were_not_looked_into(tmp_path):
    for method, said in (("random_stopping", True), ("trials", False)):
        search(method).save(tmp_path / f"{method}.json")
        verified = CliRunner().invoke(app, ["verify", str(tmp_path / f"{method}.json")])
        assert verified.exit_code == 0, verified.output
        assert ("was not looked into" in verified.stdout) == said
        as_json = json.loads(CliRunner().invoke(app, ["verify", str(tmp_path / f"{method}.json"), "--json"]).stdout)
        assert ("was not looked into" in as_json["not_looked_into"]) == said


# -- the class and the parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "params", "smaller"),
    [
        ("PrivateTreeClassifier", {"max_depth": 3}, {"max_depth": 1}),
        ("HistogramTreeRegressor", {"max_depth": 2}, {"max_depth": 1}),
        ("PrivateForestClassifier", {"method": "trees", "n_trees": 3}, {"n_trees": 2}),
        ("DPERTClassifier", {"n_trees": 2, "max_depth": 2}, {"max_depth": 1}),
        ("DPRFRegressor", {"n_trees": 3, "max_depth": 1}, {"n_trees": 2}),
    ],
)
def test_a_model_is_as_large_as_its_parameters_allow(name, params, smaller):
    plain = plain_of(fitted(name, epsilon=200, **params))
    assert from_dict(plain).verify()
    plain["params"] |= smaller
    with pytest.raises(ReceiptError, match=f"its {next(iter(smaller))}"):
        from_dict(plain).verify()


def test_rounds_of_boosting_are_not_said_to_be_of_parts_of_the_records():
    """Each at parts of its own, many rounds would cost what one does."""
    plain = plain_of(fitted("PrivateForestClassifier", method="boosting", epsilon=5))
    events = plain["receipt"]["events"]
    for question in ("choose a split", "tally"):
        own = (event for event in events if event["question"] == question and event["lemma"] != "tally(1)")
        for k, event in enumerate(own):
            event["scope"] += f"/parts0:{k}"
    for k, one in enumerate(plain["forest"]["rounds"]):
        one["scope"], one["paid"] = f"{one['scope']}/parts0:{k}", 0
    forged = resealed(plain)
    assert forged.privacy_.spent < 1
    with pytest.raises(ReceiptError, match="different records"):
        forged.verify()


def test_a_calibration_is_of_the_records_of_its_rounds():
    plain = plain_of(fitted("PrivateForestRegressor", method="boosting", epsilon=5))
    events, lifted = plain["receipt"]["events"], plain["forest"]["calibration"]
    start = next(event for event in events if event["question"] == "quantile of the target")
    last = [event for event in events if event["lemma"].startswith("residual_tally")][-1]
    for own in (start, last, lifted):
        own["scope"] = "/fit0:0/parts0:1"
    for own in (*events, *plain["forest"]["rounds"]):
        own["scope"] = "/fit0:0/parts0:0" if own["scope"] == "/fit0:0" else own["scope"]
    with pytest.raises(ReceiptError, match="different records"):
        resealed(plain).verify()


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("DPRFClassifier", {"n_trees": 3}),
        ("DPERTRegressor", {"n_trees": 3}),
        ("DPDFClassifier", {"n_trees": 3}),
        ("PrivateForestRegressor", {"method": "trees", "n_trees": 3}),
        ("DiPriMeForestClassifier", {"n_trees": 3, "partition": False}),
    ],
)
def test_trees_of_copies_are_not_said_to_be_of_parts(name, params):
    model = fitted(name, **params)
    assert model.verify()
    forged = written_again(model, r"/copy(\d+):0", r"/parts0:\1")
    assert forged.privacy_.spent < model.privacy_.spent
    with pytest.raises(ReceiptError, match="different records"):
        forged.verify()


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("PrivateForestClassifier", {"method": "boosting"}),
        ("PrivateForestRegressor", {"method": "boosting"}),
        ("PrivateTreeClassifier", {}),
        ("PrivateForestClassifier", {"method": "trees", "n_trees": 3}),
        ("DPRFClassifier", {"n_trees": 3}),
        ("HiddenForestClassifier", {"n_trees": 3, "sampling": "parts"}),
    ],
)
def test_no_model_is_said_to_be_of_a_sample_that_its_class_does_not_draw(name, params):
    """Answers on a sample cost less, the rarer a record is in it: next to nothing, if anybody may say so."""
    model = fitted(name, **params)
    forged = written_again(model, "/fit0:0", "/fit0:0/sample0:1000000000")
    assert forged.privacy_.spent < 1
    with pytest.raises(ReceiptError, match="of a sample"):
        forged.verify()


def test_samples_are_as_rare_as_there_are_trees():
    model = fitted("HiddenForestClassifier", n_trees=3, sampling="poisson")
    assert model.verify()
    with pytest.raises(ReceiptError, match="of a sample"):
        written_again(model, r"/sample(\d):3", r"/sample\1:1000000000").verify()


def test_labels_of_leaves_are_not_said_to_be_of_samples_of_them():
    plain = plain_of(fitted("HistogramTreeClassifier", leaves="labels", max_depth=1, epsilon=50))
    assert from_dict(plain).verify()
    for event in plain["receipt"]["events"]:
        event["scope"] += "/sample0:1000000000" if event["question"] == "choose a label" else ""
    with pytest.raises(ReceiptError, match="paid for the label"):
        resealed(plain).verify()


@pytest.mark.parametrize("scope", ["split0:0", "split0:0/split0:0", "/", "//", "/split0:0" * 300_000 + "/copy0:0"])
def test_a_strangers_scope_is_refused_in_no_more_time_than_its_letters_take(scope):
    plain = plain_of(fitted("PrivateTreeClassifier"))
    plain["tree"]["nodes"] = [{"label": 0, "scope": scope}]
    began = time.monotonic()
    with pytest.raises(ReceiptError, match="paid for"):
        resealed(plain).verify()
    assert time.monotonic() - began < 10


def test_what_is_stated_follows_from_class_and_parameters():
    assert stated_of(PrivateTreeClassifier(max_depth=2)).max_depth == 2
    assert stated_of(PrivateForestClassifier(n_trees=3)).opens == {"parts"}
    assert stated_of(PrivateForestRegressor()).opens == {"copies"}
    assert stated_of(HiddenForestClassifier(structure="random", sampling="poisson")).opens == {"samples"}
    assert stated_of(HiddenForestClassifier(structure="random")).drawn

"""What a report says can be read by programs, and run again.

Bounds that are counted have a confidence of 1 - 1e-8 in each test; computed ones are facts.
"""

import contextlib
import io
import json

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from privet import Categorical, PrivateTreeClassifier, Schema
from privet.audit import Pair, audit

SURE = 1 - 1e-8


def out_of(code):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return out.getvalue().strip()


def test_a_report_is_json_with_code_that_runs(search_only):
    report = audit(PrivateTreeClassifier(epsilon=1.0, max_depth=1), minutes=10, most_pairs=2, confidence=SURE, n_jobs=1)
    told = json.loads(report.to_json())
    assert told["tried"] == report.tried
    assert told["violated"] is False
    compile(told["code"], "report", "exec")
    assert "no violation found" in str(report)


def test_code_shows_the_computed_bound_again(search_only):
    model = PrivateTreeClassifier(epsilon=1.0, max_depth=1)
    report = audit(model, epsilon=0.5, minutes=10, most_pairs=4, n_jobs=1, confidence=SURE)
    for finding in report.findings[:2]:
        assert out_of(finding.code()) == str(finding.bound)


def test_code_shows_a_counted_violation_again():
    pair = Pair((np.zeros((3, 1)), [0, 1, 1]), (np.zeros((2, 1)), [0, 1]))
    report = audit(DecisionTreeClassifier(), pairs=[pair], epsilon=0.1, minutes=1, n_jobs=1, confidence=SURE)
    assert report.violated
    assert "MORE THAN 0.1 promised" in out_of(report.findings[0].code())


def test_code_has_the_estimators_own_schema(search_only):
    schema = Schema({"s": Categorical(["a", "b"])}, classes=["n", "y"])
    X = np.array([["a"], ["b"]], dtype=object)
    pair = Pair((X, ["n", "y"]), (X[1:], ["y"]))
    report = audit(
        PrivateTreeClassifier(schema, epsilon=1, max_depth=1), pairs=[pair], minutes=10, n_jobs=1, confidence=SURE
    )
    exact = [finding for finding in report.findings if finding.bound.engine == "exact"]
    assert out_of(exact[0].code()) == str(exact[0].bound)

"""What --set says, and what is shown of models."""

import pytest

from privet import Numeric, PrivateForestClassifier, PrivateTreeClassifier, Schema
from privet.algorithms.registry import MODELS
from privet.cli.models import settings, show, summary
from privet.errors import PrivetError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=3", 3),
        ("a=0.5", 0.5),
        ("a=True", True),
        ("a=none", None),
        ("a=1/3", "1/3"),
        ("a=x=y", "x=y"),
        ("a=", ""),
        ("a=[1]", "[1]"),
        ('a={"b": 1}', '{"b": 1}'),
        ('a="text"', '"text"'),
        (" a = 3 ", 3),
    ],
)
def test_numbers_and_the_like_are_read_as_such_and_all_else_is_text(text, value):
    assert settings([text]) == {"a": value}
    assert type(settings([text])["a"]) is type(value)


def test_dashes_are_underscores():
    assert settings(["max-depth=3"]) == {"max_depth": 3}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["depth"], "takes name=value"),
        (["=3"], "takes name=value"),
        (["a b=3"], "takes name=value"),
        (["a=1", "a=2"], "gives a twice"),
        (["max-depth=1", "max_depth=2"], "gives max_depth twice"),
        (["epsilon=1"], "has the option --epsilon"),
        (["random_state=1"], "has the option --seed"),
        (["schema=x"], "has the option --schema"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given, message):
    with pytest.raises(PrivetError, match=message):
        settings(given)


def test_every_model_is_listed_with_a_line_about_it(capsys):
    show(None)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(MODELS)
    assert all(len(line.split()) > 3 for line in lines)


def test_one_model_is_explained_with_what_can_be_set(capsys):
    show("PrivateTreeClassifier")
    said = capsys.readouterr().out
    assert "max_depth=" in said
    for elsewhere in ("schema=", "epsilon=", "random_state="):
        assert elsewhere not in said.partition("For --set")[2]
    with pytest.raises(PrivetError, match="there is no model Oak"):
        show("Oak")


def test_a_summary_counts_what_was_grown():
    schema = Schema({"a": Numeric(0, 1)}, classes=["no", "yes"])
    X, y = [[0.1], [0.9]] * 50, ["no", "yes"] * 50
    tree = PrivateTreeClassifier(schema, epsilon=1000.0, max_depth=1).fit(X, y)
    assert summary(tree) == "PrivateTreeClassifier: depth 1, 2 leaves"
    leaf = PrivateTreeClassifier(schema, epsilon=1000.0, max_depth=1).fit(X, ["no"] * 100)
    assert summary(leaf).startswith("PrivateTreeClassifier: depth ")
    forest = PrivateForestClassifier(schema, epsilon=10.0).fit(X, y)
    assert summary(forest).startswith("PrivateForestClassifier: 1 tree, depth ")

"""``privet audit``: the table, the numbers for other programs, the time it takes and how it ends."""

from __future__ import annotations

import json
import sys

import pytest
from typer.testing import CliRunner

from claims_by_key import claim
from privet.algorithms.registry import MODELS, model_class
from privet.audit import auditor
from privet.audit import claims as registry
from privet.cli import app
from privet.cli.audit import estimators

FEW = tuple(map(claim, ("hidden-leaves-only", "hidden-sampling", "topdown-maximum")))


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVET_KERNELS", "numpy")
    monkeypatch.setattr(registry, "CLAIMS", FEW)


def run(*args):
    result = CliRunner().invoke(app, ["audit", *map(str, args)], env={"NO_COLOR": "1", "TERM": "dumb"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def few_pairs(monkeypatch):
    """Audits end after so many pairs, however fast the machine is; real fits on the worst of them are left out."""
    whole = auditor.audit
    monkeypatch.setattr(auditor, "audit", lambda *args, **kwargs: whole(*args, most_pairs=2, n_jobs=1, **kwargs))
    monkeypatch.setattr(auditor, "_confirmed", lambda *_: ([], ""))


def test_the_table_says_what_is_claimed_proven_and_found():
    result = run("--claims")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["paper", "variant", "claim", "proven", "bound", "found", "engine", "verdict"]
    assert lines[1].split()[-5:] == ["0.1", "inf", "8.902", "exact", "caught"]
    assert len(lines) == 1 + len(FEW)


def test_claims_for_other_programs():
    data = json.loads(run("--claims", "--json").stdout)
    assert [entry["verdict"] for entry in data["claims"]] == ["caught"] * 3
    assert data["claims"][0]["proven"] == "infinity"


def test_claims_of_one_paper():
    data = json.loads(run("--claims", "--paper", "dp-topdown", "--json").stdout)
    assert [entry["key"] for entry in data["claims"]] == ["topdown-maximum"]


def test_a_claim_that_turns_out_otherwise_ends_with_1(monkeypatch):
    from dataclasses import replace

    monkeypatch.setattr(registry, "CLAIMS", (replace(FEW[0], proven=1.0),))
    result = run("--claims")
    assert result.exit_code == 1
    assert "BROKEN" in result.stdout


def test_a_plot_is_drawn_and_not_over_another_file(tmp_path):
    assert run("--claims", "--plot", "claims.png").exit_code == 0
    assert (tmp_path / "claims.png").read_bytes().startswith(b"\x89PNG")
    assert run("--claims", "--plot", "claims.png").exit_code == 2
    assert run("--claims", "--plot", "claims.svg").exit_code == 0


def test_without_matplotlib_nothing_is_computed(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("--claims", "--plot", "claims.png")
    assert result.exit_code == 2
    assert "pip install 'privet[report]'" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--claims", "--estimator", "PrivateTreeClassifier"),
        ("--claims", "--epsilon", "1"),
        ("--claims", "--paper", "nobody"),
        ("--claims", "--paper", "diffprivlib"),
        ("--claims", "--plot", "claims.txt"),
        ("--estimator", "PrivateTreeClassifier"),
        ("--estimator", "PrivateTreeClassifier", "--epsilon", "0"),
        ("--estimator", "PrivateTreeClassifier", "--epsilon", "1", "--minutes", "0"),
        ("--estimator", "PrivateTreeClassifier", "--epsilon", "1", "--confidence", "1"),
        ("--estimator", "PrivateTreeClassifier", "--epsilon", "1", "--paper", "DiPriMe"),
        ("--estimator", "NoSuchTree", "--epsilon", "1"),
        ("--estimator", "no.such.module:Tree", "--epsilon", "1"),
        ("--estimator", "privet:NoSuchTree", "--epsilon", "1"),
        ("--estimator", ":Tree", "--epsilon", "1"),
        ("--estimator", "privet:", "--epsilon", "1"),
        ("--estimator", "..val:V", "--epsilon", "1"),
        ("--estimator", "PrivateTreeClassifier", "--epsilon", "1", "--delta", "2"),
        ("--claims", "--delta", "0.1"),
        ("--claims", "--set", "max_depth=1"),
        ("--estimator", "PrivateTreeClassifier", "--epsilon", "1", "--set", "no_such=1"),
        ("--estimator", "PrivateTreeClassifier", "--epsilon", "1", "--set", "max_depth=deep"),
        ("--estimator", "PrivateTreeClassifier-counts", "--epsilon", "1", "--set", "max_depth=1"),
        ("--estimator", "all", "--epsilon", "1", "--set", "max_depth=1"),
    ],
)
def test_wrong_use_ends_with_2_and_an_explanation(args):
    result = run(*args)
    assert result.exit_code == 2
    assert result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("name", ["PrivateTreeClassifier", "PrivateTreeClassifier-counts"])
@pytest.mark.usefixtures("few_pairs")
def test_a_sound_estimator_survives(name):
    result = run("--estimator", name, "--epsilon", "1", "--delta", "0", "--minutes", "10", "--json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert not data["violated"]
    assert data["estimators"][name]["worst"]["epsilon"] <= 1 + 1e-9


STRANGERS = """
class Raises:
    def __init__(self, epsilon): raise ValueError("no")

class NeedsMore:
    def __init__(self, epsilon, more): pass

class Typo:
    def __init__(self, epsilon): self.x.y

Number = 3
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("strangers:Raises", "Raises cannot be made with epsilon=1: it raises ValueError"),
        ("strangers:Typo", "Typo cannot be made with epsilon=1: it raises AttributeError"),
        ("strangers:NeedsMore", "NeedsMore cannot be made with epsilon alone"),
        ("strangers:Number", "strangers has no class Number"),
        ("strangers:Nobody", "strangers has no class Nobody"),
        ("halfway:Tree", "halfway cannot be imported: SyntaxError in line 2"),
        ("needy:Tree", "needy cannot be imported; it needs no_such_module, which is not there"),
        ("angry:Tree", "angry cannot be imported: it raises ZeroDivisionError"),
    ],
)
def test_what_is_wrong_with_a_strangers_class_is_one_line(name, words, tmp_path, monkeypatch):
    (tmp_path / "strangers.py").write_text(STRANGERS)
    (tmp_path / "halfway.py").write_text("\ndef (")
    (tmp_path / "needy.py").write_text("import no_such_module")
    (tmp_path / "angry.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "strangers", raising=False)
    result = run("--estimator", name, "--epsilon", "1")
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
    assert len(result.stderr.strip().splitlines()) == 1


def test_an_attack_that_fails_does_not_end_the_table(monkeypatch):
    from dataclasses import replace

    monkeypatch.setattr(registry, "CLAIMS", (replace(FEW[0], key="bad", witness=lambda: 1 / 0), *FEW[1:]))
    result = run("--claims")
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == len(FEW)
    assert "the attack on bad failed: ZeroDivisionError" in result.stderr


CARELESS = """
from privet import PrivateTreeClassifier


class Careless(PrivateTreeClassifier):
    def _limit(self, budget):
        return 4 * budget

    def _grow(self, curator, start, budget):
        return super()._grow(curator, start, 4 * budget)
"""


@pytest.mark.usefixtures("few_pairs")
def test_a_violation_ends_with_1_and_says_how_to_see_it_again(tmp_path, monkeypatch):
    (tmp_path / "careless.py").write_text(CARELESS)
    monkeypatch.syspath_prepend(str(tmp_path))
    result = run("--estimator", "careless:Careless", "--epsilon", "1", "--minutes", "10")
    assert result.exit_code == 1
    assert "VIOLATED" in result.stdout
    assert "Pair.from_json" in result.stdout


def test_parameters_are_set_by_name():
    chosen = estimators("PrivateTreeClassifier", 0.5, ["max_depth=2", "leaves=counts"])
    assert list(chosen) == ["PrivateTreeClassifier max_depth=2 leaves=counts"]
    params = next(iter(chosen.values())).get_params()
    assert (params["epsilon"], params["max_depth"], params["leaves"]) == (0.5, 2, "counts")


def test_every_registered_classifier_is_audited():
    ours = estimators("all", 0.5)
    classifiers = {name for name in MODELS if model_class(name)._task == "classification"}
    assert classifiers <= set(ours)
    assert all(estimator.epsilon == 0.5 for estimator in ours.values())
    assert all(list(estimators(name, 0.5)) == [name] for name in [*MODELS, *ours])


@pytest.mark.usefixtures("few_pairs")
def test_all_of_them_in_one_go(monkeypatch):
    only = {"PrivateTreeClassifier": MODELS["PrivateTreeClassifier"]}
    monkeypatch.setattr("privet.algorithms.registry.MODELS", only)
    result = run("--estimator", "all", "--epsilon", "1", "--minutes", "10", "--json", "--plot", "all.png")
    assert result.exit_code == 0, result.stderr
    assert set(json.loads(result.stdout)["estimators"]) == {
        "PrivateTreeClassifier",
        "PrivateTreeClassifier-counts",
        "PrivateTreeClassifier-scores",
        "PrivateSearch-small",
    }

"""An entry of the table: how it is attacked, and what is said of what was found."""

from dataclasses import replace

import pytest

from claims_by_key import claim
from law_draws import Drawing
from privet.audit import statistical_bound
from privet.audit.claims import Law, Outcome
from privet.audit.claims.claim import model


def counted(key: str, runs: int) -> float:
    """The bound that the statistical engine finds on the witness."""
    entry = claim(key)
    subject = entry.subject()
    release = Drawing(subject) if isinstance(subject, Law) else subject
    return statistical_bound(release, entry.witness(), runs=runs, n_jobs=1, progress=False).epsilon


def test_verdicts(finding):
    entry = claim("hidden-sampling")
    bound = finding("hidden-sampling").bound

    def verdict(epsilon):
        return Outcome(entry, type(bound)(**{**vars(bound), "epsilon": epsilon})).verdict

    assert [verdict(e) for e in (0.1, 0.2, 0.25, 0.3)] == ["missed", "missed", "caught", "BROKEN"]


def test_what_has_too_many_transcripts_is_counted():
    entry = replace(claim("privet-tree-counts"), window=(-300, 300), runs=100)
    assert entry.attack().bound.engine == "statistical"


def test_an_outcome_is_plain_data(finding):
    plain = finding("privatree-early-stop").to_dict()
    assert plain["proven"] == plain["bound"]["epsilon"] == "infinity"


@pytest.mark.parametrize(
    ("key", "runs", "least"),
    [
        pytest.param("privatree-features-5", 40_000, 1.5, marks=pytest.mark.slow),
        ("privatree-early-stop", 200, 1.0),
        ("topdown-noisy-counts", 400, 1.5),
        pytest.param("hidden-leaves-only", 4_000, 4.0, marks=pytest.mark.slow),
        pytest.param("hidden-cut-exponents", 40_000, 1.0, marks=pytest.mark.slow),
        ("diprime-gaps", 1_000, 2.0),
    ],
)
def test_the_statistical_engine_catches_it_too(key, runs, least):
    # Bounds are at least ten of their standard deviations above these; all that is claimed is 1 or less.
    assert least < counted(key, runs) < claim(key).proven


def test_estimators_are_made_with_an_epsilon_of_one_unless_told():
    assert [model("BDPTClassifier", max_depth=1, **own).epsilon for own in ({}, {"epsilon": 2.2})] == [1.0, 2.2]

"""Terms say how many shares of noise make up the whole, and refuse what protects nobody."""

from itertools import product

import pytest

from privet.consortium.federated.terms import Terms
from privet.errors import FederatedError


def terms(n=5, colluders=1, dropouts=0, **other):
    names = tuple(f"p{i:02}" for i in range(n))
    return Terms(**{"run": "0" * 32, "parties": names, "colluders": colluders, "dropouts": dropouts} | {
        "noise": "shared", "schema": "digest", **other
    })  # fmt: skip


def test_every_sum_that_can_be_read_has_the_whole_noise_from_honest_parties():
    """All terms of up to 12 parties: whoever is listed, without the colluders, has at least ``of`` shares."""
    for n, c, d in product(range(3, 13), range(12), range(12)):
        try:
            own = terms(n, c, d)
        except FederatedError:
            assert n <= 2 * d + c
            continue
        assert own.of == own.threshold - c >= 1
        # Two lists of ``threshold`` helpers each overlap in more than the colluders: an honest one would help twice.
        assert 2 * own.threshold - n > c


@pytest.mark.parametrize(
    "wrong",
    [{"run": "7"}, {"n": 2}, {"colluders": -1}, {"noise": "no"}, {"parties": ("b", "a", "c")}, {"parties": ("A",) * 3}],
)
def test_terms_that_make_no_sense_are_refused(wrong):
    with pytest.raises(FederatedError):
        terms(**wrong)


def test_terms_survive_their_words_and_any_change_changes_the_digest():
    own = terms()
    assert Terms.of_words(own.words) == own
    digests = {
        own.digest,
        terms(6).digest,
        terms(colluders=2).digest,
        terms(dropouts=1).digest,
        terms(noise="own").digest,
    }
    assert len(digests) == 5


@pytest.mark.parametrize("words", [None, [], {}, {"run": 3}])
def test_words_that_are_no_terms_are_refused(words):
    with pytest.raises(FederatedError):
        Terms.of_words(words)

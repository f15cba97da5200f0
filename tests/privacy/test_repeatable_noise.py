"""Randomness that is tied to a question comes again with it, and with nothing else."""

import numpy as np
import pytest

from privet.errors import LeakError
from privet.privacy.mechanisms import party_mechanisms
from privet.privacy.repeatable_noise import TiedBytes

ZEROS = np.zeros(200, dtype=np.int64)


def drawn(secret=b"secret", context=b"question", values=ZEROS, scale=50.0, law="geometric_shares", times=1):
    """What is added to the values, each time."""
    tied = TiedBytes(secret)
    tied.tie(context)
    shares = party_mechanisms(3, None, tied)
    return [(getattr(shares, law)(values, scale) - values).tolist() for _ in range(times)]


@pytest.mark.parametrize("law", ["geometric_shares", "skellam_shares"])
@pytest.mark.parametrize("scale", [3.0, 5e6])
def test_the_same_question_gets_the_same_noise_and_any_other_gets_another(law, scale):
    first = drawn(law=law, scale=scale)
    assert drawn(law=law, scale=scale) == first
    others = [{"secret": b"another"}, {"context": b"another"}, {"values": ZEROS + 1}]
    assert all(drawn(law=law, scale=scale, **other) != first for other in others)


def test_the_same_numbers_twice_in_one_question_get_independent_noise():
    first, second = drawn(times=2)
    assert first != second
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.5  # 200 pairs: 7 deviations
    assert drawn(times=2) == [first, second]


def test_calls_of_one_draw_share_no_bytes():
    tied = TiedBytes(b"secret")
    tied.tie(b"question")
    tied.to(ZEROS, 1.0)
    assert len({tied(16) for _ in range(100)}) == 100


def test_there_is_no_noise_without_a_question():
    tied = TiedBytes(b"secret")
    for draw in (lambda: tied(1), lambda: tied.to(ZEROS, 1.0)):
        with pytest.raises(LeakError, match="none was asked"):
            draw()

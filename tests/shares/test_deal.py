"""What leaves an owner."""

import numpy as np

from privet.shares.deal import deal


def test_two_servers_can_add_up_what_was_dealt_and_one_holds_fresh_randomness():
    values = np.array([[0, 1], [-5, 2**62]])
    zero, one, two = deal(values)
    assert np.array_equal((zero[0] + zero[1] + one[1]).view(np.int64), values)
    assert np.array_equal(zero[1], one[0])
    assert np.array_equal(one[1], two[0])
    assert np.array_equal(two[1], zero[0])
    assert not np.array_equal(deal(values)[0], zero)

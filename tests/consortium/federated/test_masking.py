"""Masks hide what a party sends, and cancel in the sum of those who are in it."""

import math

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.consortium.federated import masking
from privet.errors import FederatedError

NAMES = ("a", "b", "c", "d")
CONTEXT = b"question 7"


def secrets_of_pairs(names=NAMES, terms=b"terms"):
    keys = {name: X25519PrivateKey.generate() for name in names}
    public = {name: key.public_key().public_bytes_raw() for name, key in keys.items()}
    return {
        me: {other: masking.pair_secret(keys[me], public[other], terms) for other in names if other != me}
        for me in names
    }


def seeds_of(secrets, me, roster=NAMES, context=CONTEXT):
    return {other: masking.pair_seed(secrets[me][other], context) for other in roster if other != me}


def test_two_parties_have_one_secret_for_each_run_and_pair():
    pairs = secrets_of_pairs()
    assert pairs["a"]["b"] == pairs["b"]["a"]
    assert len({secret for own in pairs.values() for secret in own.values()}) == 6


def test_the_same_keys_under_other_terms_have_other_secrets():
    one, other = X25519PrivateKey.generate(), X25519PrivateKey.generate().public_key().public_bytes_raw()
    assert masking.pair_secret(one, other, b"terms") != masking.pair_secret(one, other, b"others")


def test_a_key_that_is_none_is_refused():
    with pytest.raises(FederatedError, match="key"):
        masking.pair_secret(X25519PrivateKey.generate(), bytes(32), b"terms")


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=5, max_size=5), min_size=4, max_size=4))
@settings(max_examples=30)
def test_masks_cancel_modulo_two_to_the_64(values):
    pairs = secrets_of_pairs()
    arrays = [np.array(own, dtype=np.int64) for own in values]
    sent = {name: masking.masked(own, name, seeds_of(pairs, name)) for name, own in zip(NAMES, arrays)}
    expected = np.sum([own.view(np.uint64) for own in arrays], axis=0, dtype=np.uint64).view(np.int64)
    np.testing.assert_array_equal(masking.unmasked(sent), expected)


def test_every_message_has_masks_of_its_own():
    pairs = secrets_of_pairs()
    zeros = np.zeros(100, dtype=np.int64)
    first, second = (masking.masked(zeros, "a", seeds_of(pairs, "a", context=c)) for c in (b"one", b"two"))
    assert not (first == second).any()


def test_a_sum_without_the_missing_needs_the_seeds_of_all_who_are_there_with_them():
    pairs = secrets_of_pairs()
    own_seeds = {name: bytes([i]) * masking.SEED_BYTES for i, name in enumerate(NAMES)}
    values = {name: np.arange(6) * 10**i for i, name in enumerate(NAMES)}
    sent = {name: masking.masked(values[name], name, seeds_of(pairs, name), own_seeds[name]) for name in NAMES}
    there = [name for name in NAMES if name != "b"]
    with_missing = {(name, "b"): seeds_of(pairs, name)["b"] for name in there}
    answers = {name: sent[name] for name in there}
    expected = sum(values[name] for name in there)
    own = [own_seeds[name] for name in there]
    np.testing.assert_array_equal(masking.unmasked(answers, own, with_missing), expected)
    assert not (masking.unmasked(answers, own, {("a", "b"): with_missing["a", "b"]}) == expected).any()
    # What the missing one sent late stays unreadable: everybody's seeds with it are known by now, its own is not.
    late = masking.unmasked({"b": sent["b"]}, (), {("b", name): with_missing[name, "b"] for name in there})
    assert not (late == values["b"]).any()
    np.testing.assert_array_equal(late - masking.mask(own_seeds["b"], 6).view(np.int64), values["b"])


def test_a_seed_comes_back_from_as_many_shares_as_the_threshold_and_not_from_fewer():
    seeds = {"a": bytes(range(32)), "b": b"\xff" * 32}
    shares = {owner: masking.deal_seed(seed, 3, NAMES) for owner, seed in seeds.items()}

    def joined(*helpers):
        said = {name: {owner: own[name] for owner, own in shares.items()} for name in helpers}
        return masking.join_seeds(said, ["a", "b"], NAMES)

    for helpers in (("b", "c", "d"), ("d", "a", "c"), NAMES):
        assert joined(*helpers) == list(seeds.values())
    with pytest.raises(FederatedError, match="do not fit"):
        joined("a", "d")


def test_shares_below_the_threshold_look_random_whatever_the_seed():
    """The mean bit of 400 pairs of shares, of the smallest and the largest seed: within 6 standard errors of a half."""
    for seed in (bytes(32), b"\xff" * 32):
        dealt = [masking.deal_seed(seed, 3, NAMES) for _ in range(400)]
        bits = [bin(int.from_bytes(own[name], "big")).count("1") for own in dealt for name in ("a", "d")]
        assert abs(sum(bits) / (521 * 800) - 0.5) < 6 * 0.5 / math.sqrt(521 * 800)


def test_a_sealed_share_is_for_one_reader_and_one_message():
    pairs = secrets_of_pairs()
    box = masking.sealed(pairs["a"]["b"], CONTEXT, "a", b"share")
    assert masking.opened(pairs["b"]["a"], CONTEXT, "a", box) == b"share"
    for secret, context, sender in (
        (pairs["c"]["a"], CONTEXT, "a"),
        (pairs["b"]["a"], b"another", "a"),
        (pairs["b"]["a"], CONTEXT, "b"),
    ):
        with pytest.raises(FederatedError, match="is not"):
            masking.opened(secret, context, sender, box)

"""Shares at rest: encrypted, whole or not at all, and an error for whatever was changed."""

import json
import os

import numpy as np
import pytest

from hidden_programs import SCHEMA
from privet.consortium.servers.commitments import SALT_BYTES, commitment
from privet.consortium.servers.store import FORMAT, KEY_BYTES, LENGTH_BYTES, NONCE_BYTES, Store, read_public
from privet.errors import PrivetError
from privet.shares.engine import Secret
from privet.tree.hidden_shape import shape_of
from privet.tree.hidden_tree import HiddenTree

PARTY, SALT = 1, bytes(range(SALT_BYTES))
NAME = "0123456789abcdef" * 2


def public(ring_bits=32):
    params = {"branches": "thresholds", "n_values": 4}
    return {
        "id": NAME,
        "depth": 2,
        "params": params,
        "schema": SCHEMA.to_dict(),
        "ring_bits": ring_bits,
        "format": FORMAT,
        "receipt": {},
        "commitments": ["", commitment(SALT, NAME, a_tree(np.dtype(f"u{ring_bits // 8}"))[1]), ""],
    }


def a_tree(kind):
    rng = np.random.default_rng(0)
    shape = shape_of(SCHEMA, "thresholds", 4)
    sizes = [(1, len(shape.splits)), (2, len(shape.splits)), (4, 3)]
    tables = [rng.integers(0, 2**31, (2, *size)).astype(kind) for size in sizes]
    *levels, labels = (Secret(None, table) for table in tables)
    return HiddenTree(SCHEMA, shape, tuple(levels), labels), tables


@pytest.mark.parametrize(("ring_bits", "kind"), [(32, np.uint32), (64, np.uint64)])
def test_what_is_stored_comes_back(tmp_path, ring_bits, kind):
    tree, tables = a_tree(kind)
    Store(tmp_path / "models", tmp_path / "key", PARTY).save(NAME, public(ring_bits), tree, SALT)
    stored = Store(tmp_path / "models", tmp_path / "key", PARTY).load(NAME)  # as after a restart
    assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(stored.tables, tables))
    assert stored.schema == SCHEMA
    assert stored.model(None).depth == 2


def test_the_file_shows_nothing_of_the_shares_and_the_key_is_its_owners_alone(tmp_path):
    tree, tables = a_tree(np.uint32)
    Store(tmp_path / "models", tmp_path / "key", PARTY).save(NAME, public(), tree, SALT)
    data = (tmp_path / "models" / f"{NAME}.shares").read_bytes()
    assert all(table.tobytes() not in data and table[0].tobytes() not in data for table in tables)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_no_two_files_have_the_same_nonce(tmp_path):
    store, tree = Store(tmp_path / "models", tmp_path / "key", PARTY), a_tree(np.uint32)[0]
    sealed = set()
    for name in (NAME, "f" * 32, "e" * 32):
        store.save(name, public(), tree, SALT)
        data = (tmp_path / "models" / f"{name}.shares").read_bytes()
        start = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "big")
        sealed |= {data[start : start + NONCE_BYTES], data[start + NONCE_BYTES :][:64]}
    assert len(sealed) == 6  # a chance of 2^-94 that two nonces are alike


def test_a_model_is_never_written_over(tmp_path):
    store, tree = Store(tmp_path / "models", tmp_path / "key", PARTY), a_tree(np.uint32)[0]
    store.check_free(NAME)
    store.save(NAME, public(), tree, SALT)
    before = (tmp_path / "models" / f"{NAME}.shares").read_bytes()
    for again in (lambda: store.check_free(NAME), lambda: store.save(NAME, public(), tree, SALT)):
        with pytest.raises(PrivetError, match="already has a hidden model of this name"):
            again()
    assert [file.read_bytes() for file in (tmp_path / "models").iterdir()] == [before]


def test_a_folder_that_cannot_be_written_to_is_found_before_a_training(tmp_path):
    (tmp_path / "models").write_text("a file")
    with pytest.raises(PrivetError, match="cannot be kept in"):
        Store(tmp_path / "models", tmp_path / "key", PARTY).check_free(NAME)


def test_a_stop_while_a_key_is_made_leaves_none_and_the_next_start_makes_one(tmp_path, monkeypatch):
    def stop(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", stop)
        with pytest.raises(KeyboardInterrupt):
            Store(tmp_path / "models", tmp_path / "key", PARTY)
    assert not (tmp_path / "key").exists()
    Store(tmp_path / "models", tmp_path / "key", PARTY)
    assert len((tmp_path / "key").read_bytes()) == KEY_BYTES


@pytest.mark.skipif(os.name != "posix", reason="needs file modes")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_key_that_others_may_read_or_change_is_refused(tmp_path, mode):
    Store(tmp_path / "models", tmp_path / "key", PARTY)
    (tmp_path / "key").chmod(mode)
    with pytest.raises(PrivetError, match="chmod 600"):
        Store(tmp_path / "models", tmp_path / "key", PARTY)
    (tmp_path / "key").chmod(0o600)
    Store(tmp_path / "models", tmp_path / "key", PARTY)


def test_a_key_that_is_none_or_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "key").write_bytes(b"")
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(PrivetError, match="not a key of 32 bytes"):
        Store(tmp_path / "models", tmp_path / "key", PARTY)
    with pytest.raises(PrivetError, match="cannot be used"):
        Store(tmp_path / "models", tmp_path / "nowhere" / "key", PARTY)


def test_a_changed_bit_anywhere_a_new_name_or_another_key_is_an_error(tmp_path):
    store = Store(tmp_path / "models", tmp_path / "key", PARTY)
    store.save(NAME, public(), a_tree(np.uint32)[0], SALT)
    path = tmp_path / "models" / f"{NAME}.shares"
    data = path.read_bytes()
    for place in (0, 7, 8, 50, len(data) // 2, len(data) - 1):
        changed = bytearray(data)
        changed[place] ^= 1
        path.write_bytes(changed)
        with pytest.raises(PrivetError, match="cannot be opened"):
            store.load(NAME)
    path.write_bytes(data)
    other = "f" * 32
    path.with_name(f"{other}.shares").write_bytes(data)
    with pytest.raises(PrivetError, match="cannot be opened"):
        store.load(other)
    Store(tmp_path / "others", tmp_path / "other key", PARTY)
    with pytest.raises(PrivetError, match=r"cannot be opened.* Bring back"):
        Store(tmp_path / "models", tmp_path / "other key", PARTY).load(NAME)


def test_a_lost_key_is_not_replaced_while_there_are_models_of_it(tmp_path):
    store = Store(tmp_path / "models", tmp_path / "key", PARTY)
    store.save(NAME, public(), a_tree(np.uint32)[0], SALT)
    key = (tmp_path / "key").read_bytes()
    (tmp_path / "key").unlink()
    with pytest.raises(PrivetError, match=r"key is not there, and the hidden models in .* Bring it back"):
        Store(tmp_path / "models", tmp_path / "key", PARTY)
    assert not (tmp_path / "key").exists()
    (tmp_path / "key").write_bytes(key)
    (tmp_path / "key").chmod(0o600)
    Store(tmp_path / "models", tmp_path / "key", PARTY).load(NAME)


def test_shares_that_the_server_has_not_signed_are_not_used(tmp_path):
    """Also if somebody had the key: another salt, or shares that belong to another server's commitment."""
    for i, (party, salt) in enumerate([(PARTY, bytes(SALT_BYTES)), (0, SALT)]):
        store = Store(tmp_path / f"models{i}", tmp_path / "key", party)
        store.save(NAME, public(), a_tree(np.uint32)[0], salt)
        with pytest.raises(PrivetError, match="has signed"):
            store.load(NAME)


def test_a_model_that_is_not_there_or_has_no_name_of_one(tmp_path):
    store = Store(tmp_path, tmp_path / "key", PARTY)
    with pytest.raises(PrivetError, match="no such"):
        store.load(NAME)
    with pytest.raises(PrivetError, match="hexadecimal"):
        store.load("../../etc/passwd")


def test_a_file_that_is_no_hidden_model_is_an_error(tmp_path):
    path = tmp_path / "model.json"
    for text in ("[]", "{}", "nonsense", json.dumps({**public(), "ring_bits": 8}), json.dumps({**public(), "id": 3})):
        path.write_text(text)
        with pytest.raises(PrivetError, match="not a hidden model"):
            read_public(path)
    path.write_text(json.dumps(public()))
    assert read_public(path)["id"] == NAME


def test_models_are_listed_and_deleted(tmp_path):
    store, tree = Store(tmp_path / "models", tmp_path / "key", PARTY), a_tree(np.uint32)[0]
    assert store.listed() == []
    store.save(NAME, public(), tree, SALT)
    ((name, said),) = store.listed()
    assert (name, said["id"]) == (NAME, NAME)
    store.delete(NAME)
    assert store.listed() == []
    for wrong, why in ((NAME, "no such hidden model"), ("../key", "32 hexadecimal digits")):
        with pytest.raises(PrivetError, match=why):
            store.delete(wrong)

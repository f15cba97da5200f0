"""Saved models: the same predictions again, whole files or none, and nothing to fear from strangers' files."""

import json
import math
import os
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privet
from privet import Categorical, Numeric, PrivateTreeClassifier, PrivetError, Schema
from privet.algorithms import model_file
from privet.algorithms.model_file import from_dict, to_dict

SCHEMA = Schema(
    {"age": Numeric(0, 90, integer=True, missing=True), "pay": Numeric(0, 1), "sex": Categorical(["f", "m"])},
    classes=["no", "yes"],
    label="ill",
)


def people(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": np.where(rng.uniform(size=n) < 0.1, np.nan, rng.integers(0, 91, n)),
            "pay": rng.uniform(0, 1, n),
            "sex": np.array(["f", "m", "x"], dtype=object)[rng.integers(0, 3, n)],
        }
    )
    return X, np.where(X["age"].fillna(0) > 45, "yes", "no").astype(object)


X, Y = people()


def fitted(**params):
    return PrivateTreeClassifier(SCHEMA, **{"epsilon": 3} | params).fit(X, Y)


MODEL = fitted(epsilon=1000, random_state=0)
PLAIN = to_dict(MODEL)


def plain():
    return json.loads(json.dumps(PLAIN))


@pytest.mark.parametrize("leaves", ["labels", "counts"])
@pytest.mark.parametrize("classes", [["no", "yes"], ["yes", "no"], [0, 1], [False, True], ["a"], [1.5, -2.0]])
def test_a_loaded_model_is_the_saved_one(tmp_path, classes, leaves):
    schema = Schema(SCHEMA.features, classes=classes)
    y = np.array(classes)[(Y == "yes") * (len(classes) - 1)]
    model = PrivateTreeClassifier(schema, epsilon=3, leaves=leaves).fit(X, y)
    model.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert hasattr(again, "predict_proba") == hasattr(model, "predict_proba")
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.apply(X).tolist() == model.apply(X).tolist()
    assert again.classes_.dtype == model.classes_.dtype
    assert again.export_text() == model.export_text()
    assert again.privacy_ == model.privacy_
    assert again.privacy_.verify()
    assert again.schema == again.schema_ == schema
    assert again.get_params() == model.get_params()
    again.save(str(tmp_path / "again.json"))
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


CLASSIFIERS = [name for name in model_file.MODELS if model_file.model_class(name)._task == "classification"]


@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_is_the_same_again(tmp_path, name, variant):
    model = model_file.model_class(name)(SCHEMA, epsilon=30)
    if variant == "published" and "variant" not in model.get_params():
        return  # one variant is all there is
    model.set_params(**({"variant": variant} if "variant" in model.get_params() else {})).fit(X, Y)
    model.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert again.export_text() == model.export_text()
    assert hasattr(again, "predict_proba") == hasattr(model, "predict_proba")
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.privacy_ == model.privacy_
    assert again.privacy_.verify()


def test_a_seed_is_not_saved_and_a_void_receipt_stays_void(tmp_path):
    fitted(random_state=12345).save(tmp_path / "model.json")
    assert "12345" not in (tmp_path / "model.json").read_text()
    again = privet.load(tmp_path / "model.json")
    assert again.random_state is None
    assert again.privacy_.epsilon == math.inf


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), np.float64(0.1), np.int64(2), "1/3", 2])
def test_every_epsilon_can_be_saved(tmp_path, epsilon):
    model = fitted(epsilon=epsilon, max_depth=np.int64(2))
    model.save(tmp_path / "model.json")
    assert privet.load(tmp_path / "model.json").privacy_ == model.privacy_


def test_an_unfitted_model_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        PrivateTreeClassifier(SCHEMA, epsilon=1).save(tmp_path / "model.json")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="needs a umask")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_model_is_an_ordinary_file_and_a_void_one_its_owners(tmp_path, umask, mode):
    before, sound = os.umask(umask), fitted()
    try:
        sound.save(tmp_path / "model.json")
        MODEL.save(tmp_path / "void.json")
    finally:
        os.umask(before)
    assert (tmp_path / "model.json").stat().st_mode & 0o777 == mode
    assert (tmp_path / "void.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("failing", ["write", "replace"])
def test_a_failing_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, failing):
    path = tmp_path / "model.json"
    MODEL.save(path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(*((Path, "write_bytes") if failing == "write" else (os, "replace")), fail)
    with pytest.raises(OSError, match="disk full"):
        fitted(max_depth=1).save(path, overwrite=True)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_model_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.json"
    MODEL.save(path)
    before = path.read_bytes()
    odd = fitted()
    odd.n_records = math.inf
    with pytest.raises(PrivetError, match="cannot be saved"):
        odd.save(path, overwrite=True)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_model_file_with_a_key_twice_is_refused(tmp_path):
    path = tmp_path / "model.json"
    MODEL.save(path)
    text = path.read_text()
    for key in ('"format"', '"receipt"', '"spent"', '"label"'):
        path.write_text(text.replace(f"{key}:", f"{key}: 1, {key}:", 1))
        with pytest.raises(PrivetError, match=f"{key[1:-1]}.* is there twice"):
            privet.load(path)


# -- files from strangers --------------------------------------------------------------------------------------------


def changed(*path, to):
    data = plain()
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return data


def without(key):
    data = plain()
    del data[key]
    return data


HOSTILE = {
    "nothing": None,
    "a number": 3,
    "a list": [],
    "text": "privet-model-1",
    "an empty table": {},
    "another format": changed("format", to="privet-model-2"),
    "a format that is a list": changed("format", to=[]),
    **{f"no {key}": without(key) for key in PLAIN},
    **{f"{key} is null": changed(key, to=None) for key in PLAIN},
    **{f"{key} is a number": changed(key, to=7) for key in PLAIN},
    **{f"{key} is a list": changed(key, to=[1, [2]]) for key in PLAIN},
    **{f"{key} is text": changed(key, to="os.system") for key in PLAIN},
    "a model that is a table": changed("model", to={"a": 1}),
    "a module": changed("model", to="os"),
    "a path to a class": changed("model", to="subprocess.Popen"),
    "the base class": changed("model", to="PrivateClassifier"),
    "an unknown parameter": changed("params", "__class__", to="x"),
    "a schema as a parameter": changed("params", "schema", to="infer"),
    "a parameter that is a list": changed("params", "epsilon", to=[1]),
    "epsilon zero": changed("params", "epsilon", to=0),
    "epsilon NaN": changed("params", "epsilon", to=math.nan),
    "epsilon infinite": changed("params", "epsilon", to=math.inf),
    "epsilon true": changed("params", "epsilon", to=True),
    "epsilon missing": changed("params", "epsilon", to=None),
    "epsilon beyond floats": changed("params", "epsilon", to=10**400),
    "a negative depth": changed("params", "max_depth", to=-1),
    "a depth that 64 bits do not hold": changed("params", "max_depth", to=2**63),
    "a key that nothing reads": changed("approved", to=True),
    "a note that nobody can write": changed("provenance", to={"date": "2025-01-01", "version": "1", "note": "\ud800"}),
    "candidates that nobody can write": changed("chosen", to={"candidates": ["\ud800"], "winner": 0}),
    "a depth that is text": changed("params", "max_depth", to="4"),
    "unknown leaves": changed("params", "leaves", to="secrets"),
    "records that are text": changed("params", "n_records", to="many"),
    "a negative number of records": changed("params", "n_records", to=-5),
    "a schema for regression": changed("schema", "label", to={"target": [0, 1]}),
    "a schema without features": changed("schema", "features", to={}),
    "other classes": changed("schema", "label", "classes", to=["only one"]),
    "fewer features": changed("schema", "features", to={"shoe": {"low": 0, "high": 1}}),
    "a range upside down": changed("schema", "features", "age", to={"low": 1, "high": 0}),
    "a name that is no text": changed("schema", "features", to={"\ud800": {"low": 0, "high": 1}}),
    "no nodes": changed("tree", "nodes", to=[]),
    "a tree that is a size": changed("tree", "nodes", to=10**12),
    "a receipt that lies": changed("receipt", "epsilon", to="0"),
    "a negative charge": changed("receipt", "spent", to="-1"),
    "events that are text": changed("receipt", "events", to="none"),
}  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_a_clear_error(tmp_path, data):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(data))
    with pytest.raises(PrivetError):
        privet.load(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\x01",
        b"\xff\xfe{}",
        b"{",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 10_000,
        b'{"format": "privet-model-1", "params": {"epsilon": ' + b"9" * 10_000 + b"}}",
        b"NaN",
        b"\x80\x04\x95pickle",
        b"import os",
    ],
    ids=lambda content: repr(content[:12]),
)
def test_a_file_that_is_no_model_is_a_clear_error(tmp_path, content):
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(PrivetError):
        privet.load(path)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(model_file.LARGEST_FILE + 1)
    with pytest.raises(PrivetError, match="larger than any model"):
        privet.load(path)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        privet.load(tmp_path / "model.json")


def test_no_module_is_imported_that_a_file_names(tmp_path, monkeypatch):
    trap = tmp_path / "privet_trap.py"
    trap.write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("privet_trap", "privet_trap.Model", "PrivateTreeClassifier.__init__", "Schema", "load", ""):
        with pytest.raises(PrivetError, match="no model called"):
            from_dict(changed("model", to=name))
    assert "privet_trap" not in sys.modules


def test_a_seed_in_a_file_is_ignored():
    assert from_dict(changed("params", "random_state", to=5)).random_state is None


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9), st.integers(), st.floats(), st.text(max_size=4),
    st.sampled_from(["infinity", "1/0", "1/3", "age", "geometric", "/fit0:0", "PrivateTreeClassifier"]),
)  # fmt: skip
anything = st.recursive(
    scalars, lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=5), inside, max_size=3),
    max_leaves=6,
)  # fmt: skip


def places(data, path=()):
    """Every place in plain data."""
    yield path
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for step, inside in steps:
        yield from places(inside, (*path, step))


PLACES = [path for path in places(PLAIN) if path]


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(PLACES), anything)
def test_a_file_with_any_one_change_is_a_model_or_a_clear_error(place, value):
    try:
        model = from_dict(changed(*place, to=value))
        model.predict(X)  # another schema may not fit this table
    except PrivetError:
        return
    assert len(model.classes_) == len(set(model.predict(X).tolist()) | set(model.classes_.tolist()))
    if hasattr(model, "predict_proba"):
        model.predict_proba(X)
    model.export_text()


@settings(max_examples=200, deadline=None)
@given(anything)
def test_any_json_is_a_model_or_a_clear_error(data):
    with pytest.raises(PrivetError):
        from_dict(data)


def test_a_saved_model_is_text_that_people_can_read(tmp_path):
    MODEL.save(tmp_path / "model.json")
    text = Path(tmp_path / "model.json").read_text(encoding="utf-8")
    assert text.startswith('{\n "format": "privet-model-1",\n "model": "PrivateTreeClassifier"')


def test_a_file_is_not_overwritten_unless_that_is_said(tmp_path):
    model = PrivateTreeClassifier(SCHEMA, epsilon=1).fit(*people())
    path = tmp_path / "model.json"
    path.write_text("approved")
    with pytest.raises(PrivetError, match=r"exists.*overwrite=True"):
        model.save(path)
    assert path.read_text() == "approved"
    model.save(path, overwrite=True)
    assert privet.load(path).verify()

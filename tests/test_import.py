"""Importing Privet is quick: nothing slow is loaded before it is needed."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import privet
from privet.algorithms import baselines
from privet.algorithms.registry import MODELS

SLOW = ("opendp", "numba", "sklearn", "scipy", "pandas", "polars", "pyarrow", "narwhals", "typer", "rich", "matplotlib")


def loaded_after(code):
    """Which of the slow modules a fresh Python has loaded after running the code."""
    probe = f"import sys, json\n{code}\nprint(json.dumps([m for m in {SLOW!r} if m in sys.modules]))"
    ran = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout.splitlines()[-1]))


def test_importing_privet_loads_nothing_slow():
    assert loaded_after("import privet") == set()


def test_listing_the_names_loads_nothing_slow():
    assert loaded_after("import privet; dir(privet); privet.__version__; privet.__doc__") == set()


def test_a_schema_and_a_ledger_load_nothing_slow():
    code = "from privet import *; Schema({'a': Numeric(0, 1)}, classes=[0, 1])\nwith Ledger(1): pass"
    assert loaded_after(code.replace("*", "Schema, Numeric, Ledger, PrivetError")) == set()


def test_the_estimator_loads_neither_opendp_nor_numba():
    loaded = loaded_after("from privet import PrivateTreeClassifier; PrivateTreeClassifier(epsilon=1).get_params()")
    assert not loaded & {"opendp", "numba"}
    assert loaded == loaded_after("import sklearn.base, sklearn.utils.validation")


def test_predicting_loads_neither_opendp_nor_numba(tmp_path):
    from privet import Numeric, PrivateTreeClassifier, Schema

    schema = Schema({"a": Numeric(0, 1)}, classes=[0, 1])
    PrivateTreeClassifier(schema, epsilon=1).fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "model.json")
    loaded = loaded_after(f"import privet; privet.load({str(tmp_path / 'model.json')!r}).predict([[0.5]])")
    assert not loaded & {"opendp", "numba"}


def test_a_seeded_fit_loads_no_opendp():
    code = """
from privet import Numeric, PrivateTreeClassifier, Schema
schema = Schema({"a": Numeric(0, 1)}, classes=[0, 1])
PrivateTreeClassifier(schema, epsilon=1, random_state=0).fit([[0.0], [1.0]], [0, 1])
"""
    assert "opendp" not in loaded_after(code)


def test_every_name_is_listed_and_can_be_had():
    assert set(privet.__all__) <= set(dir(privet))
    for name in privet.__all__:
        own_name = privet._HOMES.get(name, "").partition(":")[2] or name
        assert getattr(privet, name).__name__.split(".")[-1] == own_name
    assert {"PrivateTreeClassifier", "Schema", "Numeric", "Categorical", "Ledger", "Receipt", "load"} <= set(
        privet.__all__
    )


def test_type_checkers_are_told_of_the_same_names_and_homes():
    tree = ast.parse(Path(privet.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    told = {
        alias.asname: own.module + ("" if alias.asname == alias.name else f":{alias.name}")
        for own in block.body
        for alias in own.names
    }
    assert told == privet._HOMES, "the TYPE_CHECKING block of privet/__init__.py imports every registered class"


def test_every_registered_estimator_but_the_baselines_can_be_had_from_here():
    at_the_top = set(privet.__all__) & set(MODELS)
    assert set(MODELS) - at_the_top == set(baselines.__all__)


def test_star_import_gives_all_names():
    names: dict = {}
    exec("from privet import *", names)
    assert set(privet.__all__) <= set(names)


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Forest'"):
        _ = privet.Forest
    with pytest.raises(ImportError):
        exec("from privet import Forest")


def test_errors_are_value_errors():
    for name in ("SchemaError", "BudgetError", "LeakError", "ReceiptError", "CapabilityError"):
        assert issubclass(getattr(privet, name), privet.PrivetError)
    assert issubclass(privet.PrivetError, ValueError)

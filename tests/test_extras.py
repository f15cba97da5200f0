"""Without extras everything can be imported and listed, and what is missing is named when it is used."""

import subprocess
import sys

import pytest

from privet.errors import MissingExtraError, PrivetError
from privet.extras import need, stand_in

EXTRAS = ("matplotlib", "cryptography", "grpc", "sqlglot", "duckdb", "pyspark", "dask", "distributed", "onnx", "flwr")

BASE_ONLY = f"""
import contextlib, io, pkgutil, sys
sys.modules.update(dict.fromkeys({EXTRAS!r}))  # as if none of them was installed
from privet import *
import privet
with contextlib.redirect_stdout(io.StringIO()) as said:
    help(privet)
assert "PrivateTreeClassifier" in said.getvalue() and "SqlCurator" in said.getvalue()
model = PrivateTreeClassifier(Schema({{"a": Numeric(0, 1)}}, classes=[0, 1]), epsilon=1).fit([[0.0], [1.0]], [0, 1])
for wanted, extra in ((SqlCurator, "sql"), (FederatedCurator, "federated"), (plot.plot_tree, "report")):
    try:
        wanted(model)
    except privet.PrivetError as error:
        assert f"pip install 'privet[{{extra}}]'" in str(error), error
    else:
        raise AssertionError(extra)
for module in pkgutil.walk_packages(privet.__path__, "privet."):
    try:
        __import__(module.name)
    except ImportError as error:
        assert "privet[" in str(error), (module.name, error)
"""


def test_a_missing_package_is_named_by_what_brings_it():
    need("mpc", "json", "os")
    with pytest.raises(PrivetError, match=r"no_such_package_of_anybody: pip install 'privet\[mpc\]'"):
        need("mpc", "json", "no_such_package_of_anybody")


def test_what_stands_in_for_a_class_says_what_is_missing():
    absent = stand_in("Windmill", MissingExtraError("This needs wind: pip install 'privet[wind]'"))
    assert absent.__name__ == "Windmill"
    with pytest.raises(ImportError, match=r"Windmill: This needs wind"):
        absent(3, blades=4)


def test_without_extras_all_names_can_be_imported_and_listed():
    subprocess.run([sys.executable, "-c", BASE_ONLY], check=True)

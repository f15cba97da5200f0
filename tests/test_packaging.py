"""What is published, tried in environments of its own: only the base, the lowest versions allowed, a clean archive."""

import os
import re
import subprocess
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest

from needs import missing

HERE = Path(__file__).parent.parent
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text())

LARGEST = 800
"""Megabytes that the base install may take, most of it OpenDP's, PyArrow's and SciPy's libraries."""

ENOUGH = """
cli/test_cli.py cli/test_files.py cli/test_predictions.py cli/test_certify.py cli/test_databases.py tables
algorithms/test_private_tree.py algorithms/test_private_forest.py algorithms/test_model_file.py curators/kernels
curators/test_files.py curators/sql/test_database.py curators/sql/test_room.py curators/test_mpc.py export report
robustness/attacks shares consortium/net/test_certificates.py datasets test_extras.py test_import.py test_plot.py
"""
"""What is run on the lowest versions: what touches another package's interface, not what is proved on numbers alone."""

IN_ARCHIVE = """
src tests docs examples deploy README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff LICENSE NOTICE mkdocs.yml
pyproject.toml PKG-INFO .gitignore
"""

USED = """
from privet import *
help("privet")
from privet.datasets import load_adult
X, y, schema = load_adult()
model = PrivateTreeClassifier(schema, epsilon=1).fit(X, y)
model.save("model.json")
load("model.json").verify()
assert len(model.predict(X)) == len(y)
"""


def test_lower_bounds_are_plain_enough_to_be_tried():
    assert len(list(lowest("dependencies"))) == len(PROJECT["project"]["dependencies"])


@pytest.mark.slow
def test_the_base_install_works_without_extras_and_is_no_larger_than_said(tmp_path):
    python = environment(tmp_path / "env", str(HERE))
    subprocess.run([python, "-c", USED], cwd=tmp_path, check=True, env=alone(), stdout=subprocess.DEVNULL)
    for words in ("--help", "demo", "show model.json", "verify model.json"):
        subprocess.run([python.with_name("privet"), *words.split()], cwd=tmp_path, check=True, env=alone())
    weight = sum(path.stat().st_size for path in (tmp_path / "env").rglob("*") if path.is_file())
    assert weight < LARGEST * 2**20


@pytest.mark.slow
def test_the_lowest_versions_that_are_allowed_work(tmp_path):
    extras = [extra for extra in PROJECT["project"]["optional-dependencies"] if extra not in ("all", "flower", "spark")]
    pins = [*lowest("dependencies"), *lowest(*extras)]
    (tmp_path / "lowest.txt").write_text("\n".join(pins))
    wanted = (f"{HERE}[{','.join(extras)}]", "pytest", "pytest-xdist", "hypothesis", "pandas", "polars")
    wanted += ("onnxruntime", "psycopg[binary]")  # what tests of exports and of PostgreSQL need
    python = environment(tmp_path / "env", "-c", str(tmp_path / "lowest.txt"), *wanted)
    command = [python, "-m", "pytest", "-q", "-n", "2", "-m", "not slow", "-p", "no:cacheprovider"]
    subprocess.run([*command, *(f"tests/{each}" for each in ENOUGH.split())], cwd=HERE, check=True, env=alone())


@pytest.mark.slow
def test_the_source_archive_has_the_source_its_tests_and_docs_and_nothing_else(tmp_path):
    python = environment(tmp_path / "env", "hatchling")
    build = [python, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path]
    subprocess.run(build, cwd=HERE, check=True, env=alone())
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {name.partition("/")[0] for name in names} == set(IN_ARCHIVE.split())
    assert not any(name.endswith((".jsonl", ".pyc", ".so")) or "/results/" in name for name in names)


def lowest(*groups: str):
    """``numpy==1.26`` for ``numpy>=1.26``, for each dependency of these extras; other extras of ours are left out."""
    project = PROJECT["project"]
    for group in groups:
        for wish in project["dependencies"] if group == "dependencies" else project["optional-dependencies"][group]:
            if not wish.startswith("privet["):
                name, version = re.fullmatch(r"([a-z0-9-]+)(?:\[\w+\])?>=([0-9.]+)(?:,<[0-9.]+)?", wish).groups()
                yield f"{name}=={version}"


def environment(folder: Path, *wanted: str) -> Path:
    """A new environment with these packages from PyPI; its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    installed = subprocess.run(
        [python, "-m", "pip", "install", "-q", *wanted], env=alone(), capture_output=True, text=True
    )
    if "No matching distribution" in installed.stderr and "Failed to establish" in installed.stderr:
        missing("PyPI cannot be reached")
    assert installed.returncode == 0, installed.stderr
    return python


def alone() -> dict[str, str]:
    """This environment without what would make our own source the one that is imported."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

"""Every code block of every page runs, in order: Python as it stands, commands as they are typed, TOML is parsed.
Stories between machines are Bash, with real programs on this one: long tests.

Pages speak of a reader's own records. Here these are a few of the census data: ``X``, ``y`` and ``schema`` in Python,
people.csv with people.toml in files. What cannot run is listed with its reason; what takes minutes runs among the long
tests. The site has no broken link.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import warnings
from contextlib import chdir
from pathlib import Path
from types import ModuleType

import pytest

from every_command import call
from held_ports import HERE, held_ports

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.M | re.S)
PAGES = {page.name: page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))}

BETWEEN_MACHINES = "between machines: tests/consortium types the tables of commands, and long tests run the examples"
PROGRAM = "runs until it is stopped: tests/report has it in a browser"
NOT_RUN = {
    ("README.md", 0): PROGRAM,
    ("README.md", 1): "make, from a checkout: what CI runs",
    ("claims.md", 3): "hours: make audit",
    ("command-line.md", 6): BETWEEN_MACHINES,
    ("command-line.md", 7): BETWEEN_MACHINES,
    ("federated.md", 0): BETWEEN_MACHINES,
    ("hidden.md", 0): BETWEEN_MACHINES,
    ("hidden.md", 1): BETWEEN_MACHINES,
    ("mpc.md", 0): BETWEEN_MACHINES,
    ("mpc.md", 1): BETWEEN_MACHINES,
    ("mpc.md", 3): BETWEEN_MACHINES,
    ("operations.md", 0): "installs a service: tests/test_deploy.py verifies the units",
    ("playground.md", 0): PROGRAM,
    ("where_records_live.md", 2): "a cluster: tests/curators/test_dask.py has one of its own",
    ("where_records_live.md", 4): "a server's database: tests/cli/test_databases.py has DuckDB and PostgreSQL",
}
LONG = {
    ("audit.md", 0): "two minutes",
    ("audit.md", 2): "five minutes",
    ("audit.md", 3): "a minute",
    ("claims.md", 0): "four times all claims",
    ("claims.md", 2): "minutes",
    ("choosing_epsilon.md", 2): "twenty runs of eight epsilons",
    ("command-line.md", 5): "minutes",
    ("robustness.md", 0): "a thousand models",
}

GIVEN = """
import dask, duckdb, numpy as np
from privet import *
from privet.datasets import load_adult
from privet.audit import *
from privet.consortium.federated.channel import in_process

X, y, schema = load_adult()
X, y, X_test, y_test = X[:900], y[:900], X[900:1200], y[900:1200]
tables = [(X[i::3], y[i::3]) for i in range(3)]
(X0, y0), (X1, y1), (X2, y2) = tables
model = PrivateTreeClassifier(schema, epsilon=0.3)
ledger, curator = Ledger(9), MemoryCurator(X, y, schema, ledger=Ledger(99))
pixels, digits = np.zeros((40, 784)), np.arange(40) % 10
my_release = lambda X, y: len(y)
outputs_on_one, outputs_on_other = ["a", "b"] * 400, ["a", "a"] * 400
"""
TINY = """
schema = Schema({"a": Categorical(["u", "v"])}, classes=["n", "y"])
X, y = np.array([["u"], ["v"]]), ["n", "y"]
X_with_one_row_more, y_with_one_more = np.array([["u"], ["v"], ["v"]]), ["n", "y", "y"]
model = PrivateTreeClassifier(schema, epsilon=1.0)
"""
TOWN = """
features = {"age": Numeric(0, 110), "town": Categorical(["Paris", "Lyon"]), "id": Numeric(0, 9)}
schema = Schema(features, classes=[0, 1])
X, y = np.array([[30, "Paris", 1], [70, "Lyon", 2]] * 20, dtype=object), [0, 1] * 20
"""
OWN_GIVEN = {"audit.md": TINY, "top_down.md": TOWN, "adding_an_algorithm.md": None}
"""What a page means by the same names; None: it says all that it needs."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder as readers have it: records, a schema that was confirmed, a model, a ledger, a certificate."""
    folder = tmp_path_factory.mktemp("desk")
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    table = pq.read_table(ROOT / "src/privet/datasets/adult.parquet").slice(0, 1500)
    table = table.append_column("patient", pa.array(range(len(table)))).append_column(
        "patient_id", pa.array(range(len(table)))
    )
    for name in ("people.csv", "new.csv", "only2025.csv", "both.csv", "open.csv"):
        pc.write_csv(table, folder / name)
    (folder / "visits").mkdir()
    pq.write_table(table, folder / "visits" / "1.parquet")
    shutil.copy(ROOT / "src/privet/datasets/adult.toml", folder / "people.toml")
    (folder / "docs").mkdir()
    shutil.copy(DOCS / "example-schema.toml", folder / "docs")
    for line in (
        "privet fit people.csv --schema people.toml --epsilon 1 --leaves counts -o model.json",
        "privet ledger new people.ledger --epsilon 5 --records people",
        "privet certify people.csv --schema people.toml --epsilon 1 --runs 5 --public --json > certificate.json",
    ):
        with chdir(folder):
            typed(line)
    import duckdb

    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(f"CREATE TABLE visits AS SELECT * FROM '{folder}/visits/1.parquet'")
    return folder


def run(page, numbers, desk, folder, monkeypatch):
    """The blocks of a page that have these numbers, in a copy of the desk."""
    shutil.copytree(desk, folder, dirs_exist_ok=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MPLBACKEND", "agg")
    guide = ModuleType("guide")
    monkeypatch.setitem(sys.modules, "guide", guide)  # dataclasses look up the module that they are written in
    own = OWN_GIVEN.get(page, "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if own is not None:
            exec(compile(GIVEN + own, "given", "exec"), vars(guide))
        for number, (language, block) in enumerate(BLOCK.findall(PAGES[page])):
            if number not in numbers:
                continue
            if language == "python":
                exec(compile(block.replace("/fast/disk", str(folder)), f"{page}[{number}]", "exec"), vars(guide))
            elif language == "toml":
                tomllib.loads(block)
            elif language == "console":
                for line in block.replace("\\\n", " ").splitlines():
                    typed(line)


def typed(line):
    """Run a command in this process: the one that a reader would type. What it writes may be there from before."""
    program, *words = shlex.split(line, comments=True)
    if program in ("pip", "make"):
        return
    assert program == "privet", line
    into = None
    if ">" in words:
        words, into = words[: words.index(">")], words[-1]
    for option in ("-o", "--plot", "--write"):
        if option in words:
            Path(words[words.index(option) + 1]).unlink(missing_ok=True)
    if words[:2] == ["ledger", "new"]:
        Path(words[2]).unlink(missing_ok=True)
    result = call(words)
    assert result.exit_code == 0, f"{line}\n{result.output}"
    if into is not None:
        Path(into).write_text(result.stdout)
    if words[:2] == ["schema", "draft"]:  # as the page says: confirm every field
        schema = Path(words[words.index("-o") + 1])
        schema.write_text(re.sub(r"^inferred.*\n", "", schema.read_text(), flags=re.M))


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if BLOCK.search(text)])
def test_every_block_of_a_page_runs(page, desk, monkeypatch, tmp_path, capsys):
    numbers = set(range(len(BLOCK.findall(PAGES[page])))) - {n for own, n in {**NOT_RUN, **LONG} if own == page}
    run(page, numbers, desk, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(("page", "number"), LONG)
def test_every_block_that_takes_long_runs(page, number, desk, monkeypatch, tmp_path, capsys):
    before = {n for n in range(number) if (page, n) not in {**NOT_RUN, **LONG}}
    run(page, before | {number}, desk, tmp_path, monkeypatch)


def test_every_block_says_what_it_is_and_what_is_not_run_exists():
    for page, text in PAGES.items():
        assert {language for language, _ in BLOCK.findall(text)} <= {"python", "console", "toml", "bash", "text"}, page
    for page, number in {**NOT_RUN, **LONG}:
        assert BLOCK.findall(PAGES[page])[number][0] in ("python", "console"), (page, number)
    assert not set(NOT_RUN) & set(LONG)


SLOW_NOTEBOOKS = [pytest.param(name, marks=pytest.mark.slow) for name in ("one_budget", "what_features_add")]


@pytest.mark.parametrize("name", ["first_model", *SLOW_NOTEBOOKS])
def test_a_notebook_runs(name):
    """All cells, in a kernel of their own. What they print is drawn anew each time, so it is not compared."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(DOCS / "notebooks" / f"{name}.ipynb", as_version=4)
    saved = [len(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]
    nbclient.NotebookClient(notebook, timeout=300).execute()
    ran = [[own for own in cell.outputs if own.get("name") != "stderr"] for cell in notebook.cells if "outputs" in cell]
    assert [len(outputs) for outputs in ran] == saved


def test_every_notebook_is_run():
    names = {path.stem for path in (DOCS / "notebooks").glob("*.ipynb")}
    assert names == {"first_model", "one_budget", "what_features_add"}


def test_the_site_builds_and_no_link_is_broken(tmp_path, monkeypatch):
    """Warnings are errors there (``strict``), and pages that no menu names are warnings."""
    pytest.importorskip("mkdocstrings")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path / "site")))
    assert (tmp_path / "site" / "reference" / "index.html").stat().st_size > 50_000
    assert "data:image/png" in (tmp_path / "site" / "notebooks" / "what_features_add" / "index.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "printed_ports", "ends_with"),
    [
        ("story_five_hospitals.md", ("9443",), "coordinator/report.html"),
        ("story_bank.md", ("7101", "7102", "7103"), "branch/answers.csv"),
    ],
)
def test_a_story_between_machines_can_be_followed_to_its_end(page, printed_ports, ends_with, tmp_path):
    """Its blocks as one script of Bash; programs that were left running are stopped at its end."""
    script = ["set -euo pipefail"]
    for language, block in BLOCK.findall(PAGES[page]):
        script.append(block if language == "bash" else f"python - <<'END'\n{block}END")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, words in {"privet": "-c 'from privet.cli import main; main()'", "python": ""}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
        (programs / name).chmod(0o755)
    found = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    with held_ports(len(printed_ports)) as ports, (tmp_path / "said").open("w+") as said:
        text = "\n".join(script)
        for printed, port in zip(printed_ports, ports):
            text = text.replace(f"127.0.0.1:{printed}", f"{HERE}:{port}")
        shell = subprocess.Popen(
            ["bash", "-c", text], cwd=tmp_path, env=found, stdout=said, stderr=said, start_new_session=True
        )
        try:
            assert shell.wait(600) == 0, (tmp_path / "said").read_text()
        finally:
            os.killpg(shell.pid, signal.SIGTERM)  # the programs that stay
    assert (tmp_path / ends_with).exists()
    assert "It adds up" in (tmp_path / "said").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["federated_loopback", "hidden_loopback", "mpc_loopback"])
def test_the_example_that_a_story_starts_with_runs(name):
    """Five hospitals, a bank with a hidden model, and secret shares: real processes over TLS on this machine."""
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr

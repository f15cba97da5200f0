"""The guides' blocks run, in order: Python as it stands, commands as they are typed; the site has no broken link."""

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from privet.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", flags=re.M | re.S)


@pytest.mark.parametrize(
    "page",
    [
        "adding_an_algorithm.md",
        "persons.md",
        "evaluation.md",
        "model_selection.md",
        "report.md",
        "first_ten_minutes.md",
        "story_hospital.md",
    ],
)
def test_every_block_of_a_guide_runs(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    guide = ModuleType("guide")
    monkeypatch.setitem(sys.modules, "guide", guide)  # dataclasses look up the module that they are written in
    found = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert found
    for language, block in found:
        if language == "python":
            exec(compile(block, page, "exec"), vars(guide))
        else:
            for line in block.splitlines():
                _type(line)


def _type(line):
    """Run a command in this process: the one that a reader would type."""
    program, *words = shlex.split(line)
    if program == "python":
        exec(compile(words[1], line, "exec"), {})
    elif program == "privet":
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{line}\n{result.output}"
        if words[:2] == ["schema", "draft"]:  # as the page says: confirm every field
            schema = Path(words[words.index("-o") + 1])
            schema.write_text(re.sub(r"^inferred.*\n", "", schema.read_text(), flags=re.M))
    else:
        assert line.startswith("pip install privet")


def test_the_site_builds_and_no_link_is_broken(tmp_path, monkeypatch):
    """Warnings are errors there (``strict``), and pages that no menu names are warnings."""
    pytest.importorskip("mkdocstrings")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path / "site")))
    assert (tmp_path / "site" / "reference" / "index.html").stat().st_size > 50_000

"""The blocks of Python in the guides run, in order."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize(
    "page", ["adding_an_algorithm.md", "persons.md", "evaluation.md", "model_selection.md", "report.md"]
)
def test_every_block_of_a_guide_runs(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    guide = ModuleType("guide")
    monkeypatch.setitem(sys.modules, "guide", guide)  # dataclasses look up the module that they are written in
    found = blocks(page)
    assert found
    for block in found:
        exec(compile(block, page, "exec"), vars(guide))

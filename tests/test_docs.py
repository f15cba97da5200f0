"""The blocks of Python in the guides run, in order."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("page", ["adding_an_algorithm.md"])
def test_every_block_of_a_guide_runs(page, capsys):
    space = {"__name__": "guide"}
    found = blocks(page)
    assert found
    for block in found:
        exec(compile(block, page, "exec"), space)

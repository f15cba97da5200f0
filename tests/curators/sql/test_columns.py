"""Columns are told apart by what they are, so that a statement has each once; draws by when they were made."""

from databases import CLASSES
from privet.curators.sql.columns import Cell, Draw, Number
from privet.questions.grid import even_grid


def test_equal_columns_are_one_and_draws_are_not():
    grid, same = even_grid(CLASSES, 3), even_grid(CLASSES, 3)
    assert len({Cell(grid, 0), Cell(same, 0), Number(0), Number(0)}) == 2
    assert len({Draw("salt", (1, 1)), Draw("salt", (1, 1))}) == 2

"""What all curators share that can count exactly in one place: charge first, count, then noise or selection.

A subclass says how to count (``counting.py``); everything private happens in ``tallies.py``, ``choices.py`` and
``quantiles.py``. One that counts inside a joint computation instead (``mpc.py``) answers by itself what was checked and
charged there.
"""

from __future__ import annotations

from privet.curators.choices import Choices
from privet.curators.quantiles import Quantiles
from privet.curators.tallies import Tallies


class CentralCurator(Tallies, Choices, Quantiles):
    """A trusted curator: it sees all records, and what leaves it has been paid for."""

    capabilities = frozenset(
        {
            *("tally", "choose", "choose_each", "owner_sum", "quantiles", "target_quantiles", "peek"),
            *("parts", "copies", "samples", "focus", "advance", "zcdp"),
        }
    )
    trust = "The machine that trained the model saw all records; nobody else had to."

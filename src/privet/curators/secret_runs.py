"""The best of a secret number of runs, behind the curtain: what one run asks is charged to it, and all of them once.

Every run has a desk, and a ledger, of its own: nothing of it is in the fit's events, and nothing but the best run is
handed back (``privacy/random_stopping.py`` has the price and its proof).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from operator import itemgetter
from typing import TypeVar

from privet.curators.desk import Desk
from privet.curators.prices import Asked
from privet.privacy.ledger import Ledger
from privet.privacy.random_stopping import COST
from privet.questions.curtain import Node

Found = TypeVar("Found")


def best_of_secret_runs(
    desk: Desk, budget: Fraction, expected: int, options: int, run: Callable[[Desk, Node, int], tuple[Found, int]]
) -> Found:
    """What the run with the largest score found, of the records that are there to learn from; costs ``budget``.

    ``run`` is given a desk that pays up to ``budget / COST``, the node of all its records, to be parted, and which of
    so many options to take: by chance, so that all runs have one law. A run that fails is one with the lowest score:
    an error that ended the others would tell that there was such a run. It is raised if no run did better. Nor is any
    run's warning passed on, whoever gives it: one for each would count them.
    """
    room, root = desk._room, desk.root(budget)
    asked = Asked(root, desk._nodes.place(root), None, budget)
    desk._charge([asked], [asked.stopped()])
    came: list[tuple[Found | Exception, float]] = []
    for option in room.secret_runs(expected, options):
        own = Desk(desk.schema, Ledger(budget / COST), room, trust=desk.trust, void=desk.void)
        own.learning_share = desk.learning_share
        scope = own.ledger.gather("fit", own.unit)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                came.append(run(own, own._nodes.top(scope, room.anew(asked.place.held, scope)), option))
        except Exception as error:
            came.append((error, -math.inf))
        own._room = None  # which the next run needs: it stays open
        own.close()
        came = [max(came, key=itemgetter(1))]  # the first among equals
    ((best, _),) = came
    if isinstance(best, Exception):
        raise best
    return best

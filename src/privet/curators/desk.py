"""The desk: one for each fit, behind its curtain. It checks, prices and charges; only then does the curator count.

It owns the open nodes and knows the ledger. A question is read once, every word in it must be of an exact type
(``questions/``) and fit the present grid, its price follows from mechanism, lemma and budget, and all nodes are charged
or none. What a curator can answer is what its room implements; everything private about an answer happens in there.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial, wraps
from typing import Any, NoReturn

import numpy as np

from privet.curators import prices
from privet.curators.open_nodes import OpenNodes, OpenRoot, renumbered
from privet.curators.prices import BOOSTED, MEASURES, Asked
from privet.errors import CapabilityError, LeakError
from privet.privacy.event import SELECTIONS, Event
from privet.privacy.ledger import Ledger
from privet.privacy.reservation import Reservation
from privet.privacy.scope import Scope
from privet.privacy.scores import GradientNorm, Quantile, ResidualNorm, Score, Worth
from privet.privacy.unit import Unit
from privet.privacy.zcdp import rho_within
from privet.questions.candidates import Candidates
from privet.questions.curtain import Budget, Curtain, Node, draw_curtain, positive
from privet.questions.grid import Grid
from privet.questions.scorer import Scorer
from privet.questions.split import Choice, Split, check_splits, check_tables
from privet.questions.tally import Step, Tally
from privet.questions.word import all_of, exactly, fraction, number, text, whole
from privet.schema import Schema

TARGET_QUESTIONS = ("target_quantiles", "residual_quantiles")
SCORING = ("evaluate", "prefer")
QUESTIONS = ("tally", "choose", "choose_each", "owner_sum", "quantiles", *TARGET_QUESTIONS, "peek", *SCORING)
STRUCTURE = ("parts", "copies", "samples", "focus", "advance", "noise")
MOST_NODES = 2**20
"""Of one call: parts, copies or samples."""


def _answered_in_turn(method: Callable[..., Any]) -> Callable[..., Any]:
    """One question at a time: structure that one thread changes is never seen half changed by another's question.

    Nor by one of the same thread: to read a question may run its asker's code, a generator's, say, which must not
    change the grid that the rest of it was checked against.
    """

    @wraps(method)
    def ask(self: Desk, *args: Any, **kwargs: Any) -> Any:
        with self._turn:
            if self._closed:
                raise LeakError("This fit has ended, and its nodes and choices with it. Fit again.")
            if self._asking:
                raise LeakError("A question cannot be asked while another one is being read.")
            if method.__name__ in (*QUESTIONS, *STRUCTURE) and method.__name__ not in self.capabilities:
                self.cannot(method.__name__)
            self._asking = True
            try:
                # Whether numbers overflow follows from records: that neither raises nor warns, whatever the caller set.
                with np.errstate(all="ignore"):
                    return method(self, *args, **kwargs)
            finally:
                self._asking = False

    return ask


class Desk:
    """See the module; ``room`` is the curator's (``curators/room.py`` says what one may have)."""

    def __init__(self, schema: Schema, ledger: Ledger, room: Any, *, trust: str, void: tuple[str, ...] = ()) -> None:
        self.schema = schema
        self.ledger = ledger
        self.trust = trust
        self.void = void
        self.unit = Unit.of(schema)
        self.capabilities = capabilities_of(type(room))
        self.n_owners: int = getattr(room, "n_owners", 1)
        self.noise_factor: float = getattr(room, "noise_factor", 1.0)  # of the variance that was paid for
        self.events: list[Event] = []
        self.reservation: Reservation | None = None  # what the ledger's file has set aside for this fit
        self._room = room
        self._nodes = OpenNodes(self.unit)
        self.learning: Node | None = None  # the part that roots are of, where the records were parted
        self.learning_share = Fraction(1)  # of all records: public
        self.told_size: float | None = None  # noisy, of records or persons, where it was the first question of a fit
        self._grid: Grid | None = None
        self._turn = threading.RLock()
        self._asking = False
        self._closed = False

    @property
    def curtain(self) -> Curtain:
        """A curtain in front of this desk."""
        return draw_curtain(self)

    @property
    def most_records(self) -> int:
        return int(self._room.most_records) if hasattr(self._room, "most_records") else self.cannot("most_records")

    def close(self) -> None:
        """End the fit: nothing is answered any more, and what was kept for its nodes is dropped."""
        with self._turn:
            self._closed = True
            self._nodes.clear()
            room, self._room = self._room, None
            getattr(room, "close", lambda: None)()

    def cannot(self, question: str) -> NoReturn:
        raise CapabilityError(
            f"These records cannot be asked for {question!r}; they can be asked for: "
            f"{', '.join(sorted(self.capabilities)) or 'nothing'}. See docs/architecture.md for which curator can."
        )

    def rho_within(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        return rho_within(fraction(epsilon, "An epsilon"), fraction(delta, "A delta"), self.ledger.whole_orders)

    def covers(self, epsilon: Fraction) -> bool:
        return self.ledger.covers(fraction(epsilon, "An epsilon"), self.reservation)

    # -- public structure: free, and blind to records -----------------------------------------------------------------

    @_answered_in_turn
    def root(
        self, limit: Fraction | float = math.inf, currency: str = "epsilon", *, within: Node | None = None
    ) -> Node:
        """As ``Curtain.root``. ``within``: of this node's records; by default of those that are there to learn from."""
        if text(currency, "A currency") != "epsilon" and currency not in self._room.noises:
            self.cannot("zcdp")
        limit = math.inf if type(limit) is float and limit == math.inf else fraction(limit, "A limit")
        within = self.learning if within is None else within
        place = None if within is None else self._nodes.place(within)
        scope = self.ledger.begin("fit", limit, currency, self.unit, place and place.scope, self.reservation)
        if self.schema.target is not None and "focus" in self.capabilities:
            self._room.focus(*self.schema.target)
        if place is None:
            return self._nodes.root(scope, self._room.everything(scope))
        return self._nodes.root_within(place, scope, self._room.anew(place.held, scope))

    @_answered_in_turn
    def gather(self) -> Node:
        """All records, to be parted before a fit begins. It has no limit but the ledger's; roots ``within`` have."""
        scope = self.ledger.gather("fit", self.unit, self.reservation)
        return self._nodes.top(scope, self._room.gathered(scope))

    @property
    def roots(self) -> list[OpenRoot]:
        """All roots that were opened, with their paths in the receipt."""
        return self._nodes.roots

    @_answered_in_turn
    def path(self, node: Node) -> str:
        return self._nodes.path(node)

    @_answered_in_turn
    def grid(self, grid: Grid) -> None:
        if exactly(Grid, grid, "A grid").schema != self.schema:
            raise LeakError("A grid must have the schema's features, in their order.")
        self._room.use(grid)
        self._grid = grid

    @_answered_in_turn
    def split(self, splits: Mapping[Node, Split]) -> dict[Node, tuple[Node, ...]]:
        asked = self._nodes.asked(splits)
        if not asked:
            return {}
        if "hidden" in self.capabilities and not any(type(each.word) is Split for each in asked):
            split = self._room.split_hidden
        else:
            check_splits([each.word for each in asked], self.cells)
            split = self._room.split
        held = split([(each.place.held, each.word) for each in asked])
        return {each.node: self._children(each, own) for each, own in zip(asked, held)}

    def _children(self, parent: Asked, held: Sequence[Any]) -> tuple[Node, ...]:
        return self._nodes.below(parent.place, parent.place.scope.split(len(held)), held)

    @_answered_in_turn
    def parts(self, node: Node, shares: int | Sequence[int]) -> list[Node]:
        place = self._nodes.place(node)
        if isinstance(shares, int | np.integer):
            weights = [1] * whole(shares, 1, MOST_NODES, "The number of parts")
        else:
            weights = [whole(share, 1, 2**31, "A part's share") for share in shares]
        if not weights or sum(weights) > 2**31:
            raise LeakError("Ask for at least one part, with shares that add up to at most 2^31.")
        held = self._room.parts(place.held, weights)
        return list(self._nodes.below(place, place.scope.split(len(weights), "parts"), held))

    @_answered_in_turn
    def copies(self, node: Node, n: int) -> list[Node]:
        place, n = self._nodes.place(node), whole(n, 0, MOST_NODES, "The number of copies")
        scopes = [place.scope.copy() for _ in range(n)]
        return list(self._nodes.below(place, scopes, self._room.copies(place.held, n)))

    @_answered_in_turn
    def samples(self, node: Node, n: int, inverse_rate: int) -> list[Node]:
        place, n = self._nodes.place(node), whole(n, 0, MOST_NODES, "The number of samples")
        inverse_rate = whole(inverse_rate, 1, 2**31, "One over a sample's rate")
        scopes = [place.scope.sample(inverse_rate) for _ in range(n)]
        return list(self._nodes.below(place, scopes, self._room.samples(place.held, n, inverse_rate)))

    @_answered_in_turn
    def focus(self, low: float, high: float) -> None:
        if self.schema.target is None:
            raise LeakError("There is no numeric target to clamp: this schema has classes.")
        low, high = number(low, "A focus"), number(high, "A focus")
        if not self.schema.target[0] <= low <= high <= self.schema.target[1]:
            raise LeakError("A focus is a part of the target's public range.")
        self._room.focus(low, high)

    @_answered_in_turn
    def advance(self, steps: Mapping[Node, Step]) -> None:
        asked = self._nodes.asked(steps, Step)
        for each in asked:
            self._has_scores(each.word.output, [each])
            each.word.split.check(self.cells)
        self._room.advance([(each.place.held, each.word) for each in asked])

    @_answered_in_turn
    def noise(self, values: np.ndarray, scale: float) -> np.ndarray:
        noisy: np.ndarray = self._room.noise(np.array(values, dtype=np.int64), number(scale, "A noise scale"))
        return noisy

    @_answered_in_turn
    def draw_hidden(self, nodes: Sequence[Node], options: Candidates) -> dict[Node, Any]:
        if "hidden" not in self.capabilities:
            self.cannot("hidden")
        places = [self._nodes.place(node) for node in list(nodes)]
        prices.check_options(exactly(Candidates, options, "Candidates"), self)
        return dict(zip(nodes, self._room.draw_hidden([place.held for place in places], options)))

    # -- private questions: checked, priced, charged, and then answered ------------------------------------------------

    @_answered_in_turn
    def tally(self, tallies: Mapping[Node, Tally], budget: Budget) -> dict[Node, np.ndarray]:
        asked = self._nodes.paid(tallies, Tally, budget)
        for tally in {(id(t.tables), t.measure, t.output): t for t in (each.word for each in asked)}.values():
            self._may_tally(tally, [each for each in asked if each.word.tables is tally.tables])
        prices.check_memory_of_sums([each.word.parted_by for each in asked], self.schema)
        events = [self._summed(own, "tally", MEASURES[own.word.measure], len(own.word.tables) or 1) for own in asked]
        first, answers = not self.events, self._answer(asked, events, self._room.tally)
        self.told_size = prices.only_number(answers, self.unit) if first else self.told_size
        return answers

    def _may_tally(self, tally: Tally, asked: Sequence[Asked]) -> None:
        if tally.tables:
            (check_tables if tally.measure in BOOSTED else check_splits)(tally.tables, self.cells)
        prices.check_measure(tally.measure, self.schema)
        if tally.measure in BOOSTED:
            self._has_scores(tally.output, [each for each in asked if each.word.measure == tally.measure])

    def _summed(self, asked: Asked, question: str, lemma: str, tables: int) -> Event:
        priced = asked.summed(question, self._room.noises[asked.place.scope.currency], lemma, tables)
        event: Event = self._room.priced_sum(priced, asked.word)
        return event

    @_answered_in_turn
    def evaluate(self, scorers: Mapping[Node, Scorer], budget: Budget) -> dict[Node, np.ndarray]:
        asked = self._nodes.paid(scorers, self._room.scorer, budget)
        prices.check_scorers(tuple(each.word for each in asked), self.schema)
        events = [self._summed(each, "evaluate", MEASURES["records"], 1) for each in asked]
        return self._answer(asked, events, self._room.evaluate)

    @_answered_in_turn
    def prefer(self, node: Node, scorers: Sequence[Scorer], budget: Fraction) -> int:
        own: tuple[Scorer, ...] = prices.check_scorers(all_of(Scorer, scorers, "Scorers"), self.schema)
        score = Worth(own[0].most_worth)
        each = Asked(node, self._nodes.place(node), None, positive(budget))
        mechanism = "permute_and_flip" if each.place.scope.currency == "epsilon" else "exponential"
        event = self._room.priced_preference(each.chosen("choose a model", mechanism, score), own, score)
        self._charge([each], [event])
        winner: int = self._room.prefer(each.place.held, own, score, event)
        return winner

    @_answered_in_turn
    def owner_sum(
        self, tables: Mapping[Node, tuple[Split, ...]], statistic: str, budget: Budget
    ) -> dict[Node, np.ndarray]:
        prices.check_statistic(text(statistic, "A statistic"))
        asked = self._nodes.paid(tables, None, budget)
        once = {id(each.word): check_splits(each.word, self.cells) for each in asked}
        asked = [replace(each, word=once[id(each.word)]) for each in asked]
        prices.check_memory_of_sums([each.word for each in asked], self.schema)
        if not all(each.word for each in asked):
            raise LeakError("A sum over owners needs at least one table.")
        events = [self._summed(each, "owner sum", statistic, len(each.word)) for each in asked]
        return self._answer(asked, events, partial(self._room.owner_sum, statistic=statistic))

    @_answered_in_turn
    def choose(
        self,
        candidates: Mapping[Node, Candidates],
        score: Any,
        budget: Budget,
        *,
        mechanism: str = "permute_and_flip",
        hidden: bool = False,
    ) -> dict[Node, Any]:
        if hidden:
            return self._choose_hidden(candidates, score, budget, mechanism)
        asked, own, events = self._priced_choice(candidates, score, budget, mechanism)
        return self._answer(asked, events, partial(self._room.choose, score=own, mechanism=mechanism))

    @_answered_in_turn
    def choose_each(
        self, candidates: Mapping[Node, Candidates], score: Any, budget: Budget, *, mechanism: str = "permute_and_flip"
    ) -> dict[Node, list[Choice]]:
        asked, own, events = self._priced_choice(candidates, score, budget, mechanism)
        return self._answer(asked, events, partial(self._room.choose_each, score=own, mechanism=mechanism))

    def _priced_choice(
        self, candidates: Mapping[Node, Candidates], score: Any, budget: Budget, mechanism: str
    ) -> tuple[list[Asked], Score, list[Event]]:
        asked, own = self._nodes.paid(candidates, Candidates, budget), prices.score_named(score)
        if text(mechanism, "A mechanism") not in SELECTIONS:
            raise LeakError(f"A choice is made by one of {', '.join(SELECTIONS)}, not by {mechanism!r}.")
        self._may_choose(asked, own)
        events = [
            self._room.priced_choice(each.chosen(each.word.question, mechanism, own), each.word, own) for each in asked
        ]
        return asked, own, events

    def _may_choose(self, asked: Sequence[Asked], score: Score) -> None:
        """Raise LeakError for a choice that could not be answered or that no lemma covers: before it is charged."""
        prices.check_memory_of_choices([each.word for each in asked])
        for options in {id(each.word): each.word for each in asked}.values():
            prices.check_options(options, self)
            prices.check_score(score, options, self.schema)
            if type(score) is GradientNorm or type(score) is ResidualNorm:
                self._has_scores(getattr(score, "output", 0), [each for each in asked if each.word is options])

    def _choose_hidden(
        self, candidates: Mapping[Node, Candidates], score: Any, budget: Budget, mechanism: str
    ) -> dict[Node, Any]:
        if "hidden" not in self.capabilities:
            self.cannot("hidden")
        if isinstance(budget, Mapping):
            raise LeakError("A hidden choice has one list of candidates and one budget for all nodes of a level.")
        if mechanism == "exact":
            asked, own = self._nodes.paid(candidates, Candidates, budget), prices.score_named(score)
            self._may_choose(asked, own)
            events = [each.peeked() for each in asked]
        else:
            asked, own, events = self._priced_choice(candidates, score, budget, mechanism)
        if asked:
            self._room.may_choose_hidden([(each.place.held, each.word) for each in asked], own, events)
        return self._answer(asked, events, partial(self._room.choose_hidden, score=own, mechanism=mechanism))

    @_answered_in_turn
    def quantiles(
        self, node: Node, features: Sequence[int], probs: Sequence[Fraction], budget: Fraction
    ) -> dict[int, list[float]]:
        grid, place = self.cells, self._nodes.place(node)
        numbers = [whole(f, 0, len(grid.features) - 1, "A feature's number") for f in list(features)]
        levels = [fraction(p, "A probability") for p in list(probs)]
        if not numbers or not levels:
            raise LeakError("Ask for at least one feature and one probability.")
        prices.check_cut(numbers, grid)
        score = prices.quantile_score(levels, max(grid.features[f].n_cells for f in numbers))
        each = Asked(node, place, None, positive(budget) / len(numbers))
        event = each.quantile("quantile" if type(score) is Quantile else "joint quantiles", score)
        self._charge([each] * len(numbers), [event] * len(numbers))
        found: dict[int, list[float]] = self._room.quantiles(place.held, numbers, score, event.scale)
        return found

    @_answered_in_turn
    def target_quantiles(self, node: Node, probs: Sequence[Fraction], budget: Fraction) -> list[float]:
        return self._quantiles_of("the target", node, probs, budget, self._room.target_quantiles)

    @_answered_in_turn
    def residual_quantiles(self, node: Node, probs: Sequence[Fraction], budget: Fraction) -> list[int]:
        self._room.check_scored([self._nodes.place(node).held])
        return self._quantiles_of("residuals", node, probs, budget, self._room.residual_quantiles)

    def _quantiles_of(
        self, what: str, node: Node, probs: Sequence[Fraction], budget: Fraction, answer: Callable[..., list[Any]]
    ) -> list[Any]:
        place = self._nodes.place(node)
        if self.schema.target is None:
            raise LeakError("There is no numeric target: this schema has classes.")
        levels = [fraction(p, "A probability") for p in list(probs)]
        if not levels or not all(0 <= p <= 1 for p in levels):
            raise LeakError("Quantiles need probabilities from 0 to 1, as Fractions.")
        each = Asked(node, place, None, positive(budget) / len(levels))
        scores = [Quantile(p.numerator, p.denominator) for p in levels]
        events = [each.quantile(f"quantile of {what}", score) for score in scores]
        self._charge([each] * len(levels), events)
        return answer(place.held, scores, [e.scale for e in events])

    @_answered_in_turn
    def peek(self, nodes: Sequence[Node]) -> dict[Node, np.ndarray]:
        asked = [Asked(node, self._nodes.place(node), None) for node in dict.fromkeys(nodes)]
        self.cells  # noqa: B018 - raises where there is no grid yet
        return self._answer(asked, [each.peeked() for each in asked], self._room.peek)

    # -- charges -------------------------------------------------------------------------------------------------------

    def _answer(self, asked: Sequence[Asked], events: Sequence[Event], answer: Callable[..., Any]) -> dict[Node, Any]:
        """Charge all or raise, and only then count."""
        if not asked:
            return {}
        self._charge(asked, events)
        answers = answer([(each.place.held, each.word) for each in asked], events=events)
        return {each.node: own for each, own in zip(asked, answers)}

    def _charge(self, asked: Sequence[Asked], events: Sequence[Event]) -> None:
        self.ledger.charge([(each.place.scope, event) for each, event in zip(asked, events)])
        self.events += (
            replace(event, scope=renumbered(event.scope, each.place.top)) for each, event in zip(asked, events)
        )

    # -- for those behind the curtain ------------------------------------------------------------------------------

    def scope(self, node: Node) -> Scope:
        """A node's scope, for those behind the curtain."""
        return self._nodes.place(node).scope

    def held(self, node: Node) -> Any:
        """What the room holds for a node, for those behind the curtain."""
        return self._nodes.place(node).held

    @property
    def cells(self) -> Grid:
        """The present grid."""
        if self._grid is None:
            raise LeakError("Set the curator's grid before asking about cells.")
        return self._grid

    def _has_scores(self, output: int, asked: Sequence[Asked]) -> None:
        """Raise unless records have a score of this class, and the room can tell those of what is asked about."""
        if "advance" not in self.capabilities:
            self.cannot("advance")
        prices.check_output(output, self.schema)
        self.cells  # noqa: B018 - raises where there is no grid yet
        self._room.check_scored([each.place.held for each in asked])


def capabilities_of(room: type) -> frozenset[str]:
    """What a room can answer and do: what it implements, and noise in rho, if it has any."""
    can = {name for name in (*QUESTIONS, *STRUCTURE, "secret_runs") if hasattr(room, name)}
    can |= {"zcdp"} if "rho" in room.noises else set()  # type: ignore[attr-defined]
    return frozenset(can | ({"hidden"} if hasattr(room, "choose_hidden") else set()))

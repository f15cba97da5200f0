"""Many owners, three servers: counts arrive as secret shares, and choices are made inside the computation.

Owners bin and count locally and share histograms only, so what the servers do costs the same for a thousand records and
for a million. Each server runs the same algorithm on a curator of its own: the public structure and the ledgers are the
same on all three, the shares differ, and what is opened is the private answer alone. So a question is checked and
charged by each server before anything is counted, as by any curator.

Semi-honest, honest majority, not independently reviewed.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.curators.base import Curator, reasons_void, trust_of_owners
from privet.curators.desk import Desk, capabilities_of
from privet.curators.owners.mpc_owner import MOST_REQUEST, Line
from privet.curators.records import MOST_RECORDS
from privet.curators.remote import Numbered, RemoteRoom, numbers_of
from privet.errors import BudgetError, LeakError, MpcError, SchemaError
from privet.privacy.event import Event
from privet.privacy.joint import JointMechanisms, SeededCoins
from privet.privacy.joint_scores import check_joint, joint_scores, score_bits, score_range
from privet.privacy.ledger import Ledger
from privet.privacy.scores import Score
from privet.privacy.truncated_geometric import Drawn
from privet.privacy.unit import Unit
from privet.questions.candidates import Candidates
from privet.questions.codec import schema_digest, scorer_words, words_digest
from privet.questions.linear_maps import children_of, correct_counts, prior_points, tabled
from privet.questions.scorer import Scorer
from privet.questions.split import Choice
from privet.questions.tally import Tally
from privet.schema import Schema
from privet.shares.engine import Engine, Secret

if TYPE_CHECKING:
    from privet.shares.replicated import ReplicatedEngine

MOST_SHARED = 4_000_000
"""Numbers drawn for one choice, at least one for each candidate: they take some gigabytes of messages."""


LARGEST_DELTA = Fraction(1, 2**30)
"""Of one answer. At usual epsilons it is below 2^-60."""


class Owners:
    """A server's lines to all owners. Requests are the same on all servers; the answers are this server's shares.

    ``most_records`` is the public bound on the records of each owner; ``waited`` the seconds that they took to count.
    """

    def __init__(self, engine: ReplicatedEngine, lines: Sequence[Line], schema: Schema, most_records: int) -> None:
        if not lines:
            raise SchemaError("A joint computation needs at least one owner.")
        self.engine = engine
        self._lines = lines
        self.waited = 0.0
        self.most_records = most_records * len(lines)
        self.tell("start", ring_bits=engine.ring_bits, most_records=most_records, schema=schema_digest(schema))

    def tell(self, do: str, **what: Any) -> None:
        for line in self._lines:
            self._say(line, do, **what)

    def _say(self, line: Line, do: str, **what: Any) -> None:
        line.send(json.dumps({"do": do, **what}, sort_keys=True).encode())

    def ask(self, do: str, shape: tuple[int, ...], **what: Any) -> Secret:
        """The owners' counts, added up: on shares, each server for itself."""
        self.tell(do, **what)
        shares = [self._receive(line, shape) for line in self._lines]
        total = shares[0]
        for share in shares[1:]:
            total = total + share
        return total

    def _receive(self, line: Line, shape: tuple[int, ...]) -> Secret:
        wire = self.engine.wire(shape)
        asked = time.perf_counter()
        part = line.receive(wire.nbytes)
        self.waited += time.perf_counter() - asked
        if len(part) != wire.nbytes:
            raise MpcError("An owner's shares have the wrong length. The run has ended.")
        return self.engine.receive(np.frombuffer(part, dtype=wire.dtype).reshape(wire.shape))

    def done(self) -> None:
        self.tell("done")


class JointRoom(RemoteRoom):
    """Questions that were checked and charged, answered on shares: of counts (``MpcRoom``), or of rows."""

    noises: Mapping[str, str] = MappingProxyType({"epsilon": "geometric"})

    def __init__(
        self,
        schema: Schema,
        numbers: count[int],
        engine: Engine,
        joint: JointMechanisms,
        owners: Any,
        progress: Callable[[str], None],
    ) -> None:
        super().__init__(schema, numbers)
        self._engine, self._joint, self._owners, self._progress = engine, joint, owners, progress
        self.most_records: int = owners.most_records
        self._most = self.most_records * self._heaviest(Unit.of(schema))  # no count is larger
        self.noise_factor = joint.noise_factor
        self._width = len(schema.classes or ())

    def _heaviest(self, unit: Unit) -> int:
        """A record weighs at most as much as its person."""
        return unit.weight

    def tell(self, do: str, **what: Any) -> None:
        self._owners.tell(do, **what)

    # -- prices: noise that is not drawn exactly has a delta, and the ring must hold all numbers -----------------------

    def priced_sum(self, event: Event, asked: Any) -> Event:
        shape = self._shape(asked) if isinstance(asked, Tally) else asked.shape
        drawn = self._joint.drawn_tally(math.prod(shape), event.scale)
        self._engine.need(self._joint.sum_bits(event.scale, self._most))
        return _with_delta(event, drawn)

    def priced_choice(self, event: Event, options: Candidates, score: Score) -> Event:
        check_joint(score)
        low, high = self._scale_range(options, score, event.scale)
        priced = self._priced_selection(event, len(options), high - low)
        self._engine.need(score_bits(score, self._most))
        return priced

    def _priced_selection(self, event: Event, n: int, span: int) -> Event:
        """A choice of one of ``n``, whose scores are within ``span``."""
        drawn = self._joint.drawn_choice(event.mechanism, n, event.scale)
        if drawn.draws > MOST_SHARED:
            raise LeakError(
                f"On secret shares a choice draws at most {MOST_SHARED:,} numbers, and {event.mechanism} of "
                f"{n:,} candidates draws {drawn.draws:,}. Offer fewer, or choose by permute_and_flip."
            )
        self._engine.need(self._joint.key_bits(event.mechanism, [span], [n], [event.scale]))
        return _with_delta(event, drawn)

    def _scale_range(self, options: Candidates, score: Score, scale: float) -> tuple[int, int]:
        """Between which public numbers the scores with their priors lie."""
        low, high = score_range(score, self._most)
        offsets = prior_points(options.log_prior, scale)
        return low + int(offsets.min()), high + int(offsets.max())

    # -- sums ----------------------------------------------------------------------------------------------------------

    def tally(self, asked: Sequence[tuple[Numbered, Tally]], events: Sequence[Event]) -> list[np.ndarray]:
        scales = [event.scale for event in events]
        self._progress(f"noisy counts of {_nodes(len(asked))}")
        self._agree("tally", scales, *((node.number, tally) for node, tally in asked))
        return self._noisy(self._shared_tallies(asked), scales)

    def _noisy(self, exact: Sequence[Secret], scales: Sequence[float]) -> list[np.ndarray]:
        """Shares of counts with the noise that was paid for, opened: one opening for all that share a scale."""
        answers: dict[int, np.ndarray] = {}
        for scale in dict.fromkeys(scales):
            together = [i for i, own in enumerate(scales) if own == scale]
            sizes = [exact[i].shape for i in together]
            flat = [exact[i].reshape(-1) for i in together]
            (noisy,) = self._joint.geometric([self._engine.concatenate(flat)], [scale])
            ends = np.cumsum([math.prod(shape) for shape in sizes])[:-1]
            answers |= {i: own.reshape(shape) for i, own, shape in zip(together, np.split(noisy, ends), sizes)}
        return [answers[i] for i in range(len(exact))]

    def _shared_tallies(self, asked: Sequence[tuple[Numbered, Tally]]) -> list[Secret]:
        plain = [i for i, (_, tally) in enumerate(asked) if not tally.tables]
        tables = [i for i, (_, tally) in enumerate(asked) if tally.tables]
        shared: dict[int, Secret] = {}
        if plain:
            totals = self._shared_totals([asked[i][0] for i in plain])
            shared |= {i: totals[k : k + 1] for k, i in enumerate(plain)}
        if tables:
            histograms = self._shared_histograms([asked[i][0] for i in tables])
            for k, i in enumerate(tables):
                shared[i] = self._engine.linear(
                    histograms[k], partial(tabled, grid=self._cells(), tables=asked[i][1].tables)
                )
        return [shared[i] if tally.by_class else shared[i].sum(axis=1) for i, (_, tally) in enumerate(asked)]

    # -- choices -------------------------------------------------------------------------------------------------------

    def choose(
        self, asked: Sequence[tuple[Numbered, Candidates]], events: Sequence[Event], score: Score, mechanism: str
    ) -> list[Choice]:
        scales = [event.scale for event in events]
        n_candidates = sum(len(options) for _, options in asked)
        self._progress(f"choosing for {_nodes(len(asked))} among {n_candidates:,} candidates")
        self._agree(
            *("choose", mechanism, score.lemma, scales), *((node.number, _public(options)) for node, options in asked)
        )
        scores, lows, spans = [], [], []
        for own, (_, options), scale in zip(self._shared_scores(asked, score), asked, scales):
            low, high = self._scale_range(options, score, scale)
            scores.append(own + prior_points(options.log_prior, scale))
            lows.append(low)
            spans.append(high - low)
        winners = self._joint.select(mechanism, scores, lows, spans, scales)
        return [options.choice(winner) for (_, options), winner in zip(asked, winners)]

    def _shared_scores(self, asked: Sequence[tuple[Numbered, Candidates]], score: Score) -> list[Secret]:
        """Shares of the scores of every candidate of every node, those of all nodes computed together."""
        nodes, options = [node for node, _ in asked], [options for _, options in asked]
        if all(each.splits is None and each.labelled for each in options):
            totals = self._shared_totals(nodes)
            return [totals[i] for i in range(len(nodes))]
        histograms = self._shared_histograms(nodes)
        children = [self._children(each, histograms[i]) for i, each in enumerate(options)]
        scores = {i: self._correct(each, children[i]) for i, each in enumerate(options) if each.labelled}
        rest = [i for i in range(len(nodes)) if i not in scores]
        if rest:
            width = max(children[i].shape[1] for i in rest)
            together = self._engine.concatenate([self._filled(children[i], width) for i in rest])
            scored = joint_scores(self._engine, score, together, self._most)
            sizes = [children[i].shape[0] for i in rest]
            scores |= {i: scored[end - n : end] for i, n, end in zip(rest, sizes, np.cumsum(sizes))}
        return [scores[i] for i in range(len(nodes))]

    def _children(self, options: Candidates, histogram: Secret) -> Secret:
        """Class counts of the children of every candidate; not splitting has one child, the node."""
        first = self._cells().offsets[1]

        def of(rows: np.ndarray) -> np.ndarray:
            totals = rows[:first].sum(axis=0)
            children = children_of(options, rows, totals)
            stop = np.zeros((1, *children.shape[1:]), dtype=np.int64)
            stop[0, 0] = totals
            return np.concatenate([children, stop[: options.stop]]).reshape(-1, rows.shape[1])

        children = self._engine.linear(histogram, of)
        n = len(options.indices) + options.stop
        return children.reshape(n, children.shape[0] // n, self._width)

    def _correct(self, options: Candidates, children: Secret) -> Secret:
        """The correct counts of all labellings of every candidate split, then of all labels of the node."""
        counts = [own.reshape(-1) for own in correct_counts(options, children)]
        return self._engine.concatenate([*counts, children[len(options.indices), 0]] if options.stop else counts)

    def _filled(self, children: Secret, width: int) -> Secret:
        """With empty children, which add nothing to any score, up to ``width``."""
        n, own, classes = children.shape
        if own == width:
            return children
        empty = self._engine.constant(np.zeros((n, width - own, classes), dtype=np.int64))
        return self._engine.concatenate([children, empty], axis=1)

    def _shared_histograms(self, nodes: Sequence[Numbered]) -> Secret:
        shape = len(nodes), self._cells().n_cells, self._width
        return self._owners.ask("histograms", shape, nodes=numbers_of(nodes))

    def _shared_totals(self, nodes: Sequence[Numbered]) -> Secret:
        return self._owners.ask("totals", (len(nodes), self._width), nodes=numbers_of(nodes))

    def _agree(self, *question: object) -> None:
        """Stop unless all servers are about to answer the same question with the same noise."""
        self._engine.agree(repr(question).encode())


class MpcRoom(JointRoom):
    """Owners know which of their records are in which node, so they can also say how a released model does there.

    Each sorts its own records into the cells of a scorer's table and shares the counts; these are added up on shares,
    and only the table with its noise is opened. Nobody sees an exact count, of one owner or of all. A record is in one
    cell of a table, so one more changes one count by one (with persons, by no more than a person's weight in all): the
    L1 sensitivity is that of any tally, and so are noise, price and delta.
    """

    def priced_sum(self, event: Event, asked: Any) -> Event:
        if isinstance(asked, Scorer):
            _check_sendable([asked])
        return super().priced_sum(event, asked)

    def priced_preference(self, event: Event, scorers: Sequence[Scorer], score: Score) -> Event:
        _check_sendable(scorers)
        return self._priced_selection(event, len(scorers), self._most_worth(scorers))

    def _most_worth(self, scorers: Sequence[Scorer]) -> int:
        return self._most * scorers[0].most_worth

    def evaluate(self, asked: Sequence[tuple[Numbered, Scorer]], events: Sequence[Event]) -> list[np.ndarray]:
        scales = [event.scale for event in events]
        self._progress(f"noisy scores of {_nodes(len(asked))}")
        self._agree("evaluate", scales, *((node.number, _said(scorer)) for node, scorer in asked))
        return self._noisy(self._shared_scored(asked), scales)

    def prefer(self, held: Numbered, scorers: Sequence[Scorer], score: Score, event: Event) -> int:
        """By permute-and-flip on what the models' predictions are worth (``Worth``), computed on shares: a sum of
        counts times public whole numbers, which each server takes by itself."""
        self._progress(f"choosing one of {len(scorers)} models")
        self._agree("prefer", event.mechanism, event.scale, held.number, *map(_said, scorers))
        tables = self._shared_scored([(held, scorer) for scorer in scorers])
        worth = [
            (table * np.broadcast_to(scorer.gains, scorer.shape)).reshape(-1).sum(0).reshape(1)
            for table, scorer in zip(tables, scorers)
        ]
        scores = [self._engine.concatenate(worth)]
        (winner,) = self._joint.select(event.mechanism, scores, [0], [self._most_worth(scorers)], [event.scale])
        return winner

    def _shared_scored(self, asked: Sequence[tuple[Numbered, Scorer]]) -> list[Secret]:
        """Shares of how many of each node's records are in each cell of its scorer's table."""
        sizes = [math.prod(scorer.shape) for _, scorer in asked]
        words = [[node.number, scorer_words(scorer)] for node, scorer in asked]
        flat = self._owners.ask("scored", (sum(sizes),), asked=words)
        ends = np.cumsum(sizes)
        return [flat[end - n : end].reshape(*own.shape) for (_, own), n, end in zip(asked, sizes, ends)]


class MpcCurator(Curator):
    """One server's curator. All three ask their curators the same questions, in the same order.

    ``coins`` other than the default are known to all servers and void the receipt; ``law`` says how noise is drawn
    (``privacy/joint.py``). ``progress`` is told in words what is being asked, which is public.
    """

    trust = (
        "No single machine saw a count: owners shared theirs among three servers, of which no two may collude. "
        "Semi-honest, honest majority, not independently reviewed."
    )
    room: type[JointRoom] = MpcRoom

    def __init__(
        self,
        schema: Schema,
        engine: Engine,
        owners: Owners,
        *,
        ledger: Ledger | None = None,
        coins: SeededCoins | None = None,
        law: str = "cut",
        progress: Callable[[str], None] | None = None,
    ) -> None:
        if schema.classes is None:
            raise SchemaError("Trees on secret shares need a schema with classes; this one has a numeric target.")
        weight = Unit.of(schema).weight
        if not 1 <= owners.most_records * weight <= MOST_RECORDS:
            each = "" if weight == 1 else f", and a record counts as up to {weight}: lower most_records"
            raise SchemaError(f"The owners' public bounds may add up to {MOST_RECORDS:,} records{each}.")
        self.schema = schema
        self.ledger = ledger or Ledger.current() or Ledger(math.inf)
        self._joint = JointMechanisms(engine, coins, law)
        self._engine, self._owners = engine, owners
        self._progress = progress or (lambda said: None)
        self._numbers = count()
        self.void = reasons_void(schema, reproducible=self._joint.reproducible)
        self.capabilities = capabilities_of(self.room)

    def open(self) -> Desk:
        room = self.room(self.schema, self._numbers, self._engine, self._joint, self._owners, self._progress)
        trust = trust_of_owners(self.trust, str(Unit.of(self.schema)))
        return Desk(self.schema, self.ledger, room, trust=trust, void=self.void)


def _with_delta(event: Event, drawn: Drawn) -> Event:
    """The event with what its noise adds, which is drawn in so many digits; BudgetError if that is no longer small."""
    delta = drawn.delta(event.mechanism, event.sensitivity, event.scale)
    if delta > LARGEST_DELTA:
        raise BudgetError(
            f"On secret shares noise is not exact, and at epsilon {float(event.charged):.3g} for one answer that would "
            f"cost a delta of {float(delta):.1g}. Lower epsilon: so large a one promises nothing anyway."
        )
    return replace(event, drawn=str(drawn), delta=delta)


def _public(options: Candidates) -> str:
    """All that a list of candidates says, in few bytes."""
    digest = blake2b(options.indices.tobytes() + options.log_prior.tobytes(), digest_size=32)
    digest.update(repr((options.labelled, options.stop, options.n_classes)).encode())
    return digest.hexdigest()


def _said(scorer: Scorer) -> str:
    return words_digest(scorer_words(scorer))


def _check_sendable(scorers: Sequence[Scorer]) -> None:
    """Raise LeakError, before anything is charged, for models that are too long to tell the owners."""
    if sum(len(json.dumps(scorer_words(scorer))) for scorer in scorers) > MOST_REQUEST - 2**16:
        raise LeakError("These models are too large to be scored on secret shares. Take fewer or smaller trees.")


def _nodes(n: int) -> str:
    return "one node" if n == 1 else f"{n} nodes"

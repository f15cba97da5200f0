"""One of the three servers of a joint training, over TLS (owners, trainers and users: ``client.py``).

Each server runs the whole algorithm on its own curator and ledger, so nothing that the trainer or another server says
can make it answer more than its own limit allows, or with noise that somebody knows. The trainer gets the model, which
is private, from all three and compares.

The servers open their lines first and then check the request, each for itself, before anything is spent or waited for:
one that refuses says so to the others and to whoever asked. The same goes for whatever fails later. It ends the run for
everybody, every line is told why before it is closed, and nothing is kept but what was spent.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import Any

import numpy as np

from privet.algorithms.held_out import Holdout
from privet.algorithms.model_file import to_dict
from privet.algorithms.registry import grown_of, make
from privet.consortium.federated.terms import VERSION
from privet.consortium.net.channel import Listener, TlsChannel
from privet.consortium.net.links import Inbox, join, server_name
from privet.consortium.servers.commitments import SALT_BYTES, commitment, committed_by_all
from privet.consortium.servers.config import OWNER, TRAINER, USER, Config
from privet.consortium.servers.contacts import Contacts
from privet.consortium.servers.jobs import MOST_JOB, PROTOCOL, QueryJob, TrainingJob, run_of
from privet.consortium.servers.offers import TrainingOffer, offered
from privet.consortium.servers.own_ledger import kept_ledger
from privet.consortium.servers.signatures import receipt_words, signed_by_all
from privet.consortium.servers.standing import DryRun, stands
from privet.consortium.servers.store import FORMAT, Store, shares_of
from privet.consortium.servers.users import Users, users_of
from privet.curators.hidden import HiddenCurator
from privet.curators.mpc import MpcCurator, Owners
from privet.curators.row_owners import RowOwners, check_persons, check_queries
from privet.errors import BudgetError, MpcError, PrivetError, RunEndedError
from privet.privacy.amounts import exact, show
from privet.privacy.joint import JointMechanisms, SeededCoins
from privet.privacy.mechanisms import scale_for
from privet.privacy.unit import Unit
from privet.questions.codec import schema_digest
from privet.schema import Schema
from privet.shares.mesh import PARTIES, Mesh
from privet.shares.replicated import ReplicatedEngine
from privet.tree.hidden_shape import check_queries_fit
from privet.tree.hidden_tree import HiddenForest, HiddenTree

_logger = logging.getLogger("privet.server")

CLIENTS = "clients"

TO_CONNECT = 60.0
"""Owners have at least so many seconds to start and connect, however short the time to answer is."""

TO_ASK = 10.0
"""Seconds in which a request has to be said, once it is begun: others wait for their turn."""

Progress = Callable[[str], None]


class Server:
    """One of the three. ``serve`` answers one trainer after another until it is closed."""

    def __init__(self, config: Config, progress: Progress = lambda said: None) -> None:
        if config.party is None or config.listen is None or config.ledger is None:
            raise PrivetError(f"This is not the file of a server: {config.name} has the role {config.role}.")
        self.config = config
        self.party = config.party
        self.schema = config.schema
        self.ledger = kept_ledger(config.ledger, config.epsilon, "all records of the owners")
        self._progress = progress
        self._inbox = Inbox()
        known = {server_name(i): peer.certificate for i, peer in enumerate(config.servers) if i != self.party}
        known |= {_owner(name): certificate for name, certificate in config.owners.items()}
        known[TRAINER] = config.trainer
        known |= {_user(name): certificate for name, (certificate, _) in config.users.items()}
        self._budget()  # whoever connects is told
        self._digest = schema_digest(self.schema)
        self._lines: dict[str, TlsChannel] = {}  # the last of each
        self._contacts = Contacts(config.ledger)
        self._listener = Listener(config.listen, config.identity, known, self._welcome, config.timeout, self._tells)

    @cached_property
    def users(self) -> Users:
        """Who may ask the hidden models that are kept here, and how many queries each has left."""
        return users_of(self.config)

    def _welcome(self, name: str, channel: TlsChannel) -> None:
        """Everybody who asks for something waits in one queue."""
        self._contacts.note(name)
        self._lines[name] = channel
        channel.heeded = name in map(server_name, range(PARTIES))
        asks = name == TRAINER or name in map(_user, self.config.users)
        self._inbox.welcome(CLIENTS if asks else name, channel)

    def serve(self, *, once: bool = False) -> None:
        while True:
            self._progress(f"waiting for a request; {self._budget()}")
            with self._inbox.first_to_speak(CLIENTS) as client:
                was_dry = False
                try:
                    was_dry = self._answer(client)
                except PrivetError as error:
                    _logger.info("a request has ended", exc_info=True)
                    self._end(client, error)
                    if once:
                        raise
                except Exception as error:  # a mistake of ours ends this run and not the server
                    _logger.exception("a request has failed")
                    why = self._end(client, error)
                    if once:
                        raise MpcError(why) from error
            if once and not was_dry:
                return

    def _tells(self, name: str) -> dict[str, Any]:
        """What everybody who connects is told: whether both would do the same, and how this server stands; and a user
        how many queries it has left."""
        own: dict[str, Any] = {}
        if (user := name.removeprefix(_user(""))) != name:
            with suppress(PrivetError):  # a damaged file is told of when somebody asks
                own["queries"] = self.users.left(user)
        return {
            **own,
            "version": VERSION,
            "protocol": PROTOCOL,
            "schema": self._digest,
            "limit": show(self.config.epsilon),
            "left": self._left,
            "owners": [name for name in self.config.owners if self._inbox.has(_owner(name))],
            "now": time.time(),
        }

    def status(self) -> dict[str, Any]:
        """What only the running server knows."""
        there = [{**each, "connected": self._is_here(each["name"])} for each in self._contacts.listed()]
        return {"members": there, "refused connections": self._listener.refused}

    def _is_here(self, name: str) -> bool:
        """Whether somebody waits in silence to be asked, or has a line on which something is done."""
        line = self._lines.get(name)
        return line is not None and not line.closed and (self._inbox.has(name) or not self._inbox.holds(name))

    def _budget(self) -> str:
        self._left = "unknown"
        try:
            self._left = show(self.ledger.remaining)
            return f"epsilon {self._left} of {show(self.ledger.total)} is left"
        except BudgetError as error:  # the file is busy or away, perhaps not for long: requests are refused, no more
            return str(error)

    def _end(self, client: TlsChannel, error: Exception) -> str:
        why = self._why(error)
        self._progress(why)
        client.leave(why)
        return why

    def _why(self, error: BaseException) -> str:
        """An error in words for the others: never those of one that was not foreseen, which could be anything."""
        if isinstance(error, RunEndedError):
            return str(error)
        name = server_name(self.party)
        if not isinstance(error, Exception):
            return f"{name} was stopped. The run has ended."
        said = error if isinstance(error, PrivetError) else f"it failed with {type(error).__name__}."
        return f"{name} has ended the run: {said}"

    def _until_the_end(self, stack: ExitStack, line: TlsChannel | Mesh) -> None:
        """Close a line when the run is over; if it has failed, say why."""
        stack.push(lambda kind, error, trace: line.close() if error is None else line.leave(self._why(error)))

    def _answer(self, client: TlsChannel) -> bool:
        """A request, once it is its turn: server 0 says so, and only then are the two others asked. So all three
        answer in the same order, however many ask at once. Returns whether it was no more than a dry run."""
        try:
            job = client.receive(MOST_JOB, within=TO_ASK)
        except RunEndedError:
            self._progress(f"{client.peer} was here and has asked for nothing")
            return True
        if client.speaks():  # there is nothing that it should say now, so this is the end
            raise MpcError("Whoever asked has left before it was its turn.")
        if client.peer == TRAINER and (dry := DryRun.from_bytes(job)) is not None:
            self._progress("a dry run: asking the owners who wait how they stand")
            client.send(json.dumps({"owners": self._standings(dry)}).encode())
            return True
        if self.party == 0:
            client.send(json.dumps({"turn": True}).encode())
        if client.peer != TRAINER:
            self._answer_queries(client, job, client.peer.removeprefix(_user("")))
        else:
            client.send(json.dumps(self._run(client, job)).encode())
        return False

    def _standings(self, dry: DryRun) -> dict[str, dict[str, Any] | None]:
        """How each owner stands that waits here, or None of one that does not."""
        lines = {name: self._inbox.silent(_owner(name)) for name in self.config.owners}
        return {name: None if line is None else stands(line, dry) for name, line in lines.items()}

    def _run(self, trainer: TlsChannel, job: bytes) -> dict[str, Any]:
        """One training: from a job to a model and its signed receipt, or what is public of one that stays hidden."""
        with ExitStack() as stack:
            mesh = self.join(job, stack)
            try:
                asked, learner = self._job(job)
                hidden = asked.hidden
                if hidden:
                    check_persons(self.schema, self.config.columns)
                held_out = Holdout.of(asked.holdout, asked.by, self.schema)  # raises if it makes no sense
                if hidden and held_out is not None:
                    held_out.check(frozenset({"hidden"}), {"hidden"})
                ring_bits = ring_for(self.config, self.schema, asked.run, learner) if hidden else 64
                most_records = self.config.rows if hidden else self.config.most_records
                held = self._held(hidden)
                learner.check_affordable(self.ledger)
                settings = self.config.noise, most_records, schema_digest(self.schema), *held
                self.agree(mesh, job, repr(settings).encode())
            except Exception as error:
                self._send_home(self._why(error))
                raise
            lines = self._owners(stack)
            self._said(trainer, "asking the owners whether they take part")
            price, seeded = exact(learner.epsilon), asked.seed is not None
            offered(lines, TrainingOffer(asked.run, asked.model, price, hidden, most_records, seeded))
            engine = ReplicatedEngine(mesh, ring_bits)
            started = time.perf_counter(), time.process_time()
            answers: type[MpcCurator] = HiddenCurator if hidden else MpcCurator
            asks: type[Owners] = RowOwners if hidden else Owners
            owners = asks(engine, lines, self.schema, most_records, *held)
            coins = None if asked.seed is None else SeededCoins(asked.seed)
            curator = answers(
                self.schema, engine, owners, ledger=self.ledger, coins=coins, law=self.config.noise,
                progress=lambda said: self._said(trainer, said),
            )  # fmt: skip
            learner.fit_curator(curator, holdout=asked.holdout, by=asked.by)
            # Before the owners are let go: a model that could not be kept is an error for all.
            if hidden:
                signed = keep(self.config, self.schema, asked.run, learner, ring_bits, mesh)
            else:
                words = receipt_words(asked.run, list(self.config.owners), learner.privacy_)
                signed = signed_by_all(words, self.config, mesh)
            owners.tell("done", signed=json.dumps(signed))  # as text: its order was signed
            engine.finish()
            self._said(trainer, f"done: {self._cost(mesh, started, owners.waited)}")
        return {"signed": signed, **({} if hidden else {"model": to_dict(learner)})}

    def _answer_queries(self, user: TlsChannel, job: bytes, name: str) -> None:
        """One request of a user: its queries' shares in, the answers' shares out.

        Nothing is counted before all three servers have found nothing against the request.
        """
        with ExitStack() as stack:
            mesh = self.join(job, stack)
            asked = QueryJob.from_bytes(job)
            queries = asked.queries
            stored = store_of(self.config).load(asked.model)
            check_queries_fit(queries, stored.shape, stored.public["depth"])
            users = self.users
            users.check(name, queries)
            self.agree(mesh, job, stored.header)  # the same request, about the same model
            users.charge(name, queries)
            may_leave = False
            try:
                user.send(json.dumps({"ready": True}).encode())
                engine = ReplicatedEngine(mesh, stored.ring_bits)
                wire = engine.wire((stored.shape.grid.n_cells, queries))
                shares = user.receive(wire.nbytes)
                if len(shares) != wire.nbytes:
                    raise MpcError("The queries' shares have the wrong length. The run has ended.")
                cells = engine.receive(np.frombuffer(shares, dtype=wire.dtype).reshape(wire.shape))
                check_queries(engine, cells, stored.shape.grid)
                classes = stored.model(engine).predict(engine, cells)
                # Two servers' answers are whole: from here on both others may have sent theirs, whatever happens here.
                may_leave = True
                engine.agree(b"answered")
                user.send(json.dumps({"answer": classes.shape}).encode())
                user.send(np.ascontiguousarray(classes.parts).tobytes())
            finally:
                if not may_leave:
                    users.give_back(name, queries)
        self._progress(f"answered {queries:,} queries of {name}, who has {users.left(name):,} left")

    def _held(self, hidden: bool) -> list[Any]:
        """What each owner holds, in the order of their lines, if they hold different features."""
        if not self.config.columns:
            return []
        if not hidden:
            raise MpcError("Owners of different features share rows: train with --hidden.")
        return [[self.config.columns[name] for name in sorted(self.config.owners)]]

    def _owners(self, stack: ExitStack) -> list[TlsChannel]:
        """A line to every owner, once all are there."""
        lines = []
        for name in sorted(self.config.owners):
            self._progress(f"waiting for owner {name}")
            lines.append(self._inbox.newest(_owner(name), max(self.config.timeout, TO_CONNECT)))
            self._until_the_end(stack, lines[-1])
        return lines

    def _send_home(self, why: str) -> None:
        """Tell the owners who wait for a training that it was refused; they have not been asked anything."""
        for name in self.config.owners:
            for line in self._inbox.waiting(_owner(name)):
                line.leave(why)

    def _cost(self, mesh: Mesh, started: tuple[float, float], waited: float) -> str:
        seconds, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
        took = f"{seconds:.2f} s, {waited:.2f} s of them for the owners to count; {cpu:.2f} s of processor time"
        return f"{mesh.rounds:,} rounds, {mesh.bytes_sent:,} bytes sent by this server, {took}"

    def _said(self, trainer: TlsChannel, what: str) -> None:
        """Also finds out whether the trainer is still there: for nobody, nothing more is spent."""
        self._progress(what)
        trainer.send(json.dumps({"progress": what}).encode())

    def _job(self, job: bytes) -> tuple[TrainingJob, Any]:
        """What a trainer asks for, and the estimator that does it."""
        asked = TrainingJob.from_bytes(job)
        if asked.seed is not None and not self.config.seeds:
            raise MpcError(
                "The trainer asks for noise that it knows, and this server draws only noise that nobody knows. For "
                "research on records that need no protection: seeds = true in every server's and every owner's file."
            )
        return asked, make(asked.model, **asked.params)

    def join(self, job: bytes, stack: ExitStack) -> Mesh:
        """The links to the two other servers for one request, which has a number of its own."""
        config, addresses = self.config, [peer.address for peer in self.config.servers]
        certificates = [peer.certificate for peer in config.servers]
        mesh = join(self.party, run_of(job), addresses, certificates, config.identity, self._inbox, config.timeout)
        self._until_the_end(stack, mesh)
        return mesh

    def agree(self, mesh: Mesh, job: bytes, settings: bytes) -> None:
        """Stop, before anything is counted or charged, unless all servers do the same work in the same way."""
        mesh.agree(PROTOCOL.to_bytes(8, "big") + len(job).to_bytes(8, "big") + job + settings)

    def close(self) -> None:
        self._listener.close()
        self._inbox.close()


def _user(name: str) -> str:
    return USER + name


def _owner(name: str) -> str:
    return OWNER + name


def ring_for(config: Config, schema: Schema, run: str, learner: Any) -> int:
    """The smallest ring that holds all numbers of a training, by public bounds alone.

    Whatever would keep the training from its end is an error here, before anything is spent.
    """
    if not hasattr(learner, "hidden_bits"):
        raise PrivetError(
            f"{type(learner).__name__} does not grow hidden trees; HiddenTreeClassifier and HiddenForestClassifier do. "
            "A tree that is announced is trained without --hidden, or on rows from Python alone (docs/hidden.md)."
        )
    store_of(config).check_free(run)
    most = config.rows * (1 if config.columns else len(config.owners))
    joint = JointMechanisms(None, law=config.noise)  # type: ignore[arg-type] # widths are computed without an engine
    unit, epsilon = Unit.of(schema), exact(learner.epsilon)
    of_scores = joint.sum_bits(scale_for(unit.weight, epsilon), most << unit.weight_bits)
    return 32 if max(learner.hidden_bits(joint, schema, most), of_scores) < 32 else 64


def keep(config: Config, schema: Schema, run: str, learner: Any, ring_bits: int, mesh: Mesh) -> dict[str, Any]:
    """Store this server's shares of a fitted model; what is public about it, signed by all three, the same on all."""
    grown = grown_of(learner)
    if not isinstance(grown, HiddenTree | HiddenForest):
        raise PrivetError(f"{type(learner).__name__} has not grown a hidden tree.")
    params = {name: value for name, value in learner.get_params(deep=False).items() if name != "schema"}
    params["branches"] = learner.branches_used()  # the shape must follow from what is public
    public = {
        "format": FORMAT,
        "id": run,
        "model": type(learner).__name__,
        "params": params,
        "depth": grown.depth,
        "ring_bits": ring_bits,
        "schema": schema.to_dict(),
        "receipt": learner.privacy_.to_dict(),
        **({} if learner.evaluation_ is None else {"evaluation": learner.evaluation_.to_dict()}),
    }
    salt = secrets.token_bytes(SALT_BYTES)
    public = committed_by_all(public, commitment(salt, run, shares_of(grown)), config, mesh)
    store_of(config).save(run, public, grown, salt)
    return public


def store_of(config: Config) -> Store:
    if config.models is None or config.storage_key is None or config.party is None:
        raise PrivetError("This server has no folder for hidden models.")
    return Store(config.models, config.storage_key, config.party)

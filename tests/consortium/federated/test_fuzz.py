"""A hostile coordinator: in the middle of a real run a party is sent a message with something in it changed.

It refuses in words that are the same for tables that differ in one record, charges nothing, never stumbles over a
mistake of ours, and goes on with the run when the true message comes. Or what was changed made no difference, and the
answer is one that it has charged.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consortium.federated.owners import DIGEST, GRID, SCHEMA, TABLES, receipt_of, table
from hostile import changed_by, changes
from privet import FederatedCurator, Ledger
from privet.consortium.federated.channel import InProcess
from privet.consortium.federated.identity import Identity
from privet.consortium.federated.party import CANNOT_ANSWER, Party
from privet.consortium.federated.wire import pack, unpack
from privet.errors import PrivetError
from privet.privacy.scores import Gini
from privet.questions.candidates import Candidates
from privet.questions.tally import Tally
from privet.tree.public_splits import public_splits

LIMIT = Fraction(1)
TENTH = Fraction(1, 10)
IDENTITIES = [Identity.fresh(f"party{i}") for i in range(3)]
KNOWN = {identity.name: identity.public for identity in IDENTITIES}


def spent(party):
    """What a party has charged in all of its runs."""
    return party._spent_elsewhere(but="")


class Hostile(InProcess):
    """Sends ``party0`` one more message before its message number ``at``: that one, changed."""

    def __init__(self, parties, at, how):
        super().__init__(parties)
        self._at, self._how, self._sent = at, how, 0
        self.heard = None

    def ask(self, messages):
        if "party0" in messages:
            if self._sent == self._at:
                self.heard = self._try(messages["party0"])
            self._sent += 1
        return super().ask(messages)

    def _try(self, message):
        party = self._parties["party0"]
        before = spent(party)
        reply, _ = unpack(party.handle(self._changed(message)))
        if "refused" in reply:
            assert reply["refused"] != CANNOT_ANSWER
            assert spent(party) == before
            return reply["refused"]
        return "answered", spent(party) - before

    def _changed(self, message):
        if isinstance(self._how, bytes):
            return self._how
        words, numbers = unpack(message)
        words = changed_by(words, self._how)
        return pack(words, numbers) if isinstance(words, dict) else b"\0" * 9


def hostile_run(at, how, rows):
    """What a party with so many rows says to the changed message, and whether the run came to its end."""
    own = [table(rows, 1), table(20, 2), table(20, 3)]
    parties = [Party(identity, *data, SCHEMA, KNOWN, limit=LIMIT) for identity, data in zip(IDENTITIES, own)]
    channel = Hostile(parties, at, how)
    try:
        curator = FederatedCurator(SCHEMA, channel, ledger=Ledger(math.inf))
        desk = curator.open()
        desk.grid(GRID)
        root = desk.root(LIMIT / 2)
        desk.tally({root: Tally(TABLES)}, TENTH)
        children = desk.split({root: TABLES[1]})[root]
        desk.choose_each(dict.fromkeys(children, Candidates(public_splits(GRID), 3)), Gini(), TENTH)
        desk.owner_sum(dict.fromkeys(children, TABLES), "least_impurity", TENTH)
        curator.coordinator.sign(receipt_of(curator, released=DIGEST))
    except PrivetError as error:
        # A party that answered a changed message has another history than the coordinator: then the run is over.
        return channel.heard, type(error).__name__
    assert all(spent(party) <= LIMIT for party in parties)
    return channel.heard, None


def check(at, how):
    one, other = hostile_run(at, how, 10), hostile_run(at, how, 11)
    assert one == other
    heard, error = one
    assert error is None or not isinstance(heard, str), "a message that was refused ended the run"


HOW = st.one_of(st.lists(changes(), min_size=1, max_size=3), st.binary(max_size=40))
CALM = list(HealthCheck)


@settings(max_examples=40, deadline=None, suppress_health_check=CALM)
@given(at=st.integers(0, 5), how=HOW)
def test_a_changed_message_gets_nothing_from_a_party(at, how):
    check(at, how)


@pytest.mark.slow
@settings(max_examples=1500, deadline=None, suppress_health_check=CALM)
@given(at=st.integers(0, 5), how=HOW)
def test_a_changed_message_gets_nothing_from_a_party_however_many(at, how):
    check(at, how)


def test_the_run_that_is_disturbed_goes_to_its_end_undisturbed():
    heard, error = hostile_run(-1, b"", 10)
    assert (heard, error) == (None, None)
    heard, error = hostile_run(2, b"", 10)
    assert isinstance(heard, str)
    assert error is None


def test_the_changes_reach_every_part_of_a_message():
    rng = np.random.default_rng(0)
    words = {"do": "ask", "told": [{"do": "root", "node": 0}], "question": {"asked": [[0, 1]]}}
    seen = {str(changed_by(words, [(float(place), "replace", 7, "x")])) for place in rng.random(200)}
    assert len(seen) == 10  # as many as there are places

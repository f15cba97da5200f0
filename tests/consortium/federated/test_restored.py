"""A party whose state folder was restored from a backup: what it forgot is neither answered anew nor spent again."""

import math
import shutil
from fractions import Fraction

import numpy as np
import pytest

from consortium.federated.owners import GRID, SCHEMA, TABLES, asking, closed, receipt_of, table
from consortium.federated.wired import every_way  # noqa: F401
from privet import Ledger
from privet.consortium.federated.channel import InProcess
from privet.consortium.federated.coordinator import Coordinator
from privet.consortium.federated.identity import Identity
from privet.consortium.federated.masking import unmasked
from privet.consortium.federated.party import Party
from privet.consortium.federated.signed import SignedReceipt
from privet.consortium.federated.wire import pack, unpack
from privet.errors import FederatedError
from privet.questions.tally import Tally

pytestmark = pytest.mark.usefixtures("every_way")

NAMES = ("a", "b", "c", "d", "e", "f", "g")
TENTH = Fraction(1, 10)


class Owners:
    """Parties with state folders, one of which, a, may be restored from a copy."""

    def __init__(self, folder, n=4, **options):
        self.folder, self.options = folder, {"limit": Fraction(5), **options}
        self.identities = {name: Identity.fresh(name) for name in NAMES[:n]}
        self.known = {name: identity.public for name, identity in self.identities.items()}
        self.parties = {name: self.start(name) for name in self.identities}
        self.sent = []

    def start(self, name, records=60):
        seed = NAMES.index(name)
        own = (column[:records] for column in table(61, seed))  # so that one more is the same and one more
        return Party(self.identities[name], *own, SCHEMA, self.known, state=self.folder / name, **self.options)

    def back_up(self):
        shutil.copytree(self.folder / "a", self.folder / "copy", ignore=shutil.ignore_patterns("*.lock"))

    def restore(self, **changed):
        self.parties["a"].close()
        shutil.rmtree(self.folder / "a")
        shutil.move(self.folder / "copy", self.folder / "a")
        self.parties["a"] = self.start("a", **changed)

    def curator(self, delta=None, **terms):
        channel = InProcess(list(self.parties.values()))
        ask = channel.ask

        def overheard(messages):
            replies = ask(messages)
            self.sent += [(messages["a"], replies["a"])] if "a" in messages else []
            return replies

        channel.ask = overheard
        ledger = Ledger(math.inf, delta, whole_orders=True)
        curator = asking(SCHEMA, channel, ledger=ledger, **terms)
        curator.grid(GRID)
        return curator

    def asked(self, do):
        """What a was sent of this kind, and what it replied."""
        return [(message, reply) for message, reply in self.sent if unpack(message)[0]["do"] == do]


@pytest.mark.parametrize(
    ("n", "terms", "currency"),
    [
        (4, {}, "epsilon"),
        (4, {}, "rho"),
        (4, {"tolerated_dropouts": 1}, "epsilon"),
        (7, {"tolerated_dropouts": 2}, "epsilon"),
    ],
)
def test_a_masked_answer_that_was_forgotten_comes_again_to_the_byte(tmp_path, n, terms, currency):
    """Fresh noise under the same mask would show how much it differs, and, often enough, the noise itself."""
    delta = None if currency == "epsilon" else 1e-6
    owners = Owners(tmp_path, n, delta=delta)
    curator = owners.curator(delta, **terms)
    root = curator.root(2 * TENTH, currency)
    curator.tally({root: Tally(TABLES)}, TENTH)
    owners.back_up()
    children = curator.split({root: TABLES[1]})[root]
    curator.tally({node: Tally(TABLES) for node in children}, TENTH)
    question, answer = owners.asked("ask")[-1]
    owners.restore()
    with closed(owners.parties.values()):
        assert owners.parties["a"]._open(curator.coordinator.terms.run).next == 1
        assert owners.parties["a"].handle(question) == answer


@pytest.mark.parametrize("dropouts", [0, 1])
@pytest.mark.parametrize("way", ["missed", "cheap", "honest"])
def test_a_party_that_has_forgotten_questions_is_not_led_past_them(tmp_path, way, dropouts):
    """It would go on with others, which could be read, and spend anew what it has forgotten to have spent."""
    owners = Owners(tmp_path, limit=4 * TENTH)
    curator = owners.curator(tolerated_dropouts=dropouts)
    root = curator.root(4 * TENTH)
    curator.tally({root: Tally(TABLES)}, TENTH)
    owners.back_up()
    curator.tally({root: Tally(TABLES)}, TENTH)
    owners.restore()
    journal, party = curator.coordinator._journal, owners.parties["a"]
    _, asked = unpack(journal.get("000001ask"))
    words, _ = unpack(asked)
    with closed(owners.parties.values()):
        if way == "missed":
            proof = unpack(journal.get("000001proof"))[0] if dropouts else {}
            said, _ = unpack(party.handle(pack({"do": "missed", "run": words["run"], "number": 1, **proof}, asked)))
            assert ("has answered this" if dropouts else "tolerate no drop-outs") in said["refused"]
            return
        cheap = {**words["question"], "budgets": ["1/1000000"]}
        before = pack({**words, "question": cheap}) if way == "cheap" else asked
        assert "said" in unpack(party.handle(before))[0]
        question = pack({**words, "number": 2, "told": []})
        replies = {name: unpack(each.handle(question)) for name, each in owners.parties.items()}
        assert party._member.ledger.spent == (2 * TENTH + Fraction(1, 10**6) if way == "cheap" else 3 * TENTH)
        if dropouts:
            about = {"do": "confirm", "run": words["run"], "number": 2, "answered": list(NAMES[:4])}
            signed = {name: unpack(each.handle(pack(about)))[0]["signature"] for name, each in owners.parties.items()}
            shares = {name: replies[name][0]["shares"]["b"] for name in ("a", "c", "d")}
            help = pack({**about, "do": "unmask", "shares": shares, "signatures": signed})
            assert ("refused" in unpack(owners.parties["b"].handle(help))[0]) == (way == "cheap")
        else:
            total = unmasked({name: np.frombuffer(own, "<u8") for name, (_, own) in replies.items()})
            assert (np.abs(total.astype(float)) > 2**32).all() == (way == "cheap")


def test_of_other_records_the_same_question_gets_other_noise(tmp_path):
    """The same would show by how much the counts differ."""
    owners = Owners(tmp_path)
    curator = owners.curator()
    owners.back_up()
    curator.tally({curator.root(TENTH): Tally(TABLES)}, TENTH)
    question, answer = owners.asked("ask")[-1]
    owners.restore(records=61)
    with closed(owners.parties.values()):
        before, now = (
            np.frombuffer(unpack(reply)[1], "<i8") for reply in (answer, owners.parties["a"].handle(question))
        )
        # One record changes each number by one at most. Two shares of noise of scale 20 are as near with a chance of a
        # third; all 69 pairs are with less than 1e-30.
        assert np.abs(now - before).max() > 3


def test_a_party_that_has_forgotten_a_whole_run_joins_none_with_who_remembers(tmp_path):
    owners = Owners(tmp_path)
    owners.back_up()
    first = owners.curator()
    first.tally({first.root(TENTH): Tally(TABLES)}, TENTH)
    owners.restore()
    with closed(owners.parties.values()):
        run = first.coordinator.terms.run[:8]
        spent = {name: party._spent_elsewhere("") for name, party in owners.parties.items()}
        with pytest.raises(FederatedError, match=rf"a refuses: b has met a in a run that a joined .*{run}.*older copy"):
            owners.curator()
        assert {name: party._spent_elsewhere("") for name, party in owners.parties.items()} == spent  # nobody has paid


def test_a_party_that_has_forgotten_the_end_of_a_run_joins_none_with_who_remembers(tmp_path):
    owners = Owners(tmp_path)
    first = owners.curator()
    root = first.root(Fraction(1))
    first.tally({root: Tally(TABLES)}, TENTH)
    owners.back_up()
    first.tally({root: Tally(TABLES)}, TENTH)
    first.coordinator.sign(receipt_of(first))
    owners.restore()
    refused = pytest.raises(FederatedError, match=r"a refuses: b has met a in a run that a closed")
    with closed(owners.parties.values()), refused:
        owners.curator()


def test_a_coordinator_cannot_leave_out_what_the_others_remember(tmp_path, monkeypatch):
    """Not even one that does not let them meet before the first question."""
    owners = Owners(tmp_path)
    owners.back_up()
    first = owners.curator()
    first.tally({first.root(TENTH): Tally(TABLES)}, TENTH)
    owners.restore()
    with closed(owners.parties.values()):
        monkeypatch.setattr(Coordinator, "_ask_to_meet", lambda self: pack({}))
        second = owners.curator()
        with pytest.raises(FederatedError, match="a refuses: b has met a"):
            second.tally({second.root(TENTH): Tally(TABLES)}, TENTH)
        second = owners.curator()
        for name, (key, signature, _) in second.coordinator._keys.items():
            second.coordinator._keys[name] = [key, signature, []]
        with pytest.raises(FederatedError, match="in the name of b was not signed"):
            second.tally({second.root(TENTH): Tally(TABLES)}, TENTH)


def test_who_forgot_nothing_goes_on_after_restarts_and_with_several_runs(tmp_path):
    owners = Owners(tmp_path)
    first = owners.curator()
    second = owners.curator()
    for curator in (second, first, second):
        curator.tally({curator.root(TENTH): Tally(TABLES)}, TENTH)
    first.coordinator.sign(receipt_of(first))
    owners.back_up()
    owners.restore()  # the newest state there is
    with closed(owners.parties.values()):
        third = owners.curator()
        third.tally({third.root(TENTH): Tally(TABLES)}, TENTH)
        (heard,) = [unpack(reply)[0]["heard"] for message, reply in owners.asked("join")[-1:]]
        assert heard == [[second.coordinator.terms.run, False, ["b", "c", "d"]]]


@pytest.mark.parametrize("dropouts", [0, 1])
def test_a_closed_run_is_answered_as_before_without_its_key(tmp_path, dropouts):
    """Also after a restart. Who would steal folder and key cannot draw its noise again."""
    owners = Owners(tmp_path, limit=3 * TENTH)
    curator = owners.curator(tolerated_dropouts=dropouts)
    curator.tally({curator.root(TENTH): Tally(TABLES)}, TENTH)
    run = tmp_path / "a" / curator.coordinator.terms.run
    begun = (run / "run.entry").read_bytes()
    _, key = unpack(begun)
    assert len(key) == 32
    curator.coordinator.sign(receipt_of(curator))
    assert owners.parties["a"]._member is None
    for _ in range(2):
        kept = [file.read_bytes() for file in (tmp_path / "a").rglob("*") if file.is_file()]
        assert not any(key in each or key.hex().encode() in each or b"own_share" in each for each in kept)
        for message, reply in owners.sent:
            said, _ = unpack(owners.parties["a"].handle(message))
            if unpack(message)[0]["do"] in ("meet", "confirm", "unmask"):
                assert "is closed" in said["refused"]
            else:
                assert said == unpack(reply)[0]
        owners.back_up()
        (tmp_path / "copy" / run.name / "run.entry").write_bytes(begun)  # it was stopped before it was dropped
        owners.restore()  # nothing is forgotten: it starts again
    with closed(owners.parties.values()):
        second = owners.curator()
        second.tally({second.root(2 * TENTH): Tally(TABLES)}, 2 * TENTH)
        with pytest.raises(FederatedError, match="a refuses: "):
            second.tally({second.root(TENTH): Tally(TABLES)}, TENTH)


def test_every_party_keeps_the_receipt_with_all_signatures(tmp_path):
    owners = Owners(tmp_path)
    curator = owners.curator()
    curator.tally({curator.root(TENTH): Tally(TABLES)}, TENTH)
    receipt = receipt_of(curator)
    signed = curator.coordinator.sign(receipt)
    signatures = signed.signatures
    with closed(owners.parties.values()):
        for name in owners.parties:
            kept = (tmp_path / name / curator.coordinator.terms.run / "receipt.entry").read_text(encoding="utf-8")
            assert SignedReceipt.from_json(kept).verify(owners.known).spent == TENTH
        words = {"do": "keep", "run": curator.coordinator.terms.run, "receipt": receipt, "answered": signed.answered}
        forged = {**signatures, "b": signatures["c"]}
        assert "refused" in unpack(owners.parties["a"].handle(pack({**words, "signatures": forged})))[0]

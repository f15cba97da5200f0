"""A party's diary has a run as it happened, and says nothing in two ways."""

import pytest

from privet.consortium.federated.run_state import Diary, Entry
from privet.consortium.federated.terms import Terms
from privet.errors import FederatedError

TERMS = Terms("ab" * 16, ("a", "b", "c"), 1, 0, "shared", "schema")
ENTRIES = [Entry({"spent": f"{i}/10", "currency": "epsilon"}, b"asked" * i, b"reply" * (3 - i)) for i in range(3)]


def test_a_diary_that_is_opened_again_has_what_was_written(tmp_path):
    diary = Diary(tmp_path)
    assert diary.terms is diary.closed is diary.last is None
    diary.begin(TERMS, b"key", 0)
    for number, entry in enumerate(ENTRIES):
        assert diary.next == number
        diary.write(number, entry)
    again = Diary(tmp_path)
    assert (again.terms, again.key) == (TERMS, b"key")
    diary.close(b"statement", b"signature")
    again = Diary(tmp_path)
    assert (again.terms, again.key) == (TERMS, b"")
    for entry, kept in zip(ENTRIES, again.entries(), strict=True):
        assert (kept.asked, kept.reply, kept.noted["spent"]) == (entry.asked, entry.reply, entry.noted["spent"])
    assert again.last.reply == ENTRIES[-1].reply
    assert again.closed == (b"statement", b"signature")


@pytest.mark.parametrize("folder", [True, False])
@pytest.mark.parametrize("stop", [None, 0, 1])
def test_what_noise_and_masks_follow_from_is_dropped_in_the_end(tmp_path, monkeypatch, folder, stop):
    """Also if the machine stops before that is done: then it is done when the diary is opened again."""
    diary = Diary(tmp_path if folder else None)
    diary.begin(TERMS, b"the key", 3)
    diary.write(0, Entry({**ENTRIES[0].noted, "own_share": "5ec7e7", "context": "ab"}, b"asked", b"reply"))
    (tmp_path / "run.entry.1234.part").write_bytes(b"the key" if folder else b"")  # writing was broken off
    if stop is not None and folder:
        replace = Diary._replace
        left = iter([True] * stop)

        def stops(self, name, entry):
            if not next(left, False):
                raise OSError("power cut")
            replace(self, name, entry)

        monkeypatch.setattr(Diary, "_replace", stops)
        with pytest.raises(OSError, match="power cut"):
            diary.close(b"statement", b"signature")
        monkeypatch.undo()
        diary = Diary(tmp_path)
    else:
        diary.close(b"statement", b"signature")
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir()) + b"".join(diary._kept.values())
    assert b"the key" not in kept
    assert b"5ec7e7" not in kept
    assert (diary.terms, diary.place, diary.closed) == (TERMS, 3, (b"statement", b"signature"))
    assert (diary.last.asked, diary.last.reply, diary.last.noted["spent"]) == (b"asked", b"reply", "0/10")


def test_what_was_written_stays():
    diary = Diary()
    diary.write(0, ENTRIES[0])
    diary.settle(0, ["a", "b"])
    with pytest.raises(FederatedError, match="says something else"):
        diary.write(0, ENTRIES[1])
    with pytest.raises(FederatedError, match="says something else"):
        diary.settle(0, ["a", "c"])
    assert diary.has_settled(0, ["a", "b"])
    assert not diary.has_settled(0, ["a", "c"])
    assert [diary.once("help", lambda word=word: word) for word in (b"first", b"second")] == [b"first", b"first"]


def test_only_questions_with_a_mask_of_the_party_s_own_can_be_unmasked():
    diary = Diary()
    diary.write(0, ENTRIES[0])
    diary.write(1, Entry({**ENTRIES[1].noted, "own_share": "00", "context": "ab"}, b"", b""))
    assert diary.to_unmask(1).context == b"\xab"
    with pytest.raises(FederatedError, match="nothing to unmask"):
        diary.to_unmask(0)
    with pytest.raises(FederatedError, match="not asked here"):
        diary.to_unmask(2)

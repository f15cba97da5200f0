"""A party's diary has a run as it happened, and says nothing in two ways."""

import pytest

from privet.errors import FederatedError
from privet.federated.diary import Diary, Entry
from privet.federated.terms import Terms

TERMS = Terms("ab" * 16, ("a", "b", "c"), 1, 0, "shared", "schema")
ENTRIES = [Entry({"spent": f"{i}/10", "currency": "epsilon"}, b"asked" * i, b"reply" * (3 - i)) for i in range(3)]


def test_a_diary_that_is_opened_again_has_what_was_written(tmp_path):
    diary = Diary(tmp_path)
    assert diary.begun is diary.closed is diary.last is None
    diary.begin(TERMS, b"key", 0)
    for number, entry in enumerate(ENTRIES):
        assert diary.next == number
        diary.write(number, entry)
    diary.close(b"statement", b"signature")
    again = Diary(tmp_path)
    assert again.begun == (TERMS, b"key")
    for entry, kept in zip(ENTRIES, again.entries(), strict=True):
        assert (kept.asked, kept.reply, kept.noted["spent"]) == (entry.asked, entry.reply, entry.noted["spent"])
    assert again.last.reply == ENTRIES[-1].reply
    assert again.closed == (b"statement", b"signature")


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

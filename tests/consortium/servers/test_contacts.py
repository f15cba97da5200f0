"""Who has connected to a server, and when last: kept over restarts, and of no consequence."""

from privet.consortium.servers.contacts import Contacts


def test_last_contacts_outlive_a_restart_and_a_damaged_file_begins_anew(tmp_path):
    contacts = Contacts(tmp_path / "alpha.ledger")
    assert contacts.listed() == []
    for name in ("trainer", "owner bank", "trainer"):
        contacts.note(name)
    again = Contacts(tmp_path / "alpha.ledger").listed()
    assert [each["name"] for each in again] == ["owner bank", "trainer"]
    assert all(each["last contact"].startswith("20") for each in again)
    assert (tmp_path / "alpha.contacts.json").stat().st_mode & 0o777 == 0o600
    for damaged in ("", "[]", "{", "7"):
        (tmp_path / "alpha.contacts.json").write_text(damaged)
        assert Contacts(tmp_path / "alpha.ledger").listed() == []


def test_a_disk_that_fails_keeps_nobody_from_connecting(tmp_path):
    Contacts(tmp_path / "nowhere" / "alpha.ledger").note("trainer")

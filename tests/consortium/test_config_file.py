"""A file that says who is who: what is wrong with it is named, with the file's name."""

import pytest

from privet.consortium.config_file import ConfigFile, address_of
from privet.errors import PrivetError


@pytest.fixture
def read(tmp_path):
    def read(text):
        (tmp_path / "own.toml").write_text(text)
        return ConfigFile(tmp_path / "own.toml")

    return read


def test_what_is_no_toml_is_named_and_the_cause_is_kept(read, tmp_path):
    with pytest.raises(PrivetError, match=r"own.toml is not TOML") as error:
        read("key = ")
    assert error.value.__cause__ is not None
    (tmp_path / "own.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PrivetError, match="is not TOML"):
        ConfigFile(tmp_path / "own.toml")


def test_a_name_that_nothing_reads_is_an_error_and_no_typo_goes_unnoticed(read):
    file = read("epsilon = 1\nepslon = 2\n")
    file.allow({"epsilon", "epslon"})
    with pytest.raises(PrivetError, match="'epslon', which nothing reads"):
        file.allow({"epsilon"})


def test_files_are_sought_beside_the_file_and_must_be_there(read, tmp_path):
    (tmp_path / "a.key").write_text("key")
    file = read('key = "a.key"\nother = "b.key"\nnumber = 7\n')
    assert file.file(file.data, "key") == tmp_path / "a.key"
    for name, message in (("other", "there is no file"), ("number", "it needs number"), ("none", "it needs none")):
        with pytest.raises(PrivetError, match=message):
            file.file(file.data, name)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("here:80", ("here", 80)),
        ("[::1]:443", ("[::1]", 443)),
        ("here:0", ("here", 0)),
        ("here", None),
        (":80", None),
        ("here:", None),
        ("here:65536", None),
        ("here:-1", None),
        ("here:8o", None),
        ("here:²", None),
        ("here:٣", None),
        ("here\nFingerprint 0123:80", None),
        ("here\x1b[2J:80", None),
        ("he re:80", None),
    ],
)
def test_an_address_is_a_host_and_a_port(text, address):
    assert address_of(text) == address


@pytest.mark.parametrize(
    ("value", "options", "fits"),
    [
        ("1", {}, True),
        ("0.5", {}, True),
        ("0", {}, False),
        ("0", {"least": 0}, True),
        ("-1", {"least": 0}, False),
        ("1.5", {"whole": True}, False),
        ("true", {}, False),
        ('"1"', {}, False),
        ("nan", {}, False),
    ],
)
def test_numbers_are_of_their_kind_and_in_their_range(read, value, options, fits):
    file = read(f"n = {value}\n")
    if fits:
        file.number("n", None, **options)
    else:
        with pytest.raises(PrivetError, match="n must be a"):
            file.number("n", None, **options)


def test_a_default_is_taken_where_a_number_is_missing(read):
    assert read("").number("n", 300.0) == 300.0


def test_a_part_of_a_file_is_a_table(tmp_path):
    assert ConfigFile(tmp_path / "own.toml", {"n": 3}).number("n", None) == 3
    with pytest.raises(PrivetError, match="something else where a table should be"):
        ConfigFile(tmp_path / "own.toml", [1])

"""Levels, texts and JSON of certificates."""

import json

import numpy as np
import pytest

from privet.errors import PrivetError
from privet.robustness.certificate import ADDED, Certificate, CertificateRow, PoisonLevel, levels
from sample_certificate import certificate


def test_shares_are_rounded_down_exactly_and_changed_ones_count_twice():
    assert [level.units for level in levels(["0.1%", "0.5%", "1%", 0.01, 3], 10_700)] == [
        10, 10, 53, 53, 107, 107, 107, 107, 3, 3,
    ]  # fmt: skip
    assert [level.units for level in levels(["0.29%"], 100_000)] == [290, 290]  # 289.99... in floats
    assert [level.distance for level in levels("2", 9)] == [2, 4]
    assert levels([0], 9)[0].units == 0


@pytest.mark.parametrize("amount", ["x", "1.5", 1.5, -1, "101%", "1/0", None, float("inf"), float("nan")])
def test_amounts_that_make_no_sense_are_refused(amount):
    with pytest.raises(PrivetError, match="poison takes"):
        levels([amount], 100)


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("500%", "A share is at most 100%"),
        (1.0, "write 1 for a number of them, or '1%' for a share"),
        (np.float64(20), "write 20 for a number of them, or '20%' for a share"),
    ],
)
def test_a_refused_amount_is_told_what_to_write(amount, words):
    with pytest.raises(PrivetError, match=words):
        levels([amount], 100)


def test_a_table_shows_the_backdoor_only_where_there_is_one():
    assert "attack success at most" in str(certificate())
    plain = tuple(CertificateRow(row.level, row.accuracy, row.by_mean, row.majority) for row in certificate().rows)
    assert "attack success" not in str(certificate(rows=plain))


def test_what_has_no_confidence_is_called_an_estimate():
    assert "by the mean alone (estimate)" in certificate().table()[0]
    assert "Corollary 2 of PrivaTree on the estimated mean: an estimate without confidence" in certificate().statement


def test_units_are_called_what_they_are():
    persons = certificate(unit="one person, at most 2 records")
    assert (certificate().table()[0][1], persons.table()[0][1]) == ("records", "persons")
    assert "retrainings on 500 records," in certificate().statement
    assert "retrainings on 500 persons," in persons.statement


def test_json_has_every_number_and_both_warnings():
    data = json.loads(certificate().to_json())
    assert data["rows"][1] == {
        "accuracy": 0.6, "by_mean": 0.5, "majority": 0.55, "success": 0.3, "success_by_mean": 0.4, "poison": "1%",
        "units": 5, "attack": "changed",
    }  # fmt: skip
    assert "average over retrainings" in data["about"]
    assert "itself a release" in data["kept_confidential"]


def test_a_certificate_is_read_as_it_was_written():
    for own in (
        certificate(),
        certificate(advice="Do so."),
        certificate(rows=(CertificateRow(PoisonLevel("1%", 5, ADDED), 0.7, 0.6, 0.65),)),
    ):
        assert Certificate.from_json(own.to_json()) == own


def test_a_certificate_from_before_there_was_advice_is_read():
    older = json.loads(certificate().to_json())
    del older["advice"]
    assert Certificate.from_json(json.dumps(older)) == certificate()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rows": 1}'])
def test_what_is_no_certificate_is_refused(text):
    with pytest.raises(PrivetError, match="not a whole certificate"):
        Certificate.from_json(text)

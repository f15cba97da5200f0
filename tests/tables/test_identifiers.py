"""Identifiers of people are known by their names; kinds of people and identifiers of other things are not."""

from __future__ import annotations

import pytest

from privet.tables.identifiers import looks_like_people


@pytest.mark.parametrize(
    "name", ["patient_id", "PatientID", "patientId", "userid", "user_uuid", "Customer No", "ssn", "MRN", "members.nr"]
)
def test_identifiers_of_people(name):
    assert looks_like_people(name, 500)


@pytest.mark.parametrize(
    "name", ["", "id", "invoice_id", "age", "patient", "patient_age", "n_patients", "patient_number_of_visits", "idea"]
)
def test_other_columns(name):
    assert not looks_like_people(name, 500)


def test_a_few_codes_are_kinds_of_people():
    assert not looks_like_people("customer_code", 3)
    assert looks_like_people("customer_code", 300)
    assert looks_like_people("customer_id", 3)

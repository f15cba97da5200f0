"""Columns that look like identifiers of people, by their names: for drafts, which a person confirms."""

from __future__ import annotations

import re

_PEOPLE = set(
    """
    patient person people user customer client member subject employee student pupil respondent participant citizen
    resident individual applicant borrower debtor policyholder cardholder donor voter owner holder visitor tenant worker
    """.split()  # noqa: SIM905 - a list of words reads better than a list of quotes
)
_SURE = {"id", "ids", "uid", "uuid", "guid", "hash", "pseudonym"}
_PERHAPS = {"nr", "no", "num", "number", "key", "code", "ref", "name"}
_ALONE = {"pid", "uid", "mrn", "ssn", "nino", "email", "personid", "userid", "username"}

MANY = 20
"""More different values than this make a number or code of people an identifier, rather than one of their kind."""


def looks_like_people(name: str, distinct: int) -> bool:
    """Whether a column of this name, with so many different values, looks like an identifier of people.

    >>> looks_like_people("patient_id", 4), looks_like_people("customerNo", 900), looks_like_people("customer_code", 3)
    (True, True, False)
    >>> looks_like_people("patient_number_of_visits", 900), looks_like_people("invoice_id", 900)
    (False, False)
    """
    words = re.findall(r"[a-z]+|[0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    if not words:
        return False
    whole, last = "".join(words), words[-1]
    of_people = any(word.removesuffix("s") in _PEOPLE for word in words[:-1])
    for ending in (*_SURE, *_PERHAPS):
        if last.endswith(ending) and last.removesuffix(ending) in _PEOPLE:  # patientid, in one word
            of_people, last = True, ending
    if whole in _ALONE or (of_people and last in _SURE):
        return True
    return of_people and last in _PERHAPS and distinct > MANY

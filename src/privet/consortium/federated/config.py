"""The files of a federated run: one for each party, one for the coordinator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from privet.consortium.config_file import ConfigFile
from privet.consortium.federated.terms import NAME, NOISE
from privet.curators.owners.party_records import QUESTIONS
from privet.errors import BudgetError
from privet.privacy.amounts import checked_delta, exact


@dataclass(frozen=True)
class PartyConfig:
    """What a party knows. ``epsilon``, with ``delta`` if given, is the most that all runs may spend of its records.

    ``tolerated_colluders`` is the least that it asks of terms; ``state`` remembers what was answered. ``certificate``
    is its own; ``address`` and ``coordinator``, a certificate, are the coordinator's.
    """

    name: str
    key: Path
    certificate: Path
    schema: Path
    data: Path
    state: Path
    epsilon: Fraction
    delta: Fraction | None
    address: tuple[str, int]
    coordinator: Path
    parties: Mapping[str, bytes]
    questions: tuple[str, ...]
    tolerated_colluders: int
    seed: int | None

    @classmethod
    def read(cls, path: Path) -> PartyConfig:
        file = ConfigFile(path)
        data = file.data
        file.allow({*cls.__annotations__} - {"address"})
        if "epsilon" not in data:
            raise file.wrong("it needs epsilon: the most that all runs together may spend")
        questions = data.get("questions", list(QUESTIONS))
        if not isinstance(questions, list) or not all(question in QUESTIONS for question in questions):
            raise file.wrong(f"questions is a list of {', '.join(QUESTIONS)}")
        coordinator = file.need(data, "coordinator", dict)
        key = file.key(data)
        return cls(
            name=_checked(file, file.need(data, "name", str)),
            key=key,
            certificate=file.file({"certificate": _beside(data), **data}, "certificate"),
            schema=file.file(data, "schema"),
            data=file.file(data, "data"),
            state=file.beside("state", "state"),
            epsilon=_amount(file, "epsilon", exact),
            delta=_amount(file, "delta", checked_delta) if "delta" in data else None,
            address=file.address(coordinator),
            coordinator=file.file(coordinator, "certificate"),
            parties=_parties(file),
            questions=tuple(questions),
            tolerated_colluders=file.number("tolerated_colluders", 1, least=0, whole=True),
            seed=file.number("seed", None, least=0, whole=True) if "seed" in data else None,
        )


@dataclass(frozen=True)
class CoordinatorConfig:
    """What the coordinator knows: where it listens, who the parties are, and what terms they are asked to sign.

    ``wait`` is how many seconds it waits for all parties to come, ``timeout`` how many a party has to answer.
    """

    key: Path
    certificate: Path
    address: tuple[str, int]
    schema: Path
    parties: Mapping[str, bytes]
    tolerated_colluders: int
    tolerated_dropouts: int
    noise: str
    wait: float
    timeout: float

    @classmethod
    def read(cls, path: Path) -> CoordinatorConfig:
        file = ConfigFile(path)
        data = file.data
        file.allow(cls.__annotations__)
        return cls(
            key=file.key(data),
            certificate=file.file(data, "certificate"),
            address=file.address(data),
            schema=file.file(data, "schema"),
            parties=_parties(file),
            tolerated_colluders=file.number("tolerated_colluders", 1, least=0, whole=True),
            tolerated_dropouts=file.number("tolerated_dropouts", 0, least=0, whole=True),
            noise=file.choice("noise", NOISE),
            wait=file.number("wait", 300.0),
            timeout=file.number("timeout", 120.0),
        )


def _beside(data: Mapping[str, Any]) -> str:
    """The certificate that ``keygen`` writes beside a key."""
    return str(Path(data["key"]).with_suffix(".crt"))


def _amount(file: ConfigFile, name: str, read: Callable[[float], Fraction]) -> Fraction:
    try:
        return read(file.number(name, None))
    except BudgetError as error:
        raise file.wrong(str(error).rstrip(".")) from error


def _parties(file: ConfigFile) -> dict[str, bytes]:
    parties = file.certificates("parties")
    if not parties:
        raise file.wrong("it needs [[parties]], each with its name and its certificate")
    if len(set(parties.values())) < len(parties):
        raise file.wrong("two parties have the same certificate; each needs one of its own")
    return {_checked(file, name): certificate for name, certificate in parties.items()}


def _checked(file: ConfigFile, name: str) -> str:
    if not NAME.fullmatch(name):
        raise file.wrong("a party's name has small letters, digits and - _ . alone")
    return name

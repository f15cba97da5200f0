"""What the two programs of a federated run know: the consortium's file and their own settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from privet.consortium.consortium_file import COORDINATOR, PARTY, Consortium
from privet.consortium.own_file import OwnFile
from privet.curators.owners.party_records import QUESTIONS
from privet.privacy.amounts import checked_delta
from privet.schema import Schema


@dataclass(frozen=True)
class PartyConfig:
    """What a party knows. ``epsilon``, with ``delta`` if given, is the most that all runs may spend of its records.

    ``tolerated_colluders`` is the least that it asks of terms; ``state`` remembers what was answered. ``certificate``
    is its own; ``address`` and ``coordinator``, a certificate, are the coordinator's.
    """

    name: str
    key: Path
    certificate: Path
    schema: Schema
    data: Path
    state: Path
    epsilon: Fraction
    delta: Fraction | None
    address: tuple[str, int]
    coordinator: bytes
    parties: Mapping[str, bytes]
    questions: tuple[str, ...]
    tolerated_colluders: int
    seed: int | None

    @classmethod
    def read(cls, path: Path) -> PartyConfig:
        file = OwnFile(path)
        file.be([PARTY], ("data", "state", "epsilon", "delta", "questions", "tolerated_colluders", "seed"))
        data = file.data
        questions = data.get("questions", list(QUESTIONS))
        if not isinstance(questions, list) or not all(question in QUESTIONS for question in questions):
            raise file.wrong(f"questions is a list of {', '.join(QUESTIONS)}")
        (coordinator,) = file.consortium.of(COORDINATOR)
        return cls(
            name=file.me.name,
            key=file.own_key,
            certificate=file.certificate,
            schema=file.consortium.schema,
            data=file.file(data, "data"),
            state=file.beside("state", f"{file.me.name}.state"),
            epsilon=file.limit(),
            delta=file.limit("delta", checked_delta) if "delta" in data else None,
            address=file.dialled(coordinator.name),
            coordinator=coordinator.certificate,
            parties=_parties(file.consortium),
            questions=tuple(questions),
            tolerated_colluders=file.number(
                "tolerated_colluders", file.consortium.terms["tolerated_colluders"], least=0, whole=True
            ),
            seed=file.number("seed", None, least=0, whole=True) if "seed" in data else None,
        )


@dataclass(frozen=True)
class CoordinatorConfig:
    """What the coordinator knows: where it listens, who the parties are, and what terms they are asked to sign.

    ``wait`` is how many seconds it waits for all parties to come, ``timeout`` how many a party has to answer.
    """

    name: str
    key: Path
    certificate: Path
    address: tuple[str, int]
    schema: Schema
    parties: Mapping[str, bytes]
    tolerated_colluders: int
    tolerated_dropouts: int
    noise: str
    wait: float
    timeout: float

    @classmethod
    def read(cls, path: Path) -> CoordinatorConfig:
        file = OwnFile(path)
        file.be([COORDINATOR], ("listen", "wait", "timeout"))
        terms = file.consortium.terms
        return cls(
            name=file.me.name,
            key=file.own_key,
            certificate=file.certificate,
            address=file.listening(),
            schema=file.consortium.schema,
            parties=_parties(file.consortium),
            **{name: terms[name] for name in ("tolerated_colluders", "tolerated_dropouts", "noise")},
            wait=file.number("wait", 300.0),
            timeout=file.number("timeout", 120.0),
        )


def _parties(consortium: Consortium) -> dict[str, bytes]:
    return {party.name: party.certificate for party in consortium.of(PARTY)}

"""A member's own file: which consortium it is in, as whom, and settings that concern nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

from privet.consortium.config_file import ConfigFile, address_of
from privet.consortium.consortium_file import Consortium
from privet.consortium.net.certificates import fingerprint
from privet.errors import BudgetError
from privet.privacy.amounts import exact

COMMON = frozenset({"consortium", "name", "key"})


class OwnFile(ConfigFile):
    """``me`` is the member whose file it is; its key is its alone, its certificate, beside it, is the consortium's."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.copy = self.file(self.data, "consortium")
        self.consortium = Consortium.read(self.copy)
        self.me = self.consortium.member(self.need(self.data, "name", str))

    def be(self, roles: Iterable[str], settings: Iterable[str]) -> None:
        """Raise unless this is the file of one of these roles, says nothing but these settings, and all have joined."""
        if self.me.role not in roles:
            raise self.wrong(f"{self.me.name} is not there as {' or '.join(roles)}, but as {self.me.role}")
        self.allow({*COMMON, *settings})
        if missing := self.consortium.missing:
            raise self.wrong(
                f"{', '.join(missing)} has not joined yet, as far as {self.copy.name} knows. Once all have, accept the "
                f"file that has everybody in it: privet {self.consortium.kind} accept {self.path} FILE"
            )
        if fingerprint(self.certificate.read_bytes()) != fingerprint(self.me.certificate):
            raise self.wrong(
                f"the certificate of {self.me.name} in {self.copy.name} is not {self.certificate}: somebody has "
                "swapped it, or a renewed one has not been accepted yet"
            )

    def adopt(self, consortium: Consortium) -> None:
        """Take another consortium file in the place of the copy. Of one in which everybody was, the old one is kept,
        with its fingerprint in its name: receipts that were signed under it are checked with it."""
        if not self.consortium.missing and self.consortium.fingerprint != consortium.fingerprint:
            self.consortium.write(self.copy.with_suffix(f".{self.consortium.fingerprint[:8]}.toml"))
        consortium.write(self.copy)

    @property
    def own_key(self) -> Path:
        return self.key(f"{self.me.name}.key")

    @property
    def certificate(self) -> Path:
        return self.file({"certificate": str(self.own_key.with_suffix(".crt").absolute())}, "certificate")

    def limit(self, name: str = "epsilon", read: Callable[[float], Fraction] = exact) -> Fraction:
        """An amount that this member, and nobody else, has set."""
        if name not in self.data:
            raise self.wrong(f"it needs {name}: the most that all runs together may spend")
        try:
            return read(self.number(name, None))
        except BudgetError as error:
            raise self.wrong(str(error).rstrip(".")) from error

    def listening(self) -> tuple[str, int]:
        """Where a program that others dial listens: ``listen``, or the address that they dial."""
        return self.address("listen", self.me.address)

    def dialled(self, name: str) -> tuple[str, int]:
        """The address of another member."""
        address = address_of(self.consortium.member(name).address)
        assert address is not None  # the consortium file was checked
        return address

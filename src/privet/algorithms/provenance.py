"""Where a model comes from, in its file: the day, the version of Privet, and a line of whoever released it.

All of it is public and nothing follows from records. The receipt's digest is of the model alone, so that these may be
added to it; who needs them signed signs the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from privet.errors import PrivetError
from privet.strict_json import is_text

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LONGEST = 10_000


@dataclass(frozen=True)
class Provenance:
    """The day (UTC) on which a model was first saved, the version that did, and ``note``: free text."""

    date: str
    version: str
    note: str = ""

    def __post_init__(self) -> None:
        texts = (self.date, self.version, self.note)
        if not all(is_text(text) and len(text) <= _LONGEST for text in texts) or not _DATE.fullmatch(self.date):
            raise PrivetError(
                f"A model's provenance is a date, a version and a note of at most {_LONGEST:,} characters."
            )

    @classmethod
    def today(cls, note: str = "") -> Provenance:
        try:
            own = version("privet")
        except PackageNotFoundError:  # run from its sources
            own = "unknown"
        return cls(datetime.now(UTC).date().isoformat(), own, note)

    @classmethod
    def read(cls, data: Any) -> Provenance:
        if not isinstance(data, dict) or set(data) != {"date", "version", "note"}:
            raise PrivetError("The provenance in this model file is not valid.")
        return cls(**data)

    def noted(self, note: str) -> Provenance:
        """With another note, if there is one."""
        return replace(self, note=note) if note else self

    def __str__(self) -> str:
        return f"saved {self.date} by Privet {self.version}" + (f": {self.note}" if self.note else "")

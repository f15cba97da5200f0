"""The curator of files: Parquet and CSV of any size, read as a stream and counted as in memory.

Each batch of records is checked and cut into cells once, one byte for each feature as a rule; the cells are kept in
files that are mapped into memory, where the kernels of memory count them (``file_records.py``). So what is in memory at
any time is a few batches, a row number for each record and level of a tree, and labels; and answers are those of
memory. Where the disk is short, files are read again for every question (``read_again.py``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privet.curators.desk import Desk, capabilities_of
from privet.curators.file_records import FileRecords, Whose
from privet.curators.memory import MemoryCurator, MemoryRoom
from privet.curators.partitions import PartitionedRoom
from privet.curators.read_again import ReadAgain
from privet.curators.scratch import DiskFullError, Scratch
from privet.errors import SchemaError
from privet.privacy.ledger import Ledger
from privet.privacy.mechanisms import Mechanisms
from privet.schema import Schema
from privet.tables.files import Files, names_files
from privet.tables.table import label_in


class FileCurator(MemoryCurator):
    """Holds records that are in files, and answers private questions about them.

    ``where`` is a Parquet or CSV file, a folder, a pattern such as ``"folder/*.parquet"``, or a list of them; the
    schema names the columns of the label and, if there are persons, of their ids. All that could be wrong with the
    files is found here, as they are read. ``cache`` is a folder on a disk with space for a byte for each record and
    feature: by default the environment variable PRIVET_CACHE, or the user's cache folder. Where it has no space, files
    are read again for every question. ``progress`` is as in ``privet.progress``: by default a bar where stderr is a
    terminal.
    """

    trust = (
        "The machine that trained the model read all files, and no other machine had to. While it learned, it kept a "
        "coarser copy of the records in temporary files on its own disk: no other user can open them, and they are "
        "deleted when the program ends. As with every deleted file, traces may stay on that disk until they are "
        "overwritten, so it should be encrypted."
    )
    scoring_trust = (
        "The machine that scored the model read all files, and no other machine had to. While it did, it kept a coarse "
        "copy of them on its disk, which is gone."
    )

    def __init__(
        self,
        where: Any,
        schema: Schema,
        *,
        ledger: Ledger | None = None,
        mechanisms: Mechanisms | None = None,
        cache: Any = None,
        progress: Any = None,
    ) -> None:
        self._begin(schema, ledger, mechanisms, MemoryRoom)
        scratch = Scratch(cache)
        files = Files(where, schema, scratch=scratch.folder)
        whose = Whose(files, self._mechanisms.generator)
        self._again: ReadAgain | None = None
        try:
            self.records = FileRecords(files, scratch, whose, progress)
        except DiskFullError:
            self._again = ReadAgain(files, whose, progress)
            self.capabilities = capabilities_of(PartitionedRoom)

    def open(self) -> Desk:
        if self._again is None:
            return super().open()
        return self._desk(PartitionedRoom(self.schema, self._mechanisms, self._again))

    def tell_if_seen(self, epsilon: Fraction, *, scored: bool = False) -> None:
        if self._again is None:
            super().tell_if_seen(epsilon, scored=scored)


def curator_of(X: Any, y: Any, schema: Schema, groups: Any, **options: Any) -> MemoryCurator:
    """The curator of a table, or of the files that ``X`` names."""
    if not names_files(X):
        return MemoryCurator(X, label_in(X, schema) if y is None else y, schema, groups=groups, **options)
    if y is not None or groups is not None:
        raise SchemaError(
            "files have the label's and the person's columns in them, as the schema names them: give X alone"
        )
    return FileCurator(X, schema, **options)

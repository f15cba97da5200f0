"""An owner of records: it counts by itself and lets nothing out but shares of its counts.

The three servers ask, all in the same words, about nodes that the released splits have made; the owner routes its
records, counts, deals each count into shares and gives each server its own. It answers only what all three ask: a
server that asks alone gets nothing. What the shares are added up to, and what is then released, is charged by the
servers' ledgers; the owner trusts that no two of the three put their shares together.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from privet.curators.memory import MemoryCurator
from privet.curators.own import OwnRecords, schema_digest
from privet.errors import MpcError, SchemaError
from privet.mpc.deal import deal
from privet.privacy.ledger import Ledger
from privet.schema import Schema

MOST_REQUEST = 2**26


class Line(Protocol):
    """What an owner and a server talk over (``mpc/channel.py``)."""

    def send(self, message: bytes) -> None: ...
    def receive(self, most: int = ...) -> bytes: ...
    def close(self) -> None: ...


class Owner:
    """Holds a table and its labels for one run after another.

    ``progress`` is told in words what is being done; never a count.
    """

    def __init__(self, X: Any, y: Any, schema: Schema, *, progress: Callable[[str], None] | None = None) -> None:
        if schema.classes is None:
            raise SchemaError("Owners share counts of classes; this schema has a numeric target.")
        self.schema = schema
        self._records = MemoryCurator(X, y, schema, ledger=Ledger(math.inf))
        self._progress = progress or (lambda said: None)
        self._own = OwnRecords(self._records)

    def serve(self, servers: Sequence[Line], wait: Callable[[], None] = lambda: None) -> None:
        """Answer one run's questions, which come over three lines; returns when the servers are done.

        ``wait`` is called before each question and returns when all three have one.
        """
        try:
            while (request := self._request(servers, wait))["do"] != "done":
                answer = self._answers[request.pop("do")](self, **request)
                if answer is not None:
                    for server, shares in zip(servers, self._deal(answer)):
                        server.send(np.ascontiguousarray(shares).tobytes())
        except (KeyError, TypeError, ValueError) as error:
            # Whatever was wrong, a server only sees that the owner has left: an error could depend on a record.
            raise error if isinstance(error, MpcError | SchemaError) else MpcError("A server asked nonsense.") from None
        finally:
            self._own.nodes.clear()
            for server in servers:
                server.close()

    def _request(self, servers: Sequence[Line], wait: Callable[[], None]) -> dict[str, Any]:
        wait()
        asked = [server.receive(MOST_REQUEST) for server in servers]
        if any(other != asked[0] for other in asked):
            raise MpcError("The servers do not ask the same question: nothing was answered.")
        return json.loads(asked[0])

    def _start(self, engine: str, modulus: int, most_records: int, schema: str) -> None:
        if schema != schema_digest(self.schema):
            raise SchemaError("The servers' schema is not this owner's. Give all of them the same file.")
        if len(self._records._labels) > most_records:
            raise SchemaError(
                "This owner has more records than the servers' public bound (most_records) allows. Agree on a larger "
                "bound; the number itself stays here."
            )
        if engine == "mpyc":
            from privet.mpc.mpyc_engine import deal_shamir

            self._deal: Callable[[np.ndarray], list[np.ndarray]] = lambda counts: deal_shamir(counts, modulus)
        else:
            self._deal = deal

    def _grid(self, features: list[dict[str, Any]]) -> None:
        self._progress("sorting records into the public cells")
        self._own.grid(features)

    def _histograms(self, nodes: list[int]) -> np.ndarray:
        self._progress(f"counting {len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}")
        return self._records._histograms([self._own.nodes[node] for node in nodes])

    def _totals(self, nodes: list[int]) -> np.ndarray:
        self._progress(f"counting {len(nodes)} {'node' if len(nodes) == 1 else 'nodes'}")
        return self._records._totals([self._own.nodes[node] for node in nodes])

    _answers: dict[str, Callable[..., np.ndarray | None]] = {  # noqa: RUF012
        "start": _start,
        "root": lambda self, **what: self._own.root(**what),
        "grid": _grid,
        "split": lambda self, **what: self._own.split(**what),
        "parts": lambda self, **what: self._own.parts(**what),
        "copies": lambda self, **what: self._own.copies(**what),
        "histograms": _histograms,
        "totals": _totals,
    }

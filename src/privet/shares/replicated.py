"""Replicated secret sharing among three servers: integers modulo 2^64, or 2^32 where public bounds say that is enough.

An integer x is x_0 + x_1 + x_2; server i holds x_i and x_{i+1} (numbers of servers and shares are modulo 3), so any two
servers could add it up and any single one sees two random numbers. Security is against one server that follows the
protocol and looks at all it sees (semi-honest, honest majority); not independently reviewed. What the docstrings call a
round is one message to a neighbour, and bytes are what one server sends.

Why one server learns nothing: all it ever receives is a share masked by a stream whose key it lacks (a reshared
product, an input), or a share of a value that the program opens to everybody. So its view can be simulated from its own
shares and the opened values: Araki et al. 2016, theorem 4.3, for the multiplications that everything here is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from privet.errors import MpcError
from privet.shares.binary import BinaryShares
from privet.shares.comparison import carries
from privet.shares.deal import RINGS
from privet.shares.engine import LinearMap, Secret, whole
from privet.shares.mesh import DIGEST_BYTES, Mesh
from privet.shares.streams import Streams, fresh_key


class ReplicatedEngine(BinaryShares):
    """Our own engine. The parts of a ``Secret`` are an array (2, ...): this server's x_i and x_{i+1}.

    Keys are drawn anew for every engine: server i makes the key that it shares with the server below.
    """

    def __init__(self, mesh: Mesh, ring_bits: int = 64) -> None:
        self.ring_bits = ring_bits
        self.ring = RINGS[ring_bits]
        self.largest = ring_bits - 1
        self.mesh = mesh
        self.party = mesh.party
        own = np.frombuffer(fresh_key(), dtype=np.uint8)
        self._streams = Streams(own.tobytes(), mesh.pass_down(own).tobytes())

    def _ring(self, values: np.ndarray | int) -> np.ndarray:
        return whole(values).astype(self.ring)

    # -- local -------------------------------------------------------------------------------------------------------

    def constant(self, values: np.ndarray) -> Secret:
        return Secret(self, self._at(0, self._ring(values)))

    def add(self, x: Secret, y: Secret | np.ndarray | int) -> Secret:
        other = y.parts if isinstance(y, Secret) else self._at(0, self._ring(y))
        n = max(x.parts.ndim, other.ndim)
        return Secret(self, _spread(x.parts, n) + _spread(other, n))

    def scale(self, x: Secret, factor: np.ndarray | int) -> Secret:
        public = self._ring(factor)
        return Secret(self, _spread(x.parts, public.ndim + 1) * public)

    def linear(self, x: Secret, map_rows: LinearMap) -> Secret:
        # In 64 bits, whatever the ring: the map's own arithmetic wraps there, and what is kept of it is the same.
        return Secret(self, np.stack([map_rows(part.astype(np.int64)) for part in x.parts]).astype(self.ring))

    def take(self, x: Secret, index: Any) -> Secret:
        own, next = (part[index] for part in x.parts)
        return Secret(self, np.stack([own, next]))

    def reshape(self, x: Secret, shape: tuple[int, ...]) -> Secret:
        return Secret(self, x.parts.reshape(2, *shape))

    def sum(self, x: Secret, axis: int) -> Secret:
        return Secret(self, x.parts.sum(axis=axis if axis < 0 else axis + 1, dtype=self.ring))

    def receive(self, parts: np.ndarray) -> Secret:
        """This server's shares of integers that an owner or a user dealt (``shares/deal.py``)."""
        return Secret(self, parts)

    def wire(self, shape: tuple[int, ...]) -> np.ndarray:
        """An array of the form in which such shares of so many integers arrive."""
        return np.empty((2, *shape), dtype=self.ring)

    # -- rounds ------------------------------------------------------------------------------------------------------

    def input(self, values: np.ndarray | None, party: int, shape: tuple[int, ...]) -> Secret:
        """Server ``party`` = i shares what it knows: x_i from the stream it shares with the server below, x_{i+1} the
        rest, sent to the server above, and x_{i+2} = 0. One round; 8 bytes an element from i, nothing from the others.

        The server above lacks the stream and sees a masked number; the one below sees the stream alone.
        """
        return Secret(self, self._dealt(party, None if values is None else self._ring(values), shape, "input"))

    def multiply(self, x: Secret, y: Secret) -> Secret:
        """Araki et al. 2016 (Furukawa and Lindell's form over a ring). One round, a ring element each.

        x*y is the sum over i of x_i y_i + x_i y_{i+1} + x_{i+1} y_i, and server i can compute its term: three summands
        of the product. A fresh share of zero hides them before server i's goes to the server below.
        """
        (a, b), (c, d) = x.parts, y.parts
        return self._reshare(a * (c + d) + b * c)

    def matmul(self, x: Secret, y: Secret) -> Secret:
        """The same, for a matrix product: sums of products are reshared once. One round, a ring element for each
        of the result. Integers wrap by themselves. With the second factor laid out by columns NumPy's sum of
        integer products is faster than splitting them for a floating-point product."""
        (a, b), (c, d) = x.parts, y.parts
        by_columns = [np.asfortranarray(factor) for factor in (c + d, c)]
        return self._reshare(sum(np.einsum("ij,jk->ik", *pair) for pair in zip((a, b), by_columns)))

    def dot(self, x: Secret, y: Secret, axis: int) -> Secret:
        """The same for products that are added up: one ring element for each sum."""
        (a, b), (c, d) = x.parts, y.parts
        return self._reshare((a * (c + d) + b * c).sum(axis=axis, dtype=self.ring))

    def dots(self, pairs: Sequence[tuple[Secret, Secret]]) -> Secret:
        sums = [
            (a * (c + d) + b * c).sum(axis=0, dtype=self.ring)
            for (a, b), (c, d) in ((x.parts, y.parts) for x, y in pairs)
        ]
        return self._reshare(np.stack(sums))

    def _reshare(self, summand: np.ndarray) -> Secret:
        """Three summands, one at each server, to replicated shares; a share of zero (own stream less next stream, which
        adds up to zero round the three servers) makes what is sent uniform."""
        own, next = self._streams.draw("zero", summand.nbytes)
        mine = summand + (own.view(self.ring) - next.view(self.ring)).reshape(summand.shape)
        return Secret(self, np.stack([mine, self.mesh.pass_down(mine)]))

    def less(self, x: Secret, y: Secret, bits: int) -> Secret:
        """The digit at place bits - 1 of x - y, its sign: that of x_0 + x_1, which server 0 knows, and x_2, which both
        others know, exclusive or the carry from the places below (``comparison.py``).

        Integers modulo 2^64 are integers modulo 2^bits by dropping digits of the shares, so fewer bits are cheaper. 4
        rounds; about bits bytes and two ring elements.
        """
        self.need(bits)
        difference = (x - y).parts
        mine = difference[0] + difference[1] if self.party == 0 else difference[1 if self.party == 1 else 0]
        flat = mine.reshape(-1)
        last = ((flat >> self.ring(bits - 1)) & self.ring(1)).astype(bool)
        if bits > 1:
            last ^= carries(self.mesh, self._streams, flat & self.ring((1 << (bits - 1)) - 1), bits - 1)
        return self.joined(last).reshape(*mine.shape)

    def open(self, x: Secret) -> np.ndarray:
        """Both holders of the share that a server lacks send it, and it compares: a disagreement ends the run.

        Before that, all messages so far are checked on both sides. 2 rounds, 16 bytes an element and 64 more.
        """
        return _signed(self._opened(x.parts, np.add))

    def must_be_zero(self, x: Secret, otherwise: str) -> None:
        """The share that a server lacks must be what makes the sum zero: it compares digests with the server above, and
        those of the share that both hold, which a dealer may have dealt twice. 2 rounds, 192 bytes.
        """
        self.mesh.check()
        own, next = x.parts
        from_above = self.mesh.pass_down(np.concatenate([_digest(own), _digest(next)]))
        if not np.array_equal(from_above, np.concatenate([_digest(next), _digest(-(own + next))])):
            raise MpcError(otherwise)

    def finish(self) -> None:
        """Also messages that nothing opened depends on must have arrived as they were sent. One round, 64 bytes."""
        self.mesh.check()

    def agree(self, public: bytes) -> None:
        """One round, 64 bytes. The number of uses of the streams is compared with it."""
        self.mesh.agree(public + self._streams.uses.to_bytes(8, "little"))


def _digest(share: np.ndarray) -> np.ndarray:
    return np.frombuffer(blake2b(np.ascontiguousarray(share), digest_size=DIGEST_BYTES).digest(), dtype=np.uint8)


def _signed(values: np.ndarray) -> np.ndarray:
    """Integers of the ring's upper half are the negative ones."""
    return values.view(np.dtype(f"i{values.itemsize}")).astype(np.int64)


def _spread(parts: np.ndarray, n: int) -> np.ndarray:
    """Parts with so many axes, new ones after the first: arrays are broadcast, not the two parts of each."""
    return parts.reshape(2, *(1,) * (n - parts.ndim), *parts.shape[1:])

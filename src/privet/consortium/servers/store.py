"""A server's shares of hidden models, on its disk: encrypted and authenticated with a key of its own.

The key is in a file that only the server's user may read, and that can be on another device. A file is what it says it
is or an error: the public part (shape, schema, receipt) is authenticated with the shares, and the shares are those that
this server committed itself to when the model was stored (``commitments.py``).
"""

from __future__ import annotations

import json
import os
import re
import secrets
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from privet.consortium.servers.commitments import SALT_BYTES, commitment
from privet.disk import write_whole
from privet.errors import PrivetError
from privet.questions.shape import Shape
from privet.schema import Schema
from privet.shares.engine import Engine, Secret
from privet.strict_json import object_of
from privet.tree.hidden_shape import BRANCHES, shape_of
from privet.tree.hidden_tree import HiddenForest, HiddenTree

FORMAT = "privet-hidden-2"
KEY_BYTES, NONCE_BYTES, LENGTH_BYTES = 32, 12, 8
_NAME = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, eq=False)
class Stored:
    """What is in a file: the public part, also as its bytes, and this server's shares of the levels and the labels."""

    public: dict[str, Any]
    header: bytes
    tables: tuple[np.ndarray, ...]

    @property
    def ring_bits(self) -> int:
        return int(self.public["ring_bits"])

    @property
    def schema(self) -> Schema:
        return Schema.from_dict(self.public["schema"])

    @property
    def shape(self) -> Shape:
        return public_shape(self.public)

    def model(self, engine: Engine) -> HiddenTree | HiddenForest:
        """The model, on an engine of the same ring: shares are the same whichever run uses them."""
        each = self.public["depth"] + 1
        trees = [self._tree(engine, start, start + each) for start in range(0, len(self.tables), each)]
        return HiddenForest(self.schema, tuple(trees)) if "n_trees" in self.public["params"] else trees[0]

    def _tree(self, engine: Engine, start: int, end: int) -> HiddenTree:
        *levels, labels = (Secret(engine, table) for table in self.tables[start:end])
        return HiddenTree(self.schema, self.shape, tuple(levels), labels)


def public_shape(public: dict[str, Any]) -> Shape:
    return shape_of(Schema.from_dict(public["schema"]), public["params"]["branches"], public["params"]["n_values"])


def read_public(path: Path) -> dict[str, Any]:
    """What is public about a hidden model, as ``privet mpc train --hidden`` wrote it; or an error."""
    nothing = PrivetError(f"{path} is not a hidden model of Privet.")
    public = object_of(path.read_bytes(), nothing)
    if not _is_public(public):
        raise nothing
    public_shape(public)
    return public


def _is_public(public: dict[str, Any]) -> bool:
    """Whether these are the words of a hidden model, each of its kind."""
    kinds = {"format": str, "id": str, "ring_bits": int, "depth": int, "params": dict, "schema": dict, "receipt": dict}
    if any(type(public.get(name)) is not kind for name, kind in kinds.items()):
        return False
    if type(public.get("evaluation", {})) is not dict:
        return False
    params = public["params"]
    if params.get("branches") not in BRANCHES or type(params.get("n_values")) is not int or params["n_values"] < 1:
        return False
    return public["format"] == FORMAT and public["ring_bits"] in (32, 64) and bool(_NAME.fullmatch(public["id"]))


class Store:
    """A folder of hidden models of server ``party``, one file for each; ``key`` is made where there is none."""

    def __init__(self, folder: Path, key: Path, party: int) -> None:
        self._folder = folder
        if not key.exists() and any(folder.glob("*.shares")):
            raise PrivetError(
                f"The storage key {key} is not there, and the hidden models in {folder} were written with it. Bring it "
                "back: without it they cannot be read. If it is lost, so are they: move the folder away to begin anew."
            )
        self._cipher = ChaCha20Poly1305(_key(key))
        self._party = party

    def save(self, name: str, public: dict[str, Any], model: HiddenTree | HiddenForest, salt: bytes) -> None:
        """Write a model, whole or not at all, and never over another; ``salt`` is that of its commitment."""
        tables = shares_of(model)
        # In the order as it is: that of a schema's features counts.
        header = json.dumps({**public, "format": FORMAT, "shapes": [table.shape for table in tables]}).encode()
        nonce = secrets.token_bytes(NONCE_BYTES)
        shares = salt + b"".join(table.tobytes() for table in tables)
        sealed = self._cipher.encrypt(nonce, shares, _bound(name, header))
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            write_whole(self._path(name), len(header).to_bytes(LENGTH_BYTES, "big") + header + nonce + sealed, new=True)
        except FileExistsError as error:
            raise _taken() from error

    def check_free(self, name: str) -> None:
        """Refuse a name that a model here has, and a folder that cannot be written to."""
        if self._path(name).exists():
            raise _taken()
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            tempfile.TemporaryFile(dir=self._folder).close()
        except OSError as error:
            raise PrivetError(f"Hidden models cannot be kept in {self._folder} ({error.strerror}).") from error

    def load(self, name: str) -> Stored:
        """Read a model that ``save`` wrote under this name."""
        path = self._path(name)
        try:
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise PrivetError("This server has no such hidden model.") from error
        start = LENGTH_BYTES + int.from_bytes(data[:LENGTH_BYTES], "big")
        header, nonce, sealed = data[LENGTH_BYTES:start], data[start : start + NONCE_BYTES], data[start + NONCE_BYTES :]
        try:
            opened = self._cipher.decrypt(nonce, sealed, _bound(name, header))
        except (InvalidTag, ValueError) as error:
            raise PrivetError(
                f"{path} cannot be opened: it was changed, or written with another key. Bring back the file, or the "
                "storage key, that belongs to it."
            ) from error
        public = json.loads(header)
        kind = np.dtype(f"u{public['ring_bits'] // 8}")
        ends = np.cumsum([int(np.prod(shape)) for shape in public["shapes"]])
        flat = np.split(np.frombuffer(opened[SALT_BYTES:], dtype=kind), ends[:-1])
        tables = tuple(part.reshape(shape) for part, shape in zip(flat, public["shapes"]))
        if commitment(opened[:SALT_BYTES], name, tables) != public["commitments"][self._party]:
            raise PrivetError(
                f"{path} does not hold the shares that this server has signed. Bring back the one that it wrote."
            )
        return Stored(public, header, tables)

    def listed(self) -> list[tuple[str, dict[str, Any]]]:
        """The names of all models here, and what is public of each, the oldest first."""
        files = sorted(self._folder.glob("*.shares"), key=lambda path: path.stat().st_mtime)
        return [(path.stem, self.load(path.stem).public) for path in files]

    def delete(self, name: str) -> None:
        """Forget a model. (A disk may hold on to what was deleted; it is encrypted there.)"""
        try:
            self._path(name).unlink()
        except FileNotFoundError as error:
            raise PrivetError("This server has no such hidden model.") from error

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise PrivetError("A hidden model's name is 32 hexadecimal digits.")
        return self._folder / f"{name}.shares"


def shares_of(model: HiddenTree | HiddenForest) -> list[np.ndarray]:
    """This server's shares of a model, table by table."""
    trees = model.trees if isinstance(model, HiddenForest) else (model,)
    return [np.ascontiguousarray(table.parts) for tree in trees for table in (*tree.levels, tree.labels)]


def _taken() -> PrivetError:
    return PrivetError(
        "This server already has a hidden model of this name, which stays as it is. Train under a new one."
    )


def _bound(name: str, header: bytes) -> bytes:
    """What is authenticated beside the shares: a file that was renamed does not open."""
    return name.encode() + b"\0" + header


def _key(path: Path) -> bytes:
    """The key in a file; a fresh one, readable by its owner alone, where there is none."""
    try:
        if not path.exists():
            with suppress(FileExistsError):  # another process has made it meanwhile
                write_whole(path, secrets.token_bytes(KEY_BYTES), new=True)
        key, mode = path.read_bytes(), path.stat().st_mode
    except OSError as error:
        raise PrivetError(f"The storage key {path} cannot be used ({error.strerror}).") from error
    if len(key) != KEY_BYTES:
        raise PrivetError(f"{path} is not a key of {KEY_BYTES} bytes.")
    if os.name == "posix" and mode & 0o077:
        raise PrivetError(
            f"Others than its owner may read or change the storage key {path}. If nobody has, chmod 600 {path}; "
            "otherwise move it and the models away and train again."
        )
    return key

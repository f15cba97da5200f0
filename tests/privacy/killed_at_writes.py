"""Run by test_ledger_file.py: a fit on a ledger's file is killed at each write in turn, while another process fits.

The writes are those of SQLite itself: its Unix layer lets a test put functions of its own in the place of the system
calls that change a file (``xSetSystemCall``), and the k-th of them kills the process, before or after it is done. The
victim says on a pipe when it gets an answer, so that is what must never be lost. Prints how many points there were.
Exits with 77 where Python's SQLite is not a library of its own, which then cannot be reached.
"""

import ctypes
import ctypes.util
import os
import signal
import sqlite3
import sys
from fractions import Fraction
from pathlib import Path

from privet.errors import BudgetError
from privet.privacy.event import Event
from privet.privacy.ledger import Ledger
from privet.privacy.ledger_file import LedgerFile

VICTIM, OTHER, FITS = Fraction(3, 10), Fraction(1, 10), 4
LIMIT = VICTIM + FITS * OTHER
ANSWER = Fraction(1, 10)


class Vfs(ctypes.Structure):
    """sqlite3_vfs, up to the functions that replace system calls."""


_SYSTEM_CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Vfs), ctypes.c_char_p, ctypes.c_void_p)
_GET_SYSTEM_CALL = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Vfs), ctypes.c_char_p)
Vfs._fields_ = [
    ("version", ctypes.c_int), ("size_of_file", ctypes.c_int), ("longest_path", ctypes.c_int),
    ("next", ctypes.c_void_p), ("name", ctypes.c_char_p), ("data", ctypes.c_void_p),
    *((name, ctypes.c_void_p) for name in (
        "open", "delete", "access", "full_path", "dl_open", "dl_error", "dl_sym", "dl_close", "randomness", "sleep",
        "current_time", "last_error", "current_time_64",
    )),
    ("set_system_call", _SYSTEM_CALL), ("get_system_call", _GET_SYSTEM_CALL),
]  # fmt: skip

WRITES = {
    b"write": ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t),
    b"pwrite": ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64),
    b"pwrite64": ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64),
    b"ftruncate": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64),
    b"unlink": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p),
    b"open": ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int),
}
kept_alive = []


def kill_at(library, point, before):
    """Let the ``point``-th write kill this process, before or after it is done; counts them in ``kill_at.writes``."""
    library.sqlite3_vfs_find.restype = ctypes.POINTER(Vfs)
    vfs = library.sqlite3_vfs_find(None)
    kill_at.writes = 0

    def wrapped(kind, proper, name):
        def call(*args):
            if name == b"open" and not args[1] & os.O_CREAT:
                return proper(*args)
            kill_at.writes += 1
            if before and kill_at.writes == point:
                os.kill(os.getpid(), signal.SIGKILL)
            done = proper(*args)
            if kill_at.writes == point:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return kind(call)

    for name, kind in WRITES.items():
        address = vfs.contents.get_system_call(vfs, name)
        if address:
            function = wrapped(kind, kind(address), name)
            kept_alive.append(function)
            vfs.contents.set_system_call(vfs, name, ctypes.cast(function, ctypes.c_void_p))


def fit(path, most, answers, said):
    """One fit as estimators do it: set aside, ask, settle. Says on a pipe when it has had an answer, and its end."""
    ledger = Ledger.open(path)
    held = ledger.reserve(most, "epsilon", "a model")
    scope = ledger.begin("fit", most, held=held)
    for _ in range(answers):
        ledger.charge([(scope, Event.example(ANSWER))])
        os.write(said, b"a")
    held.settle("ab" * 32)
    os.write(said, b"e")


def other(path, said):
    """Fits as often as the limit allows beside the victim's: if spending were invented, one would be refused."""
    for _ in range(FITS):
        fit(path, OTHER, 1, said)


def in_a_process(work):
    """What a forked process writes to a pipe; read when it has ended, however that was."""
    out, into = os.pipe()
    if (child := os.fork()) == 0:
        os.close(out)
        try:
            work(into)
        finally:
            os._exit(0)
    os.close(into)
    return child, out


def end_of(child, out):
    said = b""
    while piece := os.read(out, 4096):
        said += piece
    os.close(out)
    return said, os.waitpid(child, 0)[1]


def main(folder):
    library = ctypes.CDLL(ctypes.util.find_library("sqlite3") or "")
    library.sqlite3_libversion.restype = ctypes.c_char_p
    modules = Path("/proc/self/maps").read_text() if Path("/proc/self/maps").exists() else ""
    if library.sqlite3_libversion().decode() != sqlite3.sqlite_version or "libsqlite3" not in modules:
        print("Python's SQLite is not the system's library")
        sys.exit(77)
    points = 0
    for before in (True, False):
        point, killed = 1, True
        while killed:
            path = folder / f"{before}{point}.ledger"
            Ledger.create(path, LIMIT, records="patients")

            def victim(said, path=path, point=point, before=before):
                kill_at(library, point, before)
                fit(path, VICTIM, 2, said)

            rival = in_a_process(lambda said, path=path: other(path, said))
            (answered, status), (others, _) = end_of(*in_a_process(victim)), end_of(*rival)
            killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
            check(path, answered, others, killed)
            points, point = points + killed, point + 1
    print(points, "points")


def check(path, answered, others, killed):
    file = LedgerFile(path)
    lines, total = file.lines(), file.tightest().spent
    assert total <= LIMIT, total
    assert total == sum(line.amount for line in lines)
    assert others == FITS * b"ae", "spending was invented: the other was refused"
    mine = [line for line in lines if not (line.settled and line.amount == OTHER)]
    assert len(mine) <= 1
    assert len(lines) == FITS + len(mine), "a finished fit was lost or invented"
    if b"a" in answered:
        assert mine, "a line was lost"
        assert mine[0].amount >= ANSWER * answered.count(b"a"), "an answer was lost"
    if b"e" in answered:
        assert mine[0].settled
        assert mine[0].amount == 2 * ANSWER
    elif killed and mine and not mine[0].settled:
        assert mine[0].amount == VICTIM, "what was never settled counts in full"
    # Whoever comes next finds the rest, and no more than that.
    left = LIMIT - total
    if left:
        file.settle(file.reserve(left, "the rest"), None)
    try:
        file.reserve(Fraction(1, 10**6), "too much")
    except BudgetError:
        return
    raise AssertionError("more than the limit")


if __name__ == "__main__":  # tests are collected by importing files
    main(Path(sys.argv[1]))

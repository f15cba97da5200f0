"""Three servers as three processes on this machine, TLS between them: to measure and to test programs on shares.

In real use each server runs elsewhere and belongs to somebody else (``privet mpc server``); here one person sees all.
"""

from __future__ import annotations

import multiprocessing
import secrets
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from delayed import Delayed
from held_ports import HERE, held_ports
from privet.consortium.net.certificates import make_certificate
from privet.consortium.net.channel import Listener, TlsIdentity
from privet.consortium.net.links import Inbox, join, server_name
from privet.errors import MpcError
from privet.shares.engine import Engine
from privet.shares.mesh import PARTIES
from privet.shares.replicated import ReplicatedEngine

Program = Callable[..., Any]


def run_three(
    program: Program,
    *args: Any,
    timeout: float = 60.0,
    longest: float = 600.0,
    ring_bits: int = 64,
    delay: float = 0.0,
) -> list[Any]:
    """What ``program(engine, *args)``, a function of a module, returns on each server of our own engine. ``delay``: so
    many seconds pass between sending and arriving, as between houses that are far apart.

    An error on one server ends all three and is raised here.
    """
    with tempfile.TemporaryDirectory() as folder:
        return start_three(
            _serve, (program, args, secrets.token_bytes(16), timeout, ring_bits), Path(folder), longest, delay
        )


def run_three_mpyc(program: Program, *args: Any, longest: float = 600.0) -> list[Any]:
    """The same on MPyC, with MPyC's own TLS."""
    with tempfile.TemporaryDirectory() as folder:
        return start_three(_serve_mpyc, (program, args), Path(folder), longest)


def start_three(
    serve: Callable[..., Any], args: tuple[Any, ...], folder: Path, longest: float, delay: float = 0.0
) -> list[Any]:
    """Start ``serve(party, folder, pipe, *args)`` three times; exchange the addresses that each one sends first.

    The arguments follow by the pipe: a process that ends while it is given them at its start would leave us waiting
    for ever, since Python keeps both ends of that way open.
    """
    for party in range(PARTIES):
        make_certificate(party_name(party), folder)
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for party in range(PARTIES):
        here, there = context.Pipe()
        process = context.Process(target=_begin, args=(serve, party, folder, there), daemon=True)
        process.start()
        there.close()
        pipes.append(here)
        processes.append(process)
    try:
        with ExitStack() as lines:
            for pipe in pipes:
                pipe.send(args)
            addresses = [_next(pipe, longest) for pipe in pipes]
            _check(addresses)
            if delay:
                addresses = [(HERE, lines.enter_context(Delayed(port, delay)).port) for _, port in addresses]
            for pipe in pipes:
                pipe.send(addresses)
            results = [_next(pipe, longest) for pipe in pipes]
    finally:
        for process in processes:
            process.join(timeout=10)
            if process.is_alive():
                process.terminate()
    _check(results)
    return results


def _begin(serve: Callable[..., Any], party: int, folder: Path, pipe: Connection) -> None:
    """Serve with the arguments that arrive, or say why they cannot be read: a program must be importable here."""
    try:
        args = pipe.recv()
    except Exception as error:
        pipe.send(error)
    else:
        serve(party, folder, pipe, *args)


def _check(answers: list[Any]) -> None:
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer


def _next(pipe: Connection, longest: float) -> Any:
    try:
        if not pipe.poll(longest):
            raise MpcError("The servers have not finished in time.")
        return pipe.recv()
    except EOFError:
        return MpcError("A server process has ended without an answer.")


def _serve_mpyc(party: int, folder: Path, pipe: Connection, program: Program, args: tuple[Any, ...]) -> None:
    from mpyc_engine import MpycEngine, prepare_tls

    own = folder / str(party)
    identity, certificates = _keys(party, folder)
    prepare_tls(party, own, identity.key, identity.certificate, certificates)
    with held_ports(1) as (port,):
        pipe.send((HERE, port))
        answer = _answer(lambda: MpycEngine.start(party, pipe.recv(), own), program, args)
    pipe.send(answer)


def _serve(
    party: int,
    folder: Path,
    pipe: Connection,
    program: Program,
    args: tuple[Any, ...],
    run: bytes,
    timeout: float,
    ring_bits: int,
) -> None:
    identity, certificates = _keys(party, folder)
    inbox = Inbox()
    known = {server_name(i): certificates[i] for i in range(PARTIES) if i != party}
    with closing(Listener((HERE, 0), identity, known, inbox.welcome, timeout)) as listener, ExitStack() as stack:
        pipe.send(listener.address)

        def start() -> Engine:
            mesh = join(party, run, pipe.recv(), certificates, identity, inbox, timeout)
            return ReplicatedEngine(stack.enter_context(closing(mesh)), ring_bits)

        answer = _answer(start, program, args)
    pipe.send(answer)


def _answer(start: Callable[[], Engine], program: Program, args: tuple[Any, ...]) -> Any:
    """What the program returns, or the error that has ended it."""
    try:
        engine = start()
        answer = program(engine, *args)
        engine.finish()
        return answer
    except Exception as error:
        return error


def _keys(party: int, folder: Path) -> tuple[TlsIdentity, list[bytes]]:
    """A server's own key and certificate, and the certificates of all three."""
    own = TlsIdentity(folder / f"{party_name(party)}.key", folder / f"{party_name(party)}.crt")
    return own, [(folder / f"{party_name(i)}.crt").read_bytes() for i in range(PARTIES)]


def party_name(party: int) -> str:
    """The common name that MPyC asks of a server's certificate."""
    return f"MPyC party {party}"

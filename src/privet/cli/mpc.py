"""``privet mpc``: keys, servers, owners and trainers of a joint computation."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.files import check_output
from privet.cli.models import settings
from privet.cli.options import (
    AsJson,
    Certificates,
    Check,
    Config,
    Data,
    Days,
    Epsilon,
    Force,
    KeyFolder,
    KeyName,
    Output,
    Rows,
    Settings,
)
from privet.cli.programs import (
    errors_in,
    make_keys,
    need,
    refuse_problems,
    show_certificates,
    show_status,
    stop_when_told,
)
from privet.cli.screen import say, working
from privet.disk import write_whole
from privet.errors import PrivetError

CLASSIFIER, HIDDEN = "PrivateTreeClassifier", "HiddenTreeClassifier"

mpc = typer.Typer(
    no_args_is_help=True,
    help="Train across owners on secret shares. Semi-honest, honest majority, not independently reviewed.",
)


@mpc.callback()
def needs_cryptography() -> None:
    """Train across owners on secret shares.

    Owners keep their records; three servers hold shares of counts and
    choose each split inside a joint computation. Every program has a TOML
    file that says who is who: docs/mpc.md has one of each.

    Semi-honest, honest majority, not independently reviewed.

    Examples:

        privet mpc keygen hospital
        privet mpc server server0.toml
        privet mpc share hospital.toml patients.csv
        privet mpc train trainer.toml --epsilon 0.5 -o model.json
    """
    need("mpc", "cryptography")


@mpc.command()
def keygen(
    name: KeyName,
    folder: KeyFolder = Path(),
    days: Days = 365,
) -> None:
    """Make a key and a certificate.

    NAME.key stays on its machine. NAME.crt goes to everyone this program
    talks to, by a way on which nobody can swap it; compare fingerprints.

    Example:

        privet mpc keygen server0
    """
    make_keys(name, folder, days=days)


@mpc.command()
def server(
    config: Config,
    once: Annotated[bool, typer.Option("--once", help="Stop after one request.")] = False,
) -> None:
    """Run one of the three servers, until it is interrupted.

    It answers trainers up to the epsilon in its file, all together. What was
    spent is kept in a file beside it, so that a restart forgets nothing;
    what goes wrong is in CONFIG.errors.log.

    Example:

        privet mpc server server0.toml
    """
    from privet.consortium.servers.config import Config as Known
    from privet.consortium.servers.service import Server

    stop_when_told()
    with errors_in(config.with_suffix(".errors.log")), closing(Server(Known.read(config), progress=say)) as running:
        running.serve(once=once)


@mpc.command()
def share(
    config: Config,
    data: Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the signed receipt of a hidden model goes, as JSON.")
    ] = None,
    force: Force = False,
) -> None:
    """Take part in one training as an owner of records.

    Records and counts stay here: each server gets shares of counts, which
    alone are random numbers. For a hidden tree it gets shares of the rows.
    An owner of some of the features says in its file which (features), and
    how many seconds it waits for a trainer (patience, an hour otherwise).
    What goes wrong is in CONFIG.errors.log, which may quote records.

    Example:

        privet mpc share hospital.toml patients.csv
    """
    from privet.consortium.servers.client import share as run
    from privet.consortium.servers.config import Config as Known
    from privet.curators.owners.mpc_owner import held_of
    from privet.schema import Schema
    from privet.tables.misfit import tell_misfits
    from privet.tables.table import read_file

    stop_when_told()
    target = None if output is None else check_output(output, force, config, data)
    known = Known.read(config)
    if known.schema is None:
        raise PrivetError(f"{config} does not name a schema.")
    schema = Schema.from_toml(known.schema)
    read, with_label = schema, True
    if known.holds is not None:
        names, with_label = known.holds
        read = held_of(schema, names)
    with working("Reading the data"):
        X, y = read_file(data, read, with_label=with_label)
    tell_misfits(X, y, read)
    with errors_in(config.with_suffix(".errors.log")):
        public = run(known, X, y, schema, progress=say)
    if public is not None and target is not None:
        write_whole(target, json.dumps(public, indent=1).encode())
        say(f"Wrote {output}: the receipt, and what the three servers have signed of their shares.")


@mpc.command()
def train(
    config: Config,
    epsilon: Epsilon,
    output: Output,
    model: Annotated[str, typer.Option(metavar="NAME", help="What to learn; privet models lists them.")] = CLASSIFIER,
    given: Settings = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Noise that you know, if the servers allow it: the receipt is void.")
    ] = None,
    hidden: Annotated[
        bool, typer.Option("--hidden", help="The model stays on the servers' shares; the file says whom to ask.")
    ] = False,
    force: Force = False,
) -> None:
    """Ask the three servers for a model, and write it with its receipt.

    The model comes from each of them and must be the same. With --hidden
    nobody gets it: the servers keep shares of it and answer queries that
    they cannot read (privet mpc predict).

    Examples:

        privet mpc train trainer.toml --epsilon 0.5 -o model.json --set max_depth=4
        privet mpc train trainer.toml --epsilon 0.5 -o hidden.json --hidden
    """
    from privet.algorithms.model_file import from_dict
    from privet.algorithms.registry import make
    from privet.cli.checks import say_received
    from privet.consortium.servers.client import train as run
    from privet.consortium.servers.config import Config as Known
    from privet.privacy.receipt import Receipt

    target = check_output(output, force, config)
    params: dict[str, Any] = {"epsilon": epsilon, **settings(given or ())}
    if hidden and model == CLASSIFIER:
        model = HIDDEN
    make(model, **params)

    def progress(said: str) -> None:
        say(f"server 0: {said}")

    public = run(Known.read(config), model, params, seed=seed, hidden=hidden, progress=progress)
    if hidden:
        write_whole(target, json.dumps(public, indent=1).encode())
        where = f"The model {public['id']} stays with the servers. {target} says whom to ask: privet mpc predict."
        say_received(Receipt.from_dict(public["receipt"]), where)
        return
    learned = from_dict(public)
    learned.privacy_.verify()
    learned.save(target)
    say_received(learned.privacy_, f"Wrote {output}. Read it: privet show {output}. Check it: privet verify {output}.")


@mpc.command()
def predict(
    config: Config,
    model: Annotated[Path, typer.Argument(metavar="MODEL", exists=True, dir_okay=False, help="What train wrote.")],
    data: Data,
    output: Rows = None,
    force: Force = False,
) -> None:
    """Ask a hidden model, on the three servers that hold it.

    Queries leave as shares and answers come as shares: the servers see
    neither. How many you ask is counted against your limit.

    Example:

        privet mpc predict user.toml hidden.json new.csv -o predictions.csv
    """
    import pyarrow as pa

    from privet.cli.files import rows_to
    from privet.consortium.servers.client import predict as run
    from privet.consortium.servers.config import Config as Known
    from privet.consortium.servers.store import read_public
    from privet.schema import Schema
    from privet.tables.table import read_file

    target = None
    if output is not None:
        target = check_output(output, force, config, model, data, suffixes=(".csv", ".parquet", ".pq"))
    public = read_public(model)
    X, _ = read_file(data, Schema.from_dict(public["schema"]), with_label=False)
    classes = run(Known.read(config), public, X)
    rows_to(target, pa.table({"prediction": pa.array(classes)}))


@mpc.command()
def status(config: Config, check: Check = False, as_json: AsJson = False) -> None:
    """Show what this program's files say: limit, spent, left, runs, users.

    And its certificates, with the days that they are still valid. With
    --check each server is called, to see whether it can be reached and as
    what it knows this program. Nothing is asked and nothing is spent.

    Example:

        privet mpc status server0.toml --check
    """
    from privet.consortium.servers.config import Config as Known
    from privet.consortium.servers.status import checks
    from privet.consortium.servers.status import status as seen

    known = Known.read(config)
    found = seen(known)
    if check:
        found["check"] = checks(known)
    show_status(found, as_json)
    refuse_problems(found.get("check", ()))


@mpc.command()
def fingerprint(certificates: Certificates) -> None:
    """Show whose a certificate is, until when it is valid, and its fingerprint.

    Compare it with what its owner reads to you, on a way that nobody else
    is on: whoever can swap a certificate can sit in between.

    Example:

        privet mpc fingerprint general.crt
    """
    show_certificates(certificates)

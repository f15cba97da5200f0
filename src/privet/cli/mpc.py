"""``privet mpc``: keys, servers, owners and trainers of a joint computation."""

from __future__ import annotations

import importlib.util
import json
import signal
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.files import check_output
from privet.cli.logs import errors_in
from privet.cli.models import settings
from privet.cli.screen import say, warn, working
from privet.disk import whole_file
from privet.errors import PrivetError

CLASSIFIER, HIDDEN = "PrivateTreeClassifier", "HiddenTreeClassifier"

mpc = typer.Typer(
    no_args_is_help=True,
    help="Train across owners on secret shares. Semi-honest, honest majority, not independently reviewed.",
)

ConfigFile = Annotated[Path, typer.Argument(metavar="CONFIG", exists=True, dir_okay=False, help="Who is who, as TOML.")]


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
    if importlib.util.find_spec("cryptography") is None:
        raise PrivetError("privet mpc needs more packages: pip install 'privet[mpc]'")


@mpc.command()
def keygen(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose key; also the name of the files.")],
    folder: Annotated[Path, typer.Option("--folder", "-d", file_okay=False, help="Where they go.")] = Path(),
    server: Annotated[
        int | None, typer.Option(min=0, max=2, help="For a server: its place among the three, which MPyC asks for.")
    ] = None,
    days: Annotated[int, typer.Option(min=1, help="How long the certificate is valid.")] = 365,
) -> None:
    """Make a key and a certificate.

    NAME.key stays on its machine. NAME.crt goes to everyone this program
    talks to, by a way on which nobody can swap it; compare fingerprints.

    Example:

        privet mpc keygen server0 --server 0
    """
    from privet.consortium.net.certificates import fingerprint, make_certificate
    from privet.consortium.net.links import mpyc_name

    subject = None if server is None else mpyc_name(server)
    key, certificate = make_certificate(name, folder, subject=subject, days=days)
    say(f"Wrote {key} (keep it) and {certificate} (give it away).")
    say(f"Fingerprint {fingerprint(certificate.read_bytes())}")


@mpc.command()
def server(
    config: ConfigFile,
    once: Annotated[bool, typer.Option("--once", help="Stop after one request.")] = False,
) -> None:
    """Run one of the three servers, until it is interrupted.

    It answers trainers up to the epsilon in its file, all together. What was
    spent is kept in a file beside it, so that a restart forgets nothing;
    what goes wrong is in CONFIG.errors.log.

    Example:

        privet mpc server server0.toml
    """
    from privet.consortium.servers.config import Config
    from privet.consortium.servers.service import Server

    signal.signal(signal.SIGTERM, lambda *_: _stop())
    with errors_in(config.with_suffix(".errors.log")), closing(Server(Config.read(config), progress=say)) as running:
        running.serve(once=once)


@mpc.command()
def share(
    config: ConfigFile,
    data: Annotated[Path, typer.Argument(metavar="DATA", exists=True, dir_okay=False, help="Your records.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the signed receipt of a hidden model goes, as JSON.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file if it exists.")] = False,
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
    from privet.consortium.servers.config import Config
    from privet.curators.owners.mpc_owner import held_of
    from privet.schema import Schema
    from privet.tables.table import read_file

    signal.signal(signal.SIGTERM, lambda *_: _stop())
    target = None if output is None else check_output(output, force, config, data)
    known = Config.read(config)
    if known.schema is None:
        raise PrivetError(f"{config} does not name a schema.")
    schema = Schema.from_toml(known.schema)
    read, with_label = schema, True
    if known.holds is not None:
        names, with_label = known.holds
        read = held_of(schema, names)
    with working("Reading the data"):
        X, y = read_file(data, read, with_label=with_label)
    with errors_in(config.with_suffix(".errors.log")):
        public = run(known, X, y, schema, progress=say)
    if public is not None and target is not None:
        with whole_file(target) as part:
            part.write_text(json.dumps(public, indent=1), encoding="utf-8")
        say(f"Wrote {output}: the receipt, and what the three servers have signed of their shares.")


@mpc.command()
def train(
    config: ConfigFile,
    epsilon: Annotated[float, typer.Option(help="The privacy budget of this model.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the model goes, as JSON.")],
    model: Annotated[str, typer.Option(metavar="NAME", help="What to learn; privet models lists them.")] = CLASSIFIER,
    given: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the model; may be repeated.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Noise that you know, if the servers allow it: the receipt is void."),
    ] = None,
    hidden: Annotated[
        bool, typer.Option("--hidden", help="The model stays on the servers' shares; the file says whom to ask.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file if it exists.")] = False,
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
    from privet.consortium.servers.client import train as run
    from privet.consortium.servers.config import Config

    target = check_output(output, force, config)
    params: dict[str, Any] = {"epsilon": epsilon, **settings(given or ())}
    if hidden and model == CLASSIFIER:
        model = HIDDEN
    make(model, **params)
    if hidden:
        public = run(
            Config.read(config), model, params, seed=seed, hidden=True, progress=lambda said: say(f"server 0: {said}")
        )
        _write_hidden(public, target)
        return
    learned = from_dict(
        run(Config.read(config), model, params, seed=seed, progress=lambda said: say(f"server 0: {said}"))
    )
    learned.privacy_.verify()
    with whole_file(target) as part:
        learned.save(part)
    say(f"\nReceipt\n{learned.privacy_}\n")
    say(f"Wrote {output}. Read it: privet show {output}. Check it: privet verify {output}.")
    if learned.privacy_.void:
        warn(f"the receipt is void: {'; '.join(learned.privacy_.void)}")


@mpc.command()
def predict(
    config: ConfigFile,
    model: Annotated[Path, typer.Argument(metavar="MODEL", exists=True, dir_okay=False, help="What train wrote.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", exists=True, dir_okay=False, help="The queries.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .csv or .parquet file; by default CSV on the screen.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file if it exists.")] = False,
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
    from privet.consortium.servers.config import Config
    from privet.consortium.servers.store import read_public
    from privet.schema import Schema
    from privet.tables.table import read_file

    target = None
    if output is not None:
        target = check_output(output, force, config, model, data, suffixes=(".csv", ".parquet", ".pq"))
    public = read_public(model)
    X, _ = read_file(data, Schema.from_dict(public["schema"]), with_label=False)
    classes = run(Config.read(config), public, X)
    rows_to(target, pa.table({"prediction": pa.array(classes)}))


def _write_hidden(public: dict[str, Any], target: Path) -> None:
    from privet.privacy.receipt import Receipt

    receipt = Receipt.from_dict(public["receipt"])
    receipt.verify()
    with whole_file(target) as part:
        part.write_text(json.dumps(public, indent=1), encoding="utf-8")
    say(f"\nReceipt\n{receipt}\n")
    say(f"The model {public['id']} stays with the servers. {target} says whom to ask: privet mpc predict.")
    if receipt.void:
        warn(f"the receipt is void: {'; '.join(receipt.void)}")


def _stop() -> None:
    raise KeyboardInterrupt

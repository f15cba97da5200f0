"""``privet mpc``: keys, servers, owners and trainers of a joint computation."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.evaluate import By, Holdout, held_out, say_scores
from privet.cli.files import ROWS, check_output
from privet.cli.logs import Log, LogForm, Metrics, speaking
from privet.cli.members import Limit, NewFile, add_to, made, with_address, with_queries
from privet.cli.models import settings
from privet.cli.options import Config, Consortium, Data, Epsilon, Force, Output, Rows, SchemaFile, Settings, SignedModel
from privet.cli.programs import stop_when_told
from privet.cli.screen import say, working
from privet.disk import write_whole
from privet.errors import PrivetError
from privet.extras import need

CLASSIFIER, HIDDEN = "PrivateTreeClassifier", "HiddenTreeClassifier"

mpc = typer.Typer(
    no_args_is_help=True,
    help="Train across owners on secret shares. Semi-honest, honest majority, not independently reviewed.",
)


@mpc.callback()
def needs_cryptography() -> None:
    """Train across owners on secret shares.

    Owners keep their records; three servers hold secret shares of counts and
    choose each split inside a joint computation. One file says who takes
    part, and all members get it: docs/consortium.md.

    Semi-honest, honest majority: all servers must keep to the program, and
    no two may work together. Not independently reviewed.

    Examples:

        privet mpc join consortium.toml hospital --data patients.csv
        privet mpc server alpha.toml
        privet mpc share hospital.toml
        privet mpc train trainer.toml --epsilon 0.5 -o model.json
    """
    need("mpc", "cryptography")


@mpc.command()
def init(
    file: NewFile,
    schema: SchemaFile,
    server: Annotated[
        list[str], typer.Option(metavar="NAME=HOST:PORT", help="A server; give this option three times.")
    ],
    owner: Annotated[list[str], typer.Option(help="The name of an owner of records; may be given several times.")],
    trainer: Annotated[str, typer.Option(help="Who may ask for models.")] = "trainer",
    user: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=QUERIES", help="Who may ask hidden models, and how many queries in all."),
    ] = None,
    epsilon: Limit = 1.0,
    most_records: Annotated[int, typer.Option(min=1, help="A public number: no owner has more records.")] = 2**20,
    rows: Annotated[
        int, typer.Option(min=1, help="Hidden trees: how many rows each owner shares, filled up with empty ones.")
    ] = 2**15,
    noise: Annotated[str, typer.Option(help="cut, or dealt: faster, with more noise.")] = "cut",
) -> None:
    """Make a consortium's file: names, roles, addresses, the schema and the terms.

    Send it to all members, who then join. docs/consortium.md has all steps.

    Example:

        privet mpc init consortium.toml --schema schema.toml --owner hospital --owner bank \\
            --server alpha=10.0.0.1:7100 --server beta=10.0.0.2:7100 --server gamma=10.0.0.3:7100
    """
    from privet.consortium.consortium_file import OWNER, SERVER, TRAINER, USER, Participant
    from privet.schema import Schema

    members = [Participant(name, SERVER, address) for name, address in map(with_address, server)]
    members += [*(Participant(name, OWNER) for name in owner), Participant(trainer, TRAINER)]
    members += [Participant(name, USER, queries=queries) for name, queries in map(with_queries, user or ())]
    terms = {"epsilon": epsilon, "most_records": most_records, "rows": rows, "noise": noise}
    made(file, "mpc", Schema.from_toml(schema), members, terms)


@mpc.command()
def server(
    config: Config,
    once: Annotated[bool, typer.Option("--once", help="Stop after one request.")] = False,
    log: Log = LogForm.plain,
    metrics: Metrics = None,
) -> None:
    """Run one of the three servers, until it is interrupted.

    All trainings together may spend the epsilon in its settings file. What
    was spent is kept in a ledger, so that a restart forgets nothing. Errors
    are written to NAME.errors.log.

    Example:

        privet mpc server alpha.toml
    """
    from privet.consortium.servers.config import Config as Known
    from privet.consortium.servers.service import Server

    stop_when_told()
    known, servers = Known.read(config), list[Server]()
    live = lambda: servers[0].status() if servers else {}  # noqa: E731
    with speaking(config, log, metrics, config.with_suffix(".errors.log"), live) as speaker:
        servers.append(Server(known, progress=speaker))
        with closing(servers[0]) as running:
            running.serve(once=once)


@mpc.command()
def share(
    config: Config,
    at_most: Annotated[
        float | None, typer.Option(help="Take part only if this run costs no more than this epsilon.")
    ] = None,
    confirm: Annotated[bool, typer.Option("--confirm", help="Ask me when a training is offered.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the signed receipt goes, as JSON.")
    ] = None,
    force: Force = False,
    log: Log = LogForm.plain,
    metrics: Metrics = None,
) -> None:
    """Take part in one training as an owner of records.

    Records and counts stay here: each server gets shares of counts, which
    alone are random numbers. For a hidden tree it gets shares of the rows.
    What the training may spend is set aside in this owner's own ledger, up
    to its limit, before anything is shared.
    The settings file says where the records are, and how many seconds to
    wait for a trainer (patience; by default an hour).
    Errors are written to NAME.errors.log, which may quote records.

    Example:

        privet mpc share hospital.toml
    """
    from privet.consortium.servers.client import owner_ledger
    from privet.consortium.servers.client import share as run
    from privet.consortium.servers.config import Config as Known
    from privet.curators.owners.mpc_owner import held_of
    from privet.privacy.amounts import exact
    from privet.tables.misfit import tell_misfits
    from privet.tables.table import read_file

    stop_when_told()
    target = None if output is None else check_output(output, force, config)
    known = Known.read(config)
    if known.data is None:
        raise PrivetError(f"{config} is not the file of an owner: {known.name} has the role {known.role}.")
    read, with_label = known.schema, True
    if known.holds is not None:
        names, with_label = known.holds
        read = held_of(known.schema, names)
    with working("Reading the data"):
        X, y = read_file(known.data, read, with_label=with_label)
    tell_misfits(X, y, read)
    ledger = owner_ledger(
        known,
        at_most=None if at_most is None else exact(at_most),
        agrees=lambda offer: not confirm or typer.confirm(f"Take part in {offer}?"),
    )
    with speaking(config, log, metrics, config.with_suffix(".errors.log")) as speaker:
        signed = run(known, X, y, ledger, progress=speaker)
        if target is not None:
            write_whole(target, json.dumps(signed, indent=1).encode())
            speaker(f"Wrote {output}: the receipt that the three servers have signed. privet mpc verify checks it.")


@mpc.command()
def train(
    config: Config,
    epsilon: Epsilon,
    output: Output,
    model: Annotated[str, typer.Option(metavar="NAME", help="What to learn; privet models lists them.")] = CLASSIFIER,
    given: Settings = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Reproducible noise, if servers and owners allow it: it makes the receipt void."),
    ] = None,
    hidden: Annotated[
        bool,
        typer.Option(
            "--hidden", help="The model stays on the servers as secret shares; OUTPUT says which servers to ask."
        ),
    ] = False,
    holdout: Holdout = None,
    by: By = None,
    force: Force = False,
    log: Log = LogForm.plain,
    metrics: Metrics = None,
) -> None:
    """Ask the three servers for a model, and write it with its receipt.

    The model comes from each of them and must be the same. With --hidden
    nobody gets it: the servers keep shares of it and answer queries that
    they cannot read (privet mpc predict). --holdout keeps some of every
    owner's records out of learning and scores the model on them, at no
    extra epsilon.

    Examples:

        privet mpc train trainer.toml --epsilon 0.5 -o model.json --set max_depth=4
        privet mpc train trainer.toml --epsilon 0.5 -o model.json --holdout 0.2 --by sex
        privet mpc train trainer.toml --epsilon 0.5 -o hidden.json --hidden
    """
    from privet.algorithms.model_file import from_dict
    from privet.algorithms.registry import make
    from privet.consortium.servers.client import train as run
    from privet.consortium.servers.config import Config as Known
    from privet.consortium.servers.requests import Requests
    from privet.evaluate.evaluation import Evaluation
    from privet.privacy.receipt import Receipt

    stop_when_told()
    target = check_output(output, force, config)
    signed_target = None if hidden else check_output(output.with_suffix(".signed.json"), force, config)
    params: dict[str, Any] = {"epsilon": epsilon, **settings(given or ())}
    if hidden and model == CLASSIFIER:
        model = HIDDEN
    make(model, **params)
    known = Known.read(config)
    scored = held_out(holdout, by, known.schema)
    with ExitStack() as stack:
        speaker = stack.enter_context(speaking(config, log, metrics, config.with_suffix(".errors.log")))
        stack.enter_context(Requests(config).noted(f"{model} for epsilon {epsilon:g}"))
        progress = lambda said: speaker(f"server 0: {said}")  # noqa: E731
        trained = run(known, model, params, seed=seed, hidden=hidden, **scored, progress=progress)
    words = json.dumps(trained.signed, indent=1).encode()
    if trained.model is None or signed_target is None:
        write_whole(target, words)
        where = (
            f"The model {trained.signed['id']} stays with the servers. "
            f"{target} says which servers to ask: privet mpc predict."
        )
        if "evaluation" in trained.signed:
            say_scores(Evaluation.from_dict(trained.signed["evaluation"]))
        speaker.received(Receipt.from_dict(trained.signed["receipt"]), where)
        return
    learned = from_dict(trained.model)
    learned.save(target, overwrite=True)
    write_whole(signed_target, words)
    say_scores(learned.evaluation_)
    speaker.received(learned.privacy_, f"Wrote {output} and, signed by the three servers, {signed_target.name}.")


@mpc.command()
def verify(
    signed: Annotated[
        Path, typer.Argument(metavar="SIGNED", exists=True, dir_okay=False, help="A signed receipt, or a hidden model.")
    ],
    consortium: Consortium,
    model: SignedModel = None,
) -> None:
    """Check a receipt and the three servers' signatures of it.

    With --model, also that it is the receipt of this model, and that the
    model says nothing that the receipt does not cover.

    Example:

        privet mpc verify model.signed.json hospital.consortium.toml --model model.json
    """
    from privet.cli.checks import say_signed
    from privet.consortium.consortium_file import SERVER
    from privet.consortium.consortium_file import Consortium as Members
    from privet.consortium.servers.commitments import check
    from privet.consortium.servers.signatures import FORMAT, signed_receipt
    from privet.errors import ReceiptError
    from privet.strict_json import object_of

    words = object_of(signed.read_bytes(), ReceiptError(f"{signed} is no signed receipt."))
    certificates = [server.certificate for server in Members.read(consortium).of(SERVER)]
    if words.get("format") != FORMAT:
        check(words, certificates)
    say_signed(signed_receipt(words, certificates), "all three servers", model)
    if "owners" in words:
        say(f"The records of {', '.join(map(str, words['owners']))} are in all answers.")


@mpc.command()
def models(config: Config) -> None:
    """List the hidden models whose shares this server keeps.

    Example:

        privet mpc models alpha.toml
    """
    from privet.consortium.servers.config import Config as Known
    from privet.consortium.servers.service import store_of

    found = dict(store_of(Known.read(config)).listed())
    for name, public in found.items():
        say(f"{name}  {public['model']}, epsilon {public['params'].get('epsilon')}")
    say(models=found)


@mpc.command()
def delete(
    config: Config,
    name: Annotated[
        str, typer.Argument(metavar="MODEL", help="The model's whole name, as privet mpc models shows it.")
    ],
) -> None:
    """Delete this server's shares of a hidden model, for good.

    Nobody can ask it any more, nor put it together from the two other
    servers' shares once one of those has deleted its own, too.

    Example:

        privet mpc delete alpha.toml 0123456789abcdef0123456789abcdef
    """
    from privet.consortium.servers.config import Config as Known
    from privet.consortium.servers.service import store_of

    store_of(Known.read(config)).delete(name)
    say(f"Deleted the shares of {name} here. Ask the two other servers to do the same.", deleted=name)


@mpc.command()
def predict(
    config: Config,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", exists=True, dir_okay=False, help="The file that privet mpc train --hidden wrote."
        ),
    ],
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
    from privet.consortium.servers.requests import Requests
    from privet.consortium.servers.store import read_public
    from privet.schema import Schema
    from privet.tables.table import read_file

    target = None
    if output is not None:
        target = check_output(output, force, config, model, data, suffixes=ROWS)
    public = read_public(model)
    X, _ = read_file(data, Schema.from_dict(public["schema"]), with_label=False)
    known = Known.read(config)
    with Requests(config).noted(f"{len(X):,} queries of model {public['id'][:8]}"):
        classes = run(known, public, X)
    rows_to(target, [pa.table({"prediction": pa.array(classes)})])


add_to(mpc)

"""Commands that ``privet federated`` and ``privet mpc`` share: how a consortium's file goes round, and its status."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.logs import Log, LogForm, speaking
from privet.cli.options import Check, Config, Days
from privet.cli.programs import refuse_problems, show_status, stop_when_told
from privet.cli.screen import say
from privet.errors import PrivetError

if TYPE_CHECKING:
    from privet.consortium.consortium_file import Consortium, Participant
    from privet.schema import Schema

SentFile = Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A consortium's file.")]
NewFile = Annotated[Path, typer.Argument(metavar="FILE", help="The consortium's file, to be made.")]
Port = Annotated[int, typer.Option(min=0, max=2**16 - 1, help="The port at 127.0.0.1; 0 takes any free port.")]
Limit = Annotated[float, typer.Option(help="A proposal for every member's own limit: what all runs may spend.")]


def add_to(app: typer.Typer) -> None:
    """Register the commands that both have."""
    for command in (join, gather, accept, invite, remove, renew, fingerprint, status, page):
        app.command()(command)


def made(path: Path, kind: str, schema: Schema, members: list[Participant], terms: dict[str, Any]) -> None:
    """Write a new consortium file, and say what to do with it."""
    from privet.consortium.consortium_file import TERMS, Consortium, check_names
    from privet.consortium.membership import found

    check_names(member.name for member in members)
    given = {name: value for name, value in terms.items() if value is not None}
    found(path, Consortium(kind, schema, tuple(members), {**TERMS[kind], **given}))
    names = [member.name for member in members]
    say(f"Wrote {path}. Send it to {', '.join(names)}.", file=path, members=names)
    say(f"Each of them, you too: privet {kind} join {path.name} NAME")


def with_address(text: str) -> tuple[str, str]:
    """``name=host:port``, taken apart."""
    from privet.consortium.config_file import address_of

    name, equals, address = text.partition("=")
    if not equals or address_of(address) is None:
        raise PrivetError(f"{text!r} is not NAME=HOST:PORT, such as alpha=10.0.0.1:7100.")
    return name, address


def with_queries(text: str) -> tuple[str, int]:
    """``name=queries``, taken apart."""
    name, equals, queries = text.partition("=")
    if not equals or not queries.isdecimal():
        raise PrivetError(f"{text!r} is not NAME=QUERIES, such as analyst=10000.")
    return name, int(queries)


def join(
    ctx: typer.Context,
    file: SentFile,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Your name in the file.")],
    data: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Your records, CSV or Parquet: never sent.")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Your limit for all runs together; by default the one that FILE proposes.")
    ] = None,
    listen: Annotated[
        str | None, typer.Option(help="Where to listen, HOST:PORT, if that is not your address in FILE.")
    ] = None,
    folder: Annotated[Path, typer.Option("--folder", "-d", file_okay=False, help="Where your files go.")] = Path(),
    days: Days = 365,
) -> None:
    """Join a consortium: make your key, and a copy of the file to send back.

    NAME.key never leaves this machine. NAME.toml has your own settings; look
    at them. Send NAME.consortium.toml, with your certificate in it, back to
    the member who sent you FILE.

    Examples:

        privet federated join consortium.toml mercy --data patients.csv --epsilon 1
        privet mpc join consortium.toml alpha --listen 0.0.0.0:7100
    """
    from privet.consortium.consortium_file import TERMS, Consortium
    from privet.consortium.membership import join as joined
    from privet.consortium.net.certificates import fingerprint

    called, kind = str(getattr(ctx.parent, "info_name", "")), Consortium.read(file).kind
    if called in TERMS and called != kind:
        raise PrivetError(f"{file} is for {kind} training: privet {kind} join {file} {name}")
    if data is not None:
        data = Path(os.path.relpath(data, folder))
    settings = {"data": None if data is None else str(data), "epsilon": epsilon, "listen": listen}
    own, copy = joined(file, name, folder, days, settings)
    said = f"Wrote {own.own_key} (keep it), {own.path} (your settings) and {copy}."
    say(said, key=own.own_key, settings=own.path, copy=copy)
    if "epsilon" in own.data:
        say(
            f"Your limit, for all runs together: epsilon {own.data['epsilon']:g}. It is yours to change, in {own.path}."
        )
    say(f"Send {copy} back to the member who made {file}. If you made it, gather the copies of all others.")
    print_of = fingerprint(own.me.certificate)
    say(f"Your fingerprint: {print_of}", fingerprint=print_of)


def gather(
    config: Config,
    copies: Annotated[
        list[Path],
        typer.Argument(
            metavar="COPIES", exists=True, dir_okay=False, help="NAME.consortium.toml of the other members."
        ),
    ],
    renewed: Annotated[
        list[str] | None, typer.Option(help="A member who has told you of a new key; may be given several times.")
    ] = None,
) -> None:
    """Put the copies that members have sent back together, in your copy.

    When all members have joined, send your copy to all. Each member compares
    its fingerprint with you and accepts it.

    Example:

        privet federated gather coordinator.toml mercy.consortium.toml general.consortium.toml
    """
    from privet.consortium.membership import gather as gathered
    from privet.consortium.own_file import OwnFile

    own = OwnFile(config)
    new = gathered(own, copies, renewed or ())
    consortium = OwnFile(config).consortium
    said = f"New in {own.copy}: {', '.join(new) or 'nobody'}."
    say(said, new=new, missing=consortium.missing, copy=own.copy, fingerprint=consortium.fingerprint)
    if consortium.missing:
        say(f"Still missing: {', '.join(consortium.missing)}.")
        return
    say(f"Everybody is in. Send {own.copy} to all: privet {consortium.kind} accept NAME.toml {own.copy.name}")
    _show(consortium)


def accept(
    config: Config,
    file: SentFile,
    compared: Annotated[
        str | None,
        typer.Option("--fingerprint", help="The fingerprint that other members read to you; asked for if left out."),
    ] = None,
) -> None:
    """Accept the file that has all members in it, after comparing its fingerprint.

    Shows what is new in the file. Your certificate in it must be the one on
    this machine. A running program uses the old file until it is restarted.

    Example:

        privet federated accept mercy.toml coordinator.consortium.toml
    """
    from privet.consortium.membership import changes
    from privet.consortium.own_file import OwnFile

    own = OwnFile(config)
    new, differences = changes(own, file)
    _show(new)
    for each in differences:
        say(f"Changed: {each}.")
    if compared is None:
        typer.confirm(
            "Have all others read the same fingerprint to you, by telephone or in person?", abort=True, err=True
        )
    elif "".join(compared.split()).lower() != new.fingerprint:
        raise PrivetError(
            f"This is not the fingerprint of {file}. Somebody holds another file: do not accept it before you know why."
        )
    own.adopt(new)
    said = f"Accepted: {own.copy}. See how you stand: privet {new.kind} status {config} --check"
    say(said, accepted=own.copy, changes=differences, fingerprint=new.fingerprint)


def invite(
    config: Config,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the new member.")],
    role: Annotated[str, typer.Option(help="party; for privet mpc: owner or user.")],
    queries: Annotated[int, typer.Option(min=0, help="How many queries a user may ask in all.")] = 0,
) -> None:
    """Add a member: send your copy to the new member, who then joins.

    Afterwards gather the new member's copy, and all members accept yours.

    Example:

        privet federated invite coordinator.toml east --role party
    """
    from privet.consortium.consortium_file import OWNER, PARTY, Participant, check_names
    from privet.consortium.membership import invite as invited
    from privet.consortium.own_file import OwnFile

    check_names([name])
    own = OwnFile(config)
    invited(own, Participant(name, role, queries=queries))
    data = " --data FILE" if role in (PARTY, OWNER) else ""
    how = f"Send {own.copy} to {name}: privet {own.consortium.kind} join {own.copy.name} {name}{data}"
    say(how, copy=own.copy, invited=name)


def remove(
    config: Config,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The member who has left, or is to leave.")],
) -> None:
    """Remove a member from your copy, which all others then accept.

    Members who have accepted the copy and restarted their programs refuse the
    removed member's certificate. What that member has signed stays signed.

    Example:

        privet federated remove coordinator.toml north
    """
    from privet.consortium.membership import remove as removed
    from privet.consortium.own_file import OwnFile

    own = OwnFile(config)
    removed(own, name)
    kind = own.consortium.kind
    how = f"Send it to all others: privet {kind} accept NAME.toml {own.copy.name}"
    say(f"{name} is out of {own.copy}. {how}", copy=own.copy, removed=name)


def renew(config: Config, days: Days = 365) -> None:
    """Make a new key, before your certificate runs out or if somebody may know the old key.

    Send your copy, with the new certificate, to the member who gathers
    copies. Stop your program first; a party must have no open run.

    Example:

        privet federated renew mercy.toml
    """
    from privet.consortium.consortium_file import PARTY
    from privet.consortium.membership import renew as renewed
    from privet.consortium.net.certificates import fingerprint
    from privet.consortium.own_file import OwnFile

    own = OwnFile(config)
    if own.me.role == PARTY:
        from privet.consortium.federated.status import refuse_open_runs

        refuse_open_runs(own.beside("state", f"{own.me.name}.state"))
    copy, kind = renewed(own, days), own.consortium.kind
    how = f"privet {kind} gather THEIR.toml {copy.name} --renewed {own.me.name}"
    say(f"Send {copy}: {how}. Then all accept their copy.", copy=copy)
    print_of = fingerprint(OwnFile(config).me.certificate)
    say(f"Your fingerprint: {print_of}", fingerprint=print_of)


def fingerprint(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILES", exists=True, dir_okay=False, help="Consortium files, or NAME.crt.")
    ],
) -> None:
    """Show the fingerprint of a consortium's file or of a certificate, and whose it is.

    Compare it with what the other members read to you, by telephone or in
    person: somebody who can swap a certificate can read your messages.

    Example:

        privet federated fingerprint coordinator.consortium.toml
    """
    from privet.consortium.consortium_file import Consortium
    from privet.consortium.net.certificates import names_in, standing

    prints: dict[str, str] = {}
    for file in files:
        if file.suffix == ".toml":
            known = Consortium.read(file)
            prints[str(file)] = known.fingerprint
            _show(known)
            continue
        certificate = file.read_bytes()
        own = standing(file.name, certificate)
        say(f"{file}: of {', '.join(names_in(certificate))}; until {own['until']}, {own['days']} days from now")
        say(f"Fingerprint {own['fingerprint']}")
        prints[str(file)] = str(own["fingerprint"])
    say(files=prints)


def _show(consortium: Consortium) -> None:
    from privet.consortium.consortium_file import USER, shown
    from privet.consortium.net.certificates import standing

    for member in consortium.members:
        where = f" at {member.address}" if member.address else ""
        until = (
            f", until {standing(member.name, member.certificate)['until']}" if member.certificate else ", not joined"
        )
        queries = f" for {member.queries:,} queries" if member.role == USER else ""
        say(f"  {member.name}: {member.role}{where}{queries}{until}")
    say("  " + ", ".join(f"{name} {value}" for name, value in consortium.terms.items()))
    say(f"Fingerprint {shown(consortium.fingerprint)}")


def status(
    config: Config,
    check: Check = False,
    epsilon: Annotated[float | None, typer.Option(help="With --check: what the model will need.")] = None,
    delta: Annotated[float | None, typer.Option(help="With --check: the model's delta, if it has one.")] = None,
) -> None:
    """Show how a member stands: limit, spent, left, runs, last contact, certificates.

    Reads the member's own files only. --check also asks the other members:
    do they answer, do they know this member, do schema, versions and clocks
    fit, is enough left for a model? Nobody joins, pays or counts.

    Examples:

        privet federated status mercy.toml
        privet federated status coordinator.toml --check --epsilon 1
        privet mpc status alpha.toml --check
    """
    from privet.cli.roles import checked, status_of

    found = status_of(config)
    if check:
        found["check"] = checked(config, epsilon, delta)
    show_status(found)
    refuse_problems(found.get("check", ()))


def page(config: Config, port: Port = 9101, log: Log = LogForm.plain) -> None:
    """Show a member's status as a web page, on this machine only, until interrupted.

    The same as status, read anew every five seconds, with health and metrics.
    Programs that keep running have this page by --metrics. This command is
    for members without a running program, such as a user.

    Example:

        privet mpc page analyst.toml
    """
    from privet.cli.roles import status_of

    stop_when_told()
    status_of(config)  # a file that says nothing is refused before anything is made beside it
    with speaking(config, log, port, config.with_suffix(".errors.log")):
        Event().wait()

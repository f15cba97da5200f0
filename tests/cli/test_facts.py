"""``--json`` of every command: one object on stdout, and nothing else there."""

import json
import shlex
from pathlib import Path

import pytest

from every_command import MARK, SCHEMA, call, commands
from privet.cli.facts import for_programs, plain

ONE_AFTER_THE_OTHER = """
demo --epsilon 1 --write census.csv                          | accuracy, privacy, rules, file
schema draft people.csv --label ill                          | schema
schema draft people.csv --label ill -o draft.toml            | file, unconfirmed
schema check people.csv --schema people.toml                 | fits, misfits
plan --schema people.toml --n-records 300 --epsilon 1        | quote
plan --schema people.toml --n-records 300 --choose --runs 1  | epsilons
ledger new people.ledger --epsilon 9 --records people        | records, cohorts
fit people.csv --schema people.toml --epsilon 1 -o model.json --holdout 0.3 --ledger people.ledger | file, privacy
show model.json                                              | format, receipt
verify model.json                                            | checks, verified, answers, privacy
predict model.json people.csv                                | rows
predict model.json people.csv -o p.csv                       | file, n_rows
evaluate model.json people.csv --epsilon 1 -o scored.json    | scores, privacy, file
report model.json                                            | file, bytes
export model.json --to python                                | file, form
ledger show people.ledger model.json                         | records, cohorts, lines
ledger limit people.ledger --epsilon 8                       | records, cohorts
ledger cohort people.ledger 2025 --epsilon 1                 | records, cohorts
models                                                       | models
models PrivateTreeClassifier                                 | model, about, parameters
audit --estimator RandomTreeClassifier --epsilon 1 --minutes 0.01 --set max_depth=1 --set structure=0 | violated
certify people.csv --schema people.toml --epsilon 1 --runs 5 | rows
federated init f.toml --schema people.toml --address h.example:1 --party a --party b --party c | file, members
federated join f.toml a --data people.csv                    | key, settings, copy, fingerprint
federated join f.toml b --data people.csv                    | copy, fingerprint
federated join f.toml c --data people.csv                    | copy, fingerprint
federated join f.toml coordinator                            | copy, fingerprint
federated gather coordinator.toml a.consortium.toml b.consortium.toml c.consortium.toml | new, missing, copy
federated accept a.toml coordinator.consortium.toml --fingerprint {print} | accepted, changes, fingerprint
federated fingerprint f.toml                                 | files
federated status a.toml                                      | consortium
federated invite coordinator.toml d --role party             | copy, invited
federated remove coordinator.toml d                          | copy, removed
federated renew a.toml                                       | copy, fingerprint
mpc init m.toml --schema people.toml --owner o --server x=h:1 --server y=h:2 --server z=h:3 | file, members
mpc join m.toml x                                            | key, settings, copy, fingerprint
""".strip().splitlines()

SEEN_ELSEWHERE = {
    ("playground",),  # a server: its object is the address
    ("federated", "give-up"),
    ("federated", "verify"),
    ("mpc", "delete"),
    ("mpc", "models"),
    ("mpc", "predict"),
    ("mpc", "train"),
    ("mpc", "verify"),
}
"""They need a run between machines; real processes ask some of them for JSON (``tests/consortium``)."""

SHARED = {"join", "gather", "accept", "invite", "remove", "renew", "fingerprint", "status"}


def test_every_command_tells_its_result_as_one_object(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.toml").write_text(SCHEMA)
    rows = [f"{20 + i % 60},{'ab'[i % 2]},{('no', 'yes')[i % 60 > 30]}" for i in range(300)]
    (tmp_path / "people.csv").write_text("\n".join(["age,ward,ill", *rows]))
    fingerprint = ""
    for line in ONE_AFTER_THE_OTHER:
        command, _, wanted = line.partition("|")
        result = call([*shlex.split(command.replace("{print}", fingerprint)), "--json"])
        assert result.exit_code == 0, f"{command}\n{result.output}"
        found = json.loads(result.stdout)
        assert {name.strip() for name in wanted.split(",")} <= set(found), (command, list(found))
        if command.startswith("federated gather"):
            fingerprint = found["fingerprint"]
    assert not for_programs()


def test_every_command_has_json_or_a_log_that_is():
    options = {path: {name for own in command.params for name in own.opts} for path, command in commands()}
    assert all({"--json", "--log"} & own for own in options.values())
    with_json = {path for path, own in options.items() if "--json" in own}
    tried = {path for path in with_json if any(line.startswith(" ".join(path) + " ") for line in ONE_AFTER_THE_OTHER)}
    assert all(path[0] == "mpc" and path[1] in SHARED for path in with_json - tried - SEEN_ELSEWHERE)


def test_a_command_that_fails_prints_no_object(tmp_path):
    result = call(["show", str(tmp_path / "none.json"), "--json"])
    assert result.exit_code == 2
    assert result.stdout == ""


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 0.5, [1, (2,)], {"a": None}])
def test_facts_are_strict_json(value):
    json.dumps(plain(value), allow_nan=False)


def test_the_page_of_the_command_line_has_every_command_and_option():
    """By name: how Typer words the rest changes with its version."""
    text = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text().partition(MARK)[2]
    sections = {names.strip(): body for names, _, body in (part.partition("\n") for part in text.split("### ")[1:])}
    for path, command in commands():
        told = [body for names, body in sections.items() if f"`{' '.join(('privet', *path))}`" in names]
        assert len(told) == 1, f"{path}: python tests/every_command.py docs/command-line.md"
        missing = [name for own in command.params for name in own.opts if "-" in name and f"`{name}`" not in told[0]]
        assert not missing, f"{path}: python tests/every_command.py docs/command-line.md"

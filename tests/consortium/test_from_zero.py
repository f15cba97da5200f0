"""From nothing to a trained model, by the commands that docs/consortium.md prints and no others, as real processes."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("grpc")

from held_ports import HERE, held_ports
from privet import load
from privet.datasets import load_adult

DOCS = (Path(__file__).parents[2] / "docs" / "consortium.md").read_text()
PRIVET = [sys.executable, "-c", "from privet.cli import main; main()"]
MOST_COMMANDS = 6
STAYS = ("party", "server", "share")
"""Commands that go on until they are stopped, or until a training is over."""


def printed(kind):
    """The commands of the table about this kind: (row, column, words), in their order."""
    found = []
    for line in DOCS.splitlines():
        row, *columns = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if row.isdecimal():
            for column, cell in enumerate(columns):
                found += [(column, shlex.split(text)[1:]) for text in re.findall(rf"`(privet {kind} [^`]*)`", cell)]
    return found


class Consortium:
    """A folder for each member, as if on machines of their own; files go from one to the other by hand."""

    def __init__(self, folder, roles, addresses):
        self.folder, self.roles, self.addresses = folder, roles, addresses
        self.typed = {name: 0 for names in roles for name in names}
        self.staying, self.logs = [], []
        for name in self.typed:
            (folder / name).mkdir()

    def records(self, names, rows=2000):
        X, y, schema = load_adult()
        table = X.assign(**{schema.label: y})
        schema.to_toml(self.folder / self.roles[0][0] / "schema.toml")
        for name, part in zip(
            names, np.array_split(np.random.default_rng(0).permutation(len(table))[:rows], len(names))
        ):
            table.iloc[part].to_csv(self.folder / name / "patients.csv", index=False)

    def run(self, kind):
        """Type what the docs print, row by row; each member of a role types its own name."""
        before = None
        for column, words in printed(kind):
            for name in self.roles[column]:
                self.send(name, words)
                self.type(name, [self.own(word, column, name) for word in words])
            if words[1] in STAYS and before != words[1]:
                time.sleep(0.5)
            before = words[1]

    def own(self, word, column, name):
        """The word with this member's name and this test's addresses."""
        example = self.roles[column][0]
        if name != example:
            word = re.sub(rf"^{example}\b", name, word)
        for printed_address, address in self.addresses(name).items():
            word = word.replace(printed_address, address)
        return word

    def send(self, name, words):
        """By mail: whatever file a command names that others have and this member has not, newest first."""
        for word in words:
            if not word.endswith(".toml"):
                continue
            target = self.folder / name / word
            found = [path for path in self.folder.glob(f"*/{word}") if path != target]
            if found and (not target.exists() or words[1] == "accept"):
                shutil.copy(max(found, key=lambda path: path.stat().st_mtime), target)

    def type(self, name, words):
        self.typed[name] += 1
        folder = self.folder / name
        if words[1] in STAYS:
            log = (folder / f"{words[1]}.log").open("wb")
            self.logs.append(log)
            self.staying.append(subprocess.Popen([*PRIVET, *words], cwd=folder, stdout=log, stderr=log))
            return
        done = subprocess.run(
            [*PRIVET, *words], cwd=folder, input="y\n", capture_output=True, text=True, timeout=300, env={**os.environ}
        )
        assert done.returncode == 0, f"{name} typed {' '.join(words)}: {done.stdout}{done.stderr}"

    def close(self):
        for program in self.staying:
            program.terminate()
        for program in self.staying:
            program.wait(60)
        for log in self.logs:
            log.close()


@pytest.fixture
def consortium(tmp_path):
    made = []

    def make(roles, addresses):
        made.append(Consortium(tmp_path, roles, addresses))
        return made[0]

    yield make
    for each in made:
        each.close()


def nothing_of_records(folder, names):
    """No line that a program has said has the words of a row in it."""
    said = "".join(path.read_text() for path in folder.glob("*/*.log"))
    for name in names:
        rows = (folder / name / "patients.csv").read_text().splitlines()[1:]
        assert not any(row in said for row in rows)


@pytest.mark.slow
def test_a_federated_model_takes_at_most_six_commands_a_role_and_one_file(tmp_path, consortium):
    hospitals = ["mercy", "general", "north"]
    with held_ports(1) as (port,):
        here = {"coordinator.example:9443": f"{HERE}:{port}", "0.0.0.0:9443": f"{HERE}:{port}"}
        made = consortium([["coordinator"], hospitals], lambda name: here)
        made.records(hospitals)
        made.run("federated")
    assert load(tmp_path / "coordinator" / "model.json").privacy_.verify()
    assert max(made.typed.values()) <= MOST_COMMANDS
    nothing_of_records(tmp_path, hospitals)


@pytest.mark.slow
def test_a_model_on_secret_shares_takes_at_most_six_commands_a_role_and_one_file(tmp_path, consortium):
    servers, owners = ["alpha", "beta", "gamma"], ["hospital", "bank"]
    with held_ports(3) as ports:
        dialled = {f"10.0.0.{i + 1}:7100": f"{HERE}:{port}" for i, port in enumerate(ports)}
        own = {name: f"{HERE}:{port}" for name, port in zip(servers, ports)}
        made = consortium([["trainer"], servers, owners], lambda name: {**dialled, "0.0.0.0:7100": own.get(name, "")})
        made.records(owners)
        made.run("mpc")
    assert load(tmp_path / "trainer" / "model.json").privacy_.verify()
    assert max(made.typed.values()) <= MOST_COMMANDS
    nothing_of_records(tmp_path, owners)

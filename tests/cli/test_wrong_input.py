"""Every command with wrong input: a message of one screen, a code that is not zero, no traceback, no file touched.

Most run in this process; some as real processes, too, where an error could escape the command's own handling.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from every_command import SCHEMA, call, commands
from privet import PrivateTreeClassifier, PrivateTreeRegressor, Schema
from privet.cli.screen import REFUSED, WRONG_USE

LINES, WIDTH = 24, 80
"""One screen."""

CASES = """
unknown
--unknown
fit
fit people.csv
fit people.csv --epsilon 1
fit people.csv -o m.json
fit people.csv --epsilon 1 -o m.json
fit people.csv --epsilon 1 -o m.json --schema missing.toml
fit people.csv --epsilon 1 -o m.json --schema .
fit people.csv --epsilon 1 -o m.json --schema empty.toml
fit people.csv --epsilon 1 -o m.json --schema broken.toml
fit people.csv --epsilon 1 -o m.json --schema binary.bin
fit people.csv --epsilon 1 -o m.json --schema model.json
fit people.csv --epsilon 1 -o m.json --schema odd-key.toml
fit people.csv --epsilon 1 -o m.json --schema no-label.toml
fit people.csv --epsilon 1 -o m.json --schema other-columns.toml
fit people.csv --epsilon 1 -o m.json --schema number.toml
fit people.csv --epsilon 1 -o m.json --schema upside-down.toml
fit missing.csv --epsilon 1 -o m.json --schema people.toml
fit missing/*.csv --epsilon 1 -o m.json --schema people.toml
fit empty.csv --epsilon 1 -o m.json --schema people.toml
fit binary.bin --epsilon 1 -o m.json --schema people.toml
fit binary.parquet --epsilon 1 -o m.json --schema people.toml
fit ragged.csv --epsilon 1 -o m.json --schema people.toml
fit latin.csv --epsilon 1 -o m.json --schema people.toml
fit holes.csv --epsilon 1 -o m.json --schema people.toml
fit words.csv --epsilon 1 -o m.json --schema people.toml
fit no-label.csv --epsilon 1 -o m.json --schema people.toml
fit other-label.csv --epsilon 1 -o m.json --schema people.toml
fit twice.csv --epsilon 1 -o m.json --schema people.toml
fit people.toml --epsilon 1 -o m.json --schema people.toml
fit folder --epsilon 1 -o m.json --schema people.toml
fit people.csv --epsilon 0 -o m.json --schema people.toml
fit people.csv --epsilon=-1 -o m.json --schema people.toml
fit people.csv --epsilon nan -o m.json --schema people.toml
fit people.csv --epsilon inf -o m.json --schema people.toml
fit people.csv --epsilon 0,5 -o m.json --schema people.toml
fit people.csv --epsilon much -o m.json --schema people.toml
fit people.csv --epsilon 1 -o model.json --schema people.toml
fit people.csv --epsilon 1 -o people.csv --schema people.toml --force
fit people.csv --epsilon 1 -o missing/m.json --schema people.toml
fit people.csv --epsilon 1 -o folder --schema people.toml
fit people.csv --epsilon 1 -o m.json --schema people.toml --model Oak
fit people.csv --epsilon 1 -o m.json --schema people.toml --model PrivateTreeRegressor
fit people.csv --epsilon 1 -o m.json --schema target.toml --model PrivateTreeClassifier
fit people.csv --epsilon 1 -o m.json --schema people.toml --max-depth -1
fit people.csv --epsilon 1 -o m.json --schema people.toml --max-depth deep
fit people.csv --epsilon 1 -o m.json --schema people.toml --leaves green
fit people.csv --epsilon 1 -o m.json --schema people.toml --n-records=-1
fit people.csv --epsilon 1 -o m.json --schema people.toml --set depth=3
fit people.csv --epsilon 1 -o m.json --schema people.toml --set max_depth
fit people.csv --epsilon 1 -o m.json --schema people.toml --set max_depth=3 --set max_depth=4
fit people.csv --epsilon 1 -o m.json --schema people.toml --set epsilon=3
fit people.csv --epsilon 1 -o m.json --schema people.toml --set max_depth=x
fit people.csv --epsilon 1 -o m.json --schema people.toml --model PrivateForestClassifier --set delta=2
fit people.csv --epsilon 1 -o m.json --schema people.toml --holdout 2
fit people.csv --epsilon 1 -o m.json --schema people.toml --holdout 20%
fit people.csv --epsilon 1 -o m.json --schema people.toml --holdout 0.2 --by colour
fit people.csv --epsilon 1 -o m.json --schema people.toml --holdout 0.2 --by age=x,y
fit people.csv --epsilon 1 -o m.json --schema people.toml --by ward
fit people.csv --epsilon 1 -o m.json --schema people.toml --label ill
fit people.csv --epsilon 1 -o m.json --label colour
fit people.csv --epsilon 1 -o m.json --schema people.toml --ledger missing.ledger
fit people.csv --epsilon 1 -o m.json --schema people.toml --ledger binary.bin
fit people.csv --epsilon 1 -o m.json --schema people.toml --ledger folder
fit people.csv --epsilon 9 -o m.json --schema people.toml --ledger small.ledger
fit people.csv --epsilon 1 -o m.json --schema people.toml --cohort first
fit people.csv --epsilon 1 -o m.json --schema people.toml --ledger small.ledger --cohort other
fit people.csv --epsilon 1 -o m.json --schema people.toml --key id
fit people.csv --epsilon 1 -o m.json --schema people.toml --table people
fit missing.duckdb --epsilon 1 -o m.json --schema people.toml --table people
fit postgresql://127.0.0.1:1/none --epsilon 1 -o m.json --schema people.toml --table people
fit people.csv --epsilon 1 -o m.json --schema people.toml --seed 3 --strict
fit people.csv --epsilon 1 -o m.json --schema people.toml --seed=-3
fit people.csv --epsilon 1 -o m.json --schema draft.toml --strict
fit other-wards.csv --epsilon 1 -o m.json --schema people.toml --strict
demo --epsilon 0
demo --seed x
demo --write people.csv
demo --write people.txt
demo --write missing/people.csv
demo more
plan
plan --schema people.toml
plan --schema people.toml --n-records 100
plan --schema people.toml --n-records 0 --epsilon 1
plan --schema people.toml --n-records many --epsilon 1
plan --schema broken.toml --n-records 100 --epsilon 1
plan --schema people.toml --n-records 100 --epsilon 1 --model Oak
plan --schema people.toml --n-records 100 --epsilon 1 --plot p.png
plan --schema people.toml --n-records 100 --epsilon 1 --public people.csv
plan --schema people.toml --n-records 100 --choose --plot p.txt
plan --schema people.toml --n-records 100 --choose --public no-label.csv
models Oak
models PrivateTreeClassifier PrivateForestClassifier
predict
predict model.json
predict model.json missing.csv
predict missing.json people.csv
predict broken.json people.csv
predict people.toml people.csv
predict model.json empty.csv
predict model.json holes.csv -o p.csv
predict model.json other-columns.csv -o p.csv
predict model.json people.csv -o p.txt
predict model.json people.csv -o people.csv --force
predict model.json people.csv -o missing/p.csv
predict model.json people.csv --id colour
predict model.json people.csv --proba -o p.csv
predict numbers.json people.csv --proba -o p.csv
predict model.json other-wards.csv --strict -o p.csv
show
show missing.json
show broken.json
show binary.bin
show people.csv
show folder
show tampered.json
show consortium.toml
verify
verify missing.json
verify broken.json
verify tampered.json
verify future.json
verify void.json --strict
audit
audit --claims --estimator PrivateTreeClassifier
audit --claims --epsilon 1
audit --claims --paper Nobody
audit --estimator PrivateTreeClassifier
audit --estimator Oak --epsilon 1
audit --estimator PrivateTreeClassifier --epsilon 0
audit --estimator PrivateTreeClassifier --epsilon 1 --minutes=-1
audit --estimator PrivateTreeClassifier --epsilon 1 --confidence 2
audit --estimator PrivateTreeClassifier --epsilon 1 --paper PrivaTree
audit --estimator missing.module:Class --epsilon 1
audit --estimator json:JSONDecoder --epsilon 1
audit --claims --plot p.txt
evaluate
evaluate model.json people.csv
evaluate model.json people.csv --epsilon 0
evaluate model.json missing.csv --epsilon 1
evaluate broken.json people.csv --epsilon 1
evaluate model.json no-label.csv --epsilon 1
evaluate model.json people.csv --epsilon 1 --by colour
evaluate model.json people.csv --epsilon 1 -o model.json
evaluate model.json people.csv --epsilon 9 --ledger small.ledger
report
report missing.json
report broken.json
report binary.bin
report tampered.json
report model.json -o report.txt
report model.json -o missing/report.html
report model.json -o folder
report model.json -o r.html --ledger binary.bin
report model.json -o r.html --certificate broken.json
report model.json -o r.html --certificate model.json
playground people.csv
playground people.csv --schema people.toml
playground --public
playground --schema broken.toml
playground --port 70000
certify
certify --epsilon 1
certify --stand-in --epsilon 0
certify people.csv --stand-in --epsilon 1
certify people.csv --epsilon 1
certify people.csv --schema target.toml --epsilon 1
certify people.csv --schema people.toml --epsilon 1 --poison lots
certify people.csv --schema people.toml --epsilon 1 --trigger age=3
certify people.csv --schema people.toml --epsilon 1 --trigger age --target yes
certify people.csv --schema people.toml --epsilon 1 --trigger age=3 --target maybe
certify people.csv --schema people.toml --epsilon 1 --runs 0
certify people.csv --schema people.toml --epsilon 1 --confidence 3 --runs 3
certify people.csv --schema people.toml --epsilon 1 --plot p.txt
export model.json
export missing.json --to sql
export model.json --to cobol
export broken.json --to python
export model.json --to python --table people
export model.json --to sql --dialect latin -o m.sql
export model.json --to sql -o missing/m.sql
schema
schema draft people.csv
schema draft people.csv --label colour
schema draft missing.csv --label ill
schema draft empty.csv --label ill
schema draft binary.bin --label ill
schema draft header.csv --label ill
schema draft people.csv --label ill -o people.toml
schema draft people.csv --label ill -o draft.txt
schema check people.csv
schema check people.csv --schema broken.toml
schema check missing.csv --schema people.toml
schema check other-columns.csv --schema people.toml
schema check other-wards.csv --schema people.toml --strict
ledger
ledger new small.ledger --epsilon 1 --records again
ledger new l.ledger --epsilon 0 --records people
ledger new l.ledger --epsilon much --records people
ledger new l.ledger --epsilon 1 --records people --delta 2
ledger new missing/l.ledger --epsilon 1 --records people
ledger show missing.ledger
ledger show people.csv
ledger show small.ledger missing.json
ledger show small.ledger model.json
ledger limit small.ledger --epsilon 0
ledger limit small.ledger --epsilon 1 --cohort other
ledger limit missing.ledger --epsilon 1
ledger cohort small.ledger first --epsilon 1
ledger cohort small.ledger second --epsilon x
federated init c.toml --schema people.toml
federated init c.toml --schema people.toml --address nowhere --party a --party b --party c
federated init c.toml --schema people.toml --address h:1 --party a --party a --party c
federated init c.toml --schema people.toml --address h:1 --party a --party b --party c --colluders 9
federated init c.toml --schema people.toml --address h:1 --party a --party b --party c --epsilon 0
federated init c.toml --schema people.toml --address h:1 --party a --party b --party c --noise loud
federated init c.toml --schema people.toml --address h:1 --party ../a --party b
federated init consortium.toml --schema people.toml --address h:1 --party a --party b --party c
federated join consortium.toml stranger -d new
federated join mpc.toml alpha -d new
federated join consortium.toml mercy -d new --data missing.csv
federated join consortium.toml mercy -d new --epsilon 0 --data people.csv
federated join consortium.toml coordinator -d new --listen nowhere
federated join broken.toml mercy -d new
federated gather mercy.toml missing.toml
federated gather mercy.toml people.toml
federated accept mercy.toml broken.toml
federated accept mercy.toml mercy.consortium.toml --fingerprint 00
federated invite mercy.toml mercy --role party
federated invite mercy.toml east --role king
federated remove mercy.toml stranger
federated renew people.toml
federated fingerprint people.csv
federated fingerprint people.toml
federated status people.toml
federated status missing.toml
federated party people.toml
federated party mercy.toml
federated coordinator mercy.toml --epsilon 1 -o m.json
federated coordinator mercy.toml --epsilon 1 -o m.json --model Oak
federated coordinator mercy.toml --epsilon 0 -o m.json
federated give-up mercy.toml 0123
federated verify model.json consortium.toml
federated verify broken.json consortium.toml
mpc init c.toml --schema people.toml --owner a --server x=h:1
mpc init c.toml --schema people.toml --owner a --server x --server y --server z
mpc init c.toml --schema people.toml --owner a --server x=h:1 --server y=h:2 --server z=h:3 --user u=many
mpc init c.toml --schema people.toml --owner a --server x=h:1 --server x=h:2 --server z=h:3
mpc init c.toml --schema people.toml --owner a --server x=h:1 --server y=h:2 --server z=h:3 --noise loud
mpc join mpc.toml stranger -d new
mpc join consortium.toml mercy -d new
mpc join mpc.toml owner -d new
mpc server people.toml
mpc server alpha.toml
mpc share alpha.toml
mpc share people.toml
mpc train alpha.toml --epsilon 1 -o m.json
mpc train alpha.toml --epsilon 0 -o m.json
mpc train alpha.toml --epsilon 1 -o m.json --model Oak
mpc verify broken.json mpc.toml
mpc verify model.json mpc.toml
mpc models people.toml
mpc delete alpha.toml nothing
mpc predict alpha.toml model.json people.csv
mpc predict alpha.toml broken.json people.csv
mpc status people.toml
mpc page people.toml
federated page people.toml
""".strip().splitlines()

AS_PROCESSES = [
    "unknown",
    "fit people.csv --epsilon 1 -o m.json",
    "fit people.csv --epsilon 1 -o m.json --schema broken.toml",
    "fit binary.parquet --epsilon 1 -o m.json --schema people.toml",
    "predict broken.json people.csv",
    "verify tampered.json",
    "report binary.bin",
    "ledger show people.csv",
    "schema draft binary.bin --label ill",
    "certify people.csv --schema people.toml --epsilon 1 --poison lots",
    "federated status people.toml",
    "mpc predict alpha.toml broken.json people.csv",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files as people have them, good ones and bad ones."""
    where = tmp_path_factory.mktemp("wrong")
    rows = [f"{20 + i % 60},{'ab'[i % 2]},{('no', 'yes')[i % 3 == 0]}" for i in range(200)]
    texts = {
        "people.csv": "\n".join(["age,ward,ill", *rows]),
        "empty.csv": "",
        "header.csv": "age,ward,ill\n",
        "ragged.csv": "age,ward,ill\n1,a,no,3,4\n2\n",
        "holes.csv": "age,ward,ill\n1,a,no\n,b,yes\n",
        "words.csv": "age,ward,ill\nold,a,no\nyoung,b,yes\n",
        "twice.csv": "age,age,ward,ill\n1,2,a,no\n",
        "no-label.csv": "age,ward\n1,a\n2,b\n",
        "other-label.csv": "age,ward,ill\n1,a,perhaps\n2,b,no\n",
        "other-columns.csv": "colour,ill\nred,no\nblue,yes\n",
        "other-wards.csv": "\n".join(
            ["age,ward,ill", *(row.replace(",a,", ",A,").replace(",b,", ",B,") for row in rows)]
        ),
        "people.toml": SCHEMA,
        "target.toml": SCHEMA.replace('classes = ["no", "yes"]', "target = [0, 1]"),
        "number.toml": SCHEMA.replace('values = ["a", "b"]', "low = 0\nhigh = 9"),
        "upside-down.toml": SCHEMA.replace("high = 110", "high = -1"),
        "odd-key.toml": SCHEMA.replace("high = 110", "hihg = 110"),
        "no-label.toml": SCHEMA.replace('name = "ill"', ""),
        "other-columns.toml": SCHEMA.replace("features.ward", "features.colour"),
        "draft.toml": SCHEMA.replace("high = 110", "high = 110\ninferred = true"),
        "empty.toml": "",
        "broken.toml": "[label\nname = ",
        "broken.json": '{"format": "privet',
    }
    for name, text in texts.items():
        (where / name).write_text(text)
    (where / "latin.csv").write_bytes(b"age,ward,ill\n1,\xe9,no\n2,a,yes\n")
    for name in ("binary.bin", "binary.parquet"):
        (where / name).write_bytes(bytes(range(256)) * 8)
    (where / "folder").mkdir()
    _models(where)
    for line in (
        "ledger new small.ledger --epsilon 1/2 --records people",
        "federated init consortium.toml --schema people.toml --address 127.0.0.1:1 --party mercy --party general"
        " --party north",
        "federated join consortium.toml mercy --data people.csv",
        "mpc init mpc.toml --schema people.toml --owner owner --server alpha=127.0.0.1:1 --server beta=127.0.0.1:2"
        " --server gamma=127.0.0.1:3",
        "mpc join mpc.toml alpha",
    ):
        result = typed(where, line)
        assert result.exit_code == 0, result.output
    return where


def _models(where):
    schema = Schema.from_toml(SCHEMA)
    X = {"age": [20.0 + i % 60 for i in range(200)], "ward": ["ab"[i % 2] for i in range(200)]}
    y = ["yes" if i % 3 == 0 else "no" for i in range(200)]
    import pyarrow as pa

    table = pa.table(X)
    PrivateTreeClassifier(schema, epsilon=1, max_depth=1).fit(table, y).save(where / "model.json")
    PrivateTreeClassifier(schema, epsilon=1, max_depth=1, random_state=0).fit(table, y).save(where / "void.json")
    numbers = Schema(schema.features, target=(0, 1), label="ill")
    PrivateTreeRegressor(numbers, epsilon=1, max_depth=1).fit(table, [0.0, 1.0] * 100).save(where / "numbers.json")
    model = json.loads((where / "model.json").read_text())
    model["receipt"]["events"] = model["receipt"]["events"][1:]
    (where / "tampered.json").write_text(json.dumps(model))
    (where / "future.json").write_text(json.dumps({**model, "format": "privet-model/999"}))


def typed(where, line):
    before = Path.cwd()
    os.chdir(where)
    try:
        return call(shlex.split(line))
    finally:
        os.chdir(before)


def files_in(where):
    return {path: hashlib.sha256(path.read_bytes()).digest() if path.is_file() else "" for path in where.rglob("*")}


def check_refusal(code, said):
    assert code in (REFUSED, WRONG_USE), said
    assert "Traceback" not in said
    assert "bug in Privet" not in said
    assert re.search(r"\b[Ee]rror\b|Usage:", said), said
    assert sum(-(-max(len(line), 1) // WIDTH) for line in said.splitlines()) <= LINES, said


@pytest.mark.parametrize("line", CASES)
def test_wrong_input_is_refused_in_one_screen_and_leaves_every_file_as_it_was(folder, line):
    before = files_in(folder)
    result = typed(folder, line)
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    check_refusal(result.exit_code, result.output)
    assert files_in(folder) == before


@pytest.mark.parametrize(
    "line", [pytest.param(line, marks=[] if i < 3 else [pytest.mark.slow]) for i, line in enumerate(AS_PROCESSES)]
)
def test_wrong_input_to_a_real_process_is_refused_alike(folder, line):
    before = files_in(folder)
    code = "import sys; from privet.cli import main; sys.argv[0] = 'privet'; main()"
    ran = subprocess.run(
        [sys.executable, "-c", code, *shlex.split(line)], cwd=folder, capture_output=True, text=True, check=False
    )
    check_refusal(ran.returncode, ran.stdout + ran.stderr)
    assert files_in(folder) == before


def test_every_command_has_its_wrong_inputs():
    tried = {tuple(line.split()[:2]) for line in CASES} | {tuple(line.split()[:1]) for line in CASES}
    shared = {"join", "gather", "accept", "invite", "remove", "renew", "fingerprint", "status"}  # one code for both
    every = {path for path, _ in commands() if not (path[0] == "mpc" and path[1] in shared)}
    assert every <= tried

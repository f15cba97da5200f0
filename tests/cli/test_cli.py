"""The command line: what it prints, where it prints it, how it ends, and what it never prints."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import privet
from privet.algorithms.registry import MODELS, model_class, parameters
from privet.cli import app

SCRIPT = Path(sys.executable).with_name("privet")
PLAIN = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "PRIVET_KERNELS": "numpy", "COLUMNS": "80"}
SECRET, SECRET_NUMBER = "Zebedee-7f3a", "8675309"

SCHEMA = """
[label]
name = "outcome"
classes = ["no", "yes"]

[features.age]
low = 0
high = 120
integer = true

[features.ward]
values = ["001", "002", "010"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with people.csv, people.parquet (the same records) and people.toml, to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVET_KERNELS", "numpy")
    rng = np.random.default_rng(7)
    age, ward = rng.integers(18, 95, 500), rng.choice(["001", "002", "010"], 500)
    outcome = np.where((age > 60) ^ (ward == "010"), "yes", "no")
    table = pa.table({"ward": ward, "outcome": outcome, "age": age, "note": [SECRET] * 500})
    pc.write_csv(table, "people.csv", pc.WriteOptions(quoting_style="none", quoting_header="none"))
    pq.write_table(table, "people.parquet")
    Path("people.toml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def model(folder):
    result = run("fit", "people.csv", "--schema", "people.toml", "--epsilon", "5", "-o", "model.json", "--max-depth", 2)
    assert result.exit_code == 0, result.output
    return folder / "model.json"


def run(*args):
    result = CliRunner().invoke(app, [str(arg) for arg in args], env={"NO_COLOR": "1", "TERM": "dumb"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def fit(*options, data="people.csv", schema="people.toml", epsilon="1", output="model.json"):
    return run("fit", data, "--schema", schema, "--epsilon", epsilon, "-o", output, *options)


def script(*args, **options):
    return subprocess.run(
        [SCRIPT, *map(str, args)], capture_output=True, text=True, env=PLAIN, timeout=120, check=False, **options
    )


def rewrite(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def words(text):
    """The text without boxes and line breaks, which depend on the width."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


# -- the way through ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["people.csv", "people.parquet"])
def test_from_a_draft_to_predictions(folder, data):
    drafted = run("schema", "draft", data, "--label", "outcome", "-o", "drafted.toml")
    assert drafted.exit_code == 0
    assert "confidential" in drafted.stderr
    text = Path("drafted.toml").read_text()
    assert '"001"' in text
    assert text.count("\ninferred = true") == 4

    Path("confirmed.toml").write_text(re.sub("(?m)^inferred = true.*\n", "", text))
    fitted = fit("--max-depth", "2", "--strict", data=data, schema="confirmed.toml", epsilon="5")
    assert fitted.exit_code == 0, fitted.output
    assert "VOID" not in fitted.output
    assert "epsilon   5" in fitted.stdout

    predicted = run("predict", "model.json", data)
    assert predicted.exit_code == 0
    assert [row["prediction"] for row in rows(predicted.stdout)] == list(
        privet.load("model.json").predict(pq.read_table("people.parquet"))
    )

    shown = run("show", "model.json")
    assert shown.exit_code == 0
    assert privet.load("model.json").export_text() in shown.stdout
    assert "epsilon   5\n" in shown.stdout

    verified = run("verify", "model.json", "--strict")
    assert verified.exit_code == 0
    assert "The receipt adds up: epsilon 5 for one row" in verified.stdout
    n_events = len(privet.load("model.json").privacy_.events)
    assert f"{n_events} answers cost no more" in verified.stdout
    assert len(json.loads(run("verify", "model.json", "--json").stdout)["checks"]) == n_events > 0
    for said in (verified.stdout, run("show", "model.json").stdout):
        assert "Records are counted." in said or "compete by" in said


def test_persons_from_a_draft_to_a_verified_model(folder):
    table = pq.read_table("people.parquet")
    with_ids = table.append_column("patient_id", [[f"p{i % 40}" for i in range(table.num_rows)]])
    pq.write_table(with_ids, "visits.parquet")
    pc.write_csv(with_ids, "visits.csv")
    text = run("schema", "draft", "visits.parquet", "--label", "outcome").stdout
    assert "[person]\n" in text
    Path("visits.toml").write_text(re.sub("(?m)^inferred = true.*\n", "", text))
    for data in ("visits.csv", "visits.parquet"):
        fitted = fit("--strict", "--force", data=data, schema="visits.toml", epsilon="5")
        assert fitted.exit_code == 0, fitted.output
        assert "covers    one person, at most 20 records" in fitted.stdout
        verified = run("verify", "model.json", "--strict")
        assert "epsilon 5 for one person, at most 20 records" in verified.stdout
    assert run("predict", "model.json", "people.csv").exit_code == 0  # whose records these are is not asked


def test_a_draft_goes_to_stdout_alone(folder):
    drafted = run("schema", "draft", "people.csv", "--label", "outcome")
    assert drafted.exit_code == 0
    assert privet.Schema.from_toml(drafted.stdout).unconfirmed[-1] == "outcome"
    assert drafted.stderr == ""


def test_codes_with_leading_zeros_stay_text(model):
    Path("new.csv").write_text("age,ward\n30,010\n30,10\n30,001\n70,001\n")
    predicted = [row["prediction"] for row in rows(run("predict", model, "new.csv").stdout)]
    frame = pa.table({"age": [30, 30, 30, 70], "ward": ["010", "10", "001", "001"]})
    assert predicted == list(privet.load(model).predict(frame))
    assert predicted[0] == "yes"
    assert predicted[2:] == ["no", "yes"]


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_probabilities_have_a_column_for_each_class(folder, name):
    assert fit("--leaves", "counts").exit_code == 0
    assert run("predict", "model.json", "people.parquet", "--proba", "-o", name).exit_code == 0
    table = pc.read_csv(name) if name.endswith("csv") else pq.read_table(name)
    assert table.column_names == ["prediction", "probability_no", "probability_yes"]
    assert table.num_rows == 500
    assert np.allclose(np.asarray(table["probability_no"]) + np.asarray(table["probability_yes"]), 1)


def test_counts_at_the_leaves_give_probabilities(folder):
    assert fit("--leaves", "counts", epsilon="0.5").exit_code == 0
    assert "noisy counts" in run("show", "model.json").stdout


def test_a_model_of_labels_has_no_probabilities_and_says_what_to_fit(model):
    refused = run("predict", model, "people.parquet", "--proba")
    assert refused.exit_code == 2
    assert "leaves='counts'" in refused.stderr


def test_predictions_with_commas_are_quoted(folder):
    Path("odd.csv").write_text("x,y\n" + '1,"a,b"\n2,"say ""c"""\n' * 50)
    Path("odd.toml").write_text(
        "[label]\nname = 'y'\nclasses = ['a,b', 'say \"c\"']\n[features.x]\nlow = 1\nhigh = 2\ninteger = true\n"
    )
    assert fit("--leaves", "counts", data="odd.csv", schema="odd.toml", epsilon="50").exit_code == 0
    predicted = rows(run("predict", "model.json", "odd.csv", "--proba").stdout)
    assert {row["prediction"] for row in predicted} <= {"a,b", 'say "c"'}
    assert set(predicted[0]) == {"prediction", "probability_a,b", 'probability_say "c"'}


def test_show_json_is_the_model(model):
    shown = run("show", model, "--json")
    assert shown.exit_code == 0
    assert json.loads(shown.stdout) == json.loads(model.read_text())


def test_fit_never_shows_how_well_it_did(folder):
    fitted = fit()
    assert not re.search("accura|correct:|score", fitted.output)
    assert "500" not in fitted.output  # nor how many records there are
    assert "nobody has paid" in words(run("fit", "--help").output)


def test_version_and_help_teach():
    assert run("--version").stdout == f"privet {privet.__version__}\n"
    for command in (["demo"], ["schema", "draft"], ["fit"], ["models"], ["predict"], ["show"], ["verify"]):
        helped = run(*command, "--help")
        assert helped.exit_code == 0
        assert f"privet {' '.join(command)}" in helped.output.partition("Example")[2]
        assert max(map(len, helped.output.splitlines())) <= 80


# -- void receipts -------------------------------------------------------------------------------------------------


def test_a_seed_voids_and_says_so(folder):
    fitted = fit("--seed", "3")
    assert fitted.exit_code == 0
    assert "VOID" in fitted.stdout
    assert "VOID" in fitted.stderr
    verified = run("verify", "model.json")
    assert verified.exit_code == 0
    assert "VOID: no guarantee holds" in verified.stdout
    assert run("verify", "model.json", "--strict").exit_code == 1
    assert '"random_state": null' in Path("model.json").read_text()


def test_strict_refuses_before_anything_is_learned(folder):
    run("schema", "draft", "people.csv", "--label", "outcome", "-o", "drafted.toml")
    refused = fit("--strict", schema="drafted.toml")
    assert refused.exit_code == 1
    assert "ward" in refused.stderr
    assert fit("--strict", "--seed", "0").exit_code == 1
    assert fit("--strict", "--set", "variant=published").exit_code == 1
    assert not Path("model.json").exists()


# -- refusals: exit code 1 -----------------------------------------------------------------------------------------


def less_epsilon(content):
    content["params"]["epsilon"] = 0.1
    content["receipt"].update(claimed="1/10", spent="1/10", epsilon="1/10")


def only_the_parameter(content):
    content["params"]["epsilon"] = 0.1


def only_what_is_shown(content):
    content["receipt"]["epsilon"] = "1/10"


def cheaper_events(content):
    less_epsilon(content)
    for event in content["receipt"]["events"]:
        event["charged"] = "1/1000"


def an_event_less(content):
    del content["receipt"]["events"][0]


def inferred_and_not_void(content):
    content["schema"]["features"]["age"]["inferred"] = True


FORGERIES = [less_epsilon, only_the_parameter, only_what_is_shown, cheaper_events, an_event_less, inferred_and_not_void]


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
@pytest.mark.parametrize("command", ["verify", "show"])
def test_a_forged_receipt_is_refused(model, forge, command):
    rewrite(model, forge)
    result = run(command, model)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert "adds up:" not in result.stdout


def test_verify_says_which_event_fails(model):
    rewrite(model, cheaper_events)
    lines = run("verify", model).stdout.splitlines()
    assert [line.partition(" (")[0] for line in lines] == [f"FAILED  Event {i}" for i in range(len(lines))]


def test_a_stranger_cannot_move_the_cursor(model):
    rewrite(model, lambda content: content["receipt"].update(trust="nobody\x1b[2J\u202e"))
    shown = run("show", model).stdout
    assert "\x1b" not in shown
    assert r"nobody\x1b[2J\u202e" in shown


# -- wrong use: exit code 2 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "-inf", "1e999", "much", ""])
def test_epsilon_must_be_a_positive_number(folder, epsilon):
    for args in (["fit", "people.csv", "--schema", "people.toml", "-o", "model.json"], ["demo"]):
        wrong = run(*args, f"--epsilon={epsilon}")
        assert wrong.exit_code == 2
        assert "--epsilon" in wrong.stderr
        assert wrong.stdout == ""
    assert not Path("model.json").exists()


def test_epsilon_has_no_default(folder):
    wrong = run("fit", "people.csv", "--schema", "people.toml", "-o", "model.json")
    assert wrong.exit_code == 2
    assert "Missing: --epsilon" in words(wrong.stderr)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["fit", "nobody.csv", "--schema", "people.toml", "--epsilon", "1", "-o", "m.json"], "nobody.csv"),
        (["fit", "people.csv", "--schema", "no.toml", "--epsilon", "1", "-o", "m.json"], "no.toml"),
        (["fit", "people.csv", "--schema", "people.csv", "--epsilon", "1", "-o", "m.json"], "not valid TOML"),
        (["fit", "people.toml", "--schema", "people.toml", "--epsilon", "1", "-o", "m.json"], "must be a .csv"),
        (["fit", "people.csv", "--schema", "people.toml", "--epsilon", "1", "-o", "no/m.json"], "no folder no"),
        (["fit", "people.csv", "--schema", "people.toml", "--epsilon", "1", "-o", "."], "not a file"),
        (["predict", "people.toml", "people.csv"], "not JSON"),
        (["predict", "people.parquet", "people.csv"], "not JSON"),
        (["schema", "draft", "people.csv", "--label", "outcom"], "did you mean 'outcome'?"),
        (["schema", "draft", "people.csv", "--label", "outcome", "-o", "people.csv", "--force"], "must end in .toml"),
        (["show", "nothing.json"], "nothing.json"),
        (["verify", "nothing.json"], "nothing.json"),
        (["verify", "."], "directory"),
        (["grow"], "grow"),
    ],
)
def test_wrong_use(folder, args, message):
    wrong = run(*args)
    assert wrong.exit_code == 2
    assert message in words(wrong.stderr)
    assert wrong.stdout == ""
    assert SECRET not in wrong.output
    assert sorted(path.name for path in folder.iterdir()) == ["people.csv", "people.parquet", "people.toml"]


@pytest.mark.parametrize("options", [["--max-depth", "-1"], ["--leaves", "all"], ["--n-records", "-1"]])
def test_wrong_options(folder, options):
    assert fit(*options).exit_code == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "NoSuchTree"], "there is no model NoSuchTree: choose one of PrivateTreeClassifier"),
        (["--set", "no_such=1"], "has no parameter no_such; it has max_depth, leaves, min_leaf, n_records"),
        (["--set", "max_depth"], "--set takes name=value"),
        (["--set", "max_depth=deep"], "max_depth must be a whole number"),
        (["--set", "max_depth=true"], "max_depth must be a whole number"),
        (["--set", "epsilon=9"], "it has the option --epsilon"),
        (["--set", "random_state=9"], "it has the option --seed"),
        (["--max-depth", "2", "--set", "max_depth=2"], "gives max_depth twice"),
    ],
)
def test_wrong_parameters_are_refused_before_a_record_is_read(folder, monkeypatch, options, message):
    monkeypatch.setattr("privet.tables.files.Files.batches", lambda *args, **kwargs: 1 / 0)
    wrong = fit(*options)
    assert wrong.exit_code == 2
    assert message in words(wrong.stderr)


def test_parameters_are_set_by_name(folder):
    fitted = fit("--model", "PrivateTreeClassifier", "--set", "max_depth=1", "--set", "leaves=counts")
    assert fitted.exit_code == 0, fitted.output
    params = json.loads(Path("model.json").read_text())["params"]
    assert (params["max_depth"], params["leaves"]) == (1, "counts")


@pytest.mark.parametrize("name", [name for name in MODELS if model_class(name)._task == "classification"])
def test_every_classifier_can_be_chosen_by_name(folder, name):
    small = ("--set", "max_depth=1") if "max_depth" in parameters(model_class(name)) else ()
    fitted = fit("--model", name, *small, "--strict")
    assert fitted.exit_code == 0, fitted.output
    assert fitted.stdout.startswith(f"{name}: ")
    assert run("verify", "model.json", "--strict").exit_code == 0
    assert run("predict", "model.json", "people.csv").exit_code == 0


def test_a_published_variant_says_that_it_costs_more_than_it_claims(folder):
    fitted = fit("--model", "DPGDFClassifier", "--set", "variant=published")
    assert fitted.exit_code == 0
    assert "costs more than it claims: It stops by exact counts" in words(fitted.stderr)


def test_models_are_listed_and_explained():
    listed = run("models")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == list(MODELS)
    assert all(len(line.split()) > 1 for line in listed.stdout.splitlines())
    explained = run("models", "PrivateTreeClassifier")
    assert "Parameters" in explained.stdout
    assert "max_depth=4" in explained.stdout
    assert run("models", "NoSuchTree").exit_code == 2


def test_columns_must_match_the_schema(folder, model):
    Path("other.csv").write_text("age,wrad,outcome\n40,001,no\n")
    for wrong in (fit("--force", data="other.csv"), run("predict", model, "other.csv")):
        assert wrong.exit_code == 2
        assert wrong.stderr.startswith("error: ")
        assert "'ward'" in wrong.stderr
        assert len(wrong.stderr.splitlines()) == 1


def test_the_label_must_be_there(folder):
    Path("unlabelled.csv").write_text("age,ward\n40,001\n")
    wrong = fit(data="unlabelled.csv")
    assert wrong.exit_code == 2
    assert "'outcome'" in wrong.stderr
    Path("people.toml").write_text(SCHEMA.replace('name = "outcome"\n', ""))
    wrong = fit()
    assert wrong.exit_code == 2
    assert "set name under [label]" in wrong.stderr


def test_a_schema_for_regression_is_not_for_a_classifier(folder):
    Path("people.toml").write_text(SCHEMA.replace('classes = ["no", "yes"]', "target = [0, 1]"))
    wrong = fit("--model", "PrivateTreeClassifier")
    assert wrong.exit_code == 2
    assert "classes" in wrong.stderr


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"format": "privet-model-1"}', '{"format": "privet-model-9"}', "[" * 100_000]
)
@pytest.mark.parametrize("command", [["show"], ["verify"], ["predict"]])
def test_a_corrupted_model_is_one_line(folder, content, command):
    Path("broken.json").write_text(content)
    wrong = run(*command, "broken.json", *(["people.csv"] if command == ["predict"] else []))
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("error: ")
    assert len(wrong.stderr.splitlines()) == 1


def test_a_model_cut_short_anywhere_is_refused(model):
    whole_text = model.read_text()
    for length in range(0, len(whole_text) - 2, len(whole_text) // 7):
        model.write_text(whole_text[:length])
        assert run("verify", model).exit_code == 2


@pytest.mark.parametrize("part", ["params", "schema", "tree", "receipt", "model"])
@pytest.mark.parametrize("content", [None, [], {}, "x", 3])
def test_a_model_with_a_wrong_part_is_refused(model, part, content):
    rewrite(model, lambda whole_model: whole_model.update({part: content}))
    assert run("verify", model).exit_code in (1, 2)


# -- nothing is overwritten or half-written -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        ["fit", "people.csv", "--schema", "people.toml", "--epsilon", "1", "-o", "kept.json"],
        ["predict", "model.json", "people.csv", "-o", "kept.csv"],
        ["schema", "draft", "people.csv", "--label", "outcome", "-o", "kept.toml"],
    ],
    ids=lambda args: args[0],
)
def test_overwriting_needs_force(model, args):
    kept = Path(args[-1])
    kept.write_text("precious")
    refused = run(*args)
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    assert kept.read_text() == "precious"
    assert run(*args, "--force").exit_code == 0
    assert kept.read_text() != "precious"
    assert not list(model.parent.glob("*.part"))


def test_even_force_does_not_overwrite_what_is_read(model):
    before = Path("people.csv").read_bytes()
    Path("link.csv").symlink_to("people.csv")
    for name in ("people.csv", "link.csv"):
        refused = run("predict", model, "people.csv", "-o", name, "--force")
        assert refused.exit_code == 2
        assert "also read" in refused.stderr
    assert Path("people.csv").read_bytes() == before


def test_a_failed_fit_leaves_the_old_model(model):
    before = model.read_bytes()
    Path("people.csv").write_text("age,ward,outcome\nx,001,no\n")
    assert fit("--force").exit_code == 2
    assert model.read_bytes() == before


# -- no private value in any message ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        f"{SECRET},001,no",
        f"40,001,{SECRET}",
        f"40,001,no,{SECRET}",
        f"{SECRET}",
        "40,001,",
        f"{SECRET},{SECRET_NUMBER},no",
    ],
)
@pytest.mark.parametrize("command", ["fit", "predict", "draft"])
def test_errors_about_data_quote_no_value(model, record, command):
    Path("bad.csv").write_text(f"age,ward,outcome\n{SECRET_NUMBER},002,yes\n{record}\n")
    if command == "fit":
        result = fit("--force", data="bad.csv")
        assert result.exit_code == 2
    elif command == "predict":
        result = run("predict", model, "bad.csv")
    else:
        result = run("schema", "draft", "bad.csv", "--label", "outcome")
    said = result.stderr if result.exit_code == 0 else result.output
    assert SECRET not in said
    assert SECRET_NUMBER not in said


def test_a_file_without_a_header_quotes_no_record(folder):
    Path("bare.csv").write_text(f"{SECRET},001,no\n{SECRET},002,yes\n")
    result = fit(data="bare.csv")
    assert result.exit_code == 2
    assert SECRET not in result.output


def test_an_unexpected_exception_keeps_its_words_to_itself(folder, monkeypatch):
    def broken(*args, **kwargs):
        secret_local = SECRET_NUMBER  # noqa: F841 - a traceback with locals would show it
        raise ValueError(f"could not convert {SECRET}")

    monkeypatch.setattr("privet.tables.files.Files.batches", broken)
    result = fit()
    assert result.exit_code == 3
    assert "unexpected ValueError" in result.stderr
    assert "test_cli.py" in result.stderr
    assert SECRET not in result.output
    assert SECRET_NUMBER not in result.output


# -- the installed command ----------------------------------------------------------------------------------------


def test_the_script_keeps_stdout_for_results(folder):
    fitted = script("fit", "people.csv", "--schema", "people.toml", "--epsilon", "1", "-o", "m.json", "--seed", "1")
    assert fitted.returncode == 0, fitted.stderr
    assert "Receipt" in fitted.stdout
    assert "warning: " in fitted.stderr
    assert "warning: " not in fitted.stdout
    predicted = script("predict", "m.json", "people.csv")
    assert predicted.returncode == 0
    assert predicted.stderr == ""
    assert len(predicted.stdout.splitlines()) == 501
    assert "\x1b" not in fitted.stdout + fitted.stderr + predicted.stdout


def test_the_script_fails_with_one_line(folder):
    Path("bad.csv").write_text(f"age,ward,outcome\n{SECRET},001,no\n")
    failed = script("fit", "bad.csv", "--schema", "people.toml", "--epsilon", "1", "-o", "m.json")
    assert failed.returncode == 2
    assert failed.stdout == ""
    assert failed.stderr.startswith("error: column 'age'")
    assert failed.stderr.count("\n") == 1
    assert SECRET not in failed.stderr
    assert not Path("m.json").exists()


def test_the_script_says_when_a_receipt_is_forged(model):
    rewrite(model, less_epsilon)
    failed = script("verify", model)
    assert failed.returncode == 1
    assert "error: " in failed.stderr
    assert "Traceback" not in failed.stderr


def test_help_needs_none_of_the_heavy_libraries():
    code = (
        "import sys; from typer.testing import CliRunner; from privet.cli import app\n"
        "CliRunner().invoke(app, ['--help'])\n"
        "print([name for name in ('numpy', 'sklearn', 'pyarrow', 'numba', 'opendp', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=PLAIN, check=True)
    assert done.stdout.strip() == "[]"


def test_a_closed_pipe_is_no_error(model):
    Path("many.csv").write_text("age,ward\n" + "40,001\n" * 100_000)
    command = f"{SCRIPT} predict {model} many.csv | head -n 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=PLAIN, timeout=120, check=True)
    assert done.stdout == "prediction\n"
    assert done.stderr == ""


def test_control_c_leaves_nothing(folder):
    code = (
        "import sys, time, privet.tables.files as files, privet.cli as cli\n"
        "def wait(*args, **kwargs):\n    print('reading', flush=True)\n    time.sleep(60)\n"
        "files.Files.batches = wait\n"
        "sys.argv = ['privet', 'fit', 'people.csv', '--schema', 'people.toml', '--epsilon', '1', '-o', 'm.json']\n"
        "cli.main()"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=PLAIN) as process:
        assert process.stdout.readline() == "reading\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in errors
    assert not list(folder.glob("m.json*"))


def test_a_narrow_terminal_gets_no_long_lines(model):
    rewrite(model, lambda content: content["receipt"].update(trust="every word of this is to be read " * 8))
    shown = in_terminal("show", model, columns=50)
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown).splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 50


def test_no_color_is_obeyed_on_a_terminal(model):
    rewrite(model, less_epsilon)
    assert "\x1b[1;31m" in in_terminal("show", model)
    assert "\x1b[1;31m" not in in_terminal("show", model, NO_COLOR="1")


def in_terminal(*args, columns=80, **environment):
    """What the script writes to a terminal of its own."""
    main, child = pty.openpty()
    env = {name: value for name, value in PLAIN.items() if name != "NO_COLOR"}
    env |= {"TERM": "xterm-256color", "COLUMNS": str(columns), **environment}
    process = subprocess.Popen([SCRIPT, *map(str, args)], stdin=child, stdout=child, stderr=child, env=env)
    os.close(child)
    written = b""
    started = time.monotonic()
    while time.monotonic() - started < 120:
        try:
            block = os.read(main, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not block:
            break
        written += block
    os.close(main)
    process.wait(timeout=60)
    return written.decode().replace("\r\n", "\n")


def test_a_schema_with_a_target_learns_numbers(folder):
    table = pq.read_table("people.parquet")
    cost = table.column("age").to_numpy() / 2
    pq.write_table(table.append_column("cost", pa.array(cost)), "costs.parquet")
    text = SCHEMA.replace('name = "outcome"\nclasses = ["no", "yes"]', 'name = "cost"\ntarget = [0, 60]')
    Path("costs.toml").write_text(text)
    runner = CliRunner()
    fit = ["fit", "costs.parquet", "--schema", "costs.toml", "--epsilon", "9", "-o", "costs.json"]
    done = runner.invoke(app, fit)
    assert done.exit_code == 0, done.output
    assert "PrivateTreeRegressor" in done.output
    assert runner.invoke(app, ["verify", "costs.json", "--strict"]).exit_code == 0
    done = runner.invoke(app, ["predict", "costs.json", "costs.parquet", "-o", "out.parquet"])
    assert done.exit_code == 0, done.output
    predicted = pq.read_table("out.parquet").column("prediction").to_numpy()
    assert np.abs(predicted - cost).mean() < 8  # a constant is off by 9.6 on average
    done = runner.invoke(app, ["predict", "costs.json", "costs.parquet", "--proba"])
    assert done.exit_code != 0

"""``privet export`` writes each form, whole, and says what belongs to which."""

import pytest
from typer.testing import CliRunner

from exported_models import exported, records
from privet.cli import app


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "model.json"
    exported("tree").save(path)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


@pytest.mark.parametrize(("form", "needs"), [("sql", "sqlglot"), ("onnx", "onnx"), ("sklearn", None), ("python", None)])
def test_each_form_is_written(model, tmp_path, form, needs):
    if needs:
        pytest.importorskip(needs)
    target = tmp_path / "exported"
    result = run(model, "--to", form, "-o", target)
    assert result.exit_code == 0, result.output
    assert target.stat().st_size > 100
    assert run(model, "--to", form, "-o", target).exit_code != 0  # it exists


def test_a_python_file_runs(model, tmp_path):
    target = tmp_path / "model.py"
    assert run(model, "--to", "python", "-o", target).exit_code == 0
    names = {}
    exec(target.read_text(), names)
    assert names["predict"](records(1, 2).to_dict("records")[0]) in ("yes", "no")


def test_options_of_sql_belong_to_sql(model, tmp_path):
    result = run(model, "--to", "python", "--table", "people", "-o", tmp_path / "model.py")
    assert result.exit_code == 2
    assert not (tmp_path / "model.py").exists()

"""What new users typed, and what they are told, or that it simply works."""

import numpy as np
import pandas as pd
import pytest

from privet import BudgetError, Categorical, Numeric, PrivateTreeClassifier, Schema, SchemaError

SCHEMA = Schema({"age": Numeric(0, 90), "sex": Categorical(["f", "m"])}, classes=["no", "yes"], label="ill")


def people(n=200):
    rng = np.random.default_rng(0)
    age = rng.integers(0, 90, n)
    return pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], n), "ill": np.where(age > 40, "yes", "no")})


@pytest.fixture(scope="module")
def model():
    return PrivateTreeClassifier(SCHEMA, epsilon=5).fit(people())


def test_a_frame_with_the_label_needs_no_y(model):
    data = people()
    assert model.score(data, data["ill"]) > 0.7
    assert model.evaluate(people(), epsilon=5).n == pytest.approx(200, abs=50)
    with pytest.raises(SchemaError, match="Pass y=df"):
        PrivateTreeClassifier(SCHEMA, epsilon=1).fit(people().drop(columns="ill"))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_are_predicted_as_they_are_learned_from(model, tmp_path, kind):
    data = people()
    for part, rows in enumerate((data[:150], data[150:])):
        getattr(rows, f"to_{kind}")(tmp_path / f"{part}.{kind}", index=False)
    assert model.predict(tmp_path).tolist() == model.predict(data).tolist()
    assert model.predict(str(tmp_path / f"0.{kind}")).tolist() == model.predict(data[:150]).tolist()
    with pytest.raises(SchemaError, match="no such file"):
        model.predict("some.csv")


def test_one_row_is_a_frame_with_one_row(model):
    with pytest.raises(SchemaError, match=r"X\.iloc\[\[0\]\]"):
        model.predict(people().iloc[0])
    assert len(model.predict(people().iloc[[0]])) == 1


def test_a_column_that_no_rule_uses_is_needed_and_it_is_said_why(model):
    with pytest.raises(SchemaError, match="also where a model does not use one"):
        model.predict(people().drop(columns="sex"))


def test_epsilon_belongs_to_the_model():
    with pytest.raises(TypeError, match=r"belongs to the model, PrivateTreeClassifier\(..., epsilon=...\)"):
        PrivateTreeClassifier(SCHEMA).fit(people(), epsilon=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample'"):
        PrivateTreeClassifier(SCHEMA, epsilon=1).fit(people(), sample=1)
    with pytest.raises(BudgetError, match=r"privet plan --schema SCHEMA.toml --n-records N --choose"):
        PrivateTreeClassifier(SCHEMA).fit(people())


def test_missing_values_name_both_ways_to_allow_them():
    data = people()
    data.loc[0, "age"] = np.nan
    with pytest.raises(SchemaError, match=r"missing = true, or Numeric\(..., missing=True\)"):
        PrivateTreeClassifier(SCHEMA, epsilon=1).fit(data)


def test_a_label_of_numbers_where_the_schema_lists_text(tmp_path):
    people().assign(ill=0).to_csv(tmp_path / "d.csv", index=False)
    with pytest.raises(SchemaError, match="the label holds numbers, but the schema lists text"):
        PrivateTreeClassifier(SCHEMA, epsilon=1).fit(tmp_path / "d.csv")


def test_a_schema_file_without_a_label_shows_toml_and_its_name(tmp_path):
    (tmp_path / "s.toml").write_text("[features.age]\nlow = 0\nhigh = 9\n")
    with pytest.raises(SchemaError, match=r'(?s)s\.toml: .*\[label\]\nname = "outcome"\nclasses = \["no", "yes"\]'):
        Schema.from_toml(tmp_path / "s.toml")


def test_one_record_as_a_dict_or_a_list_is_told_how_to_be_a_row():
    schema = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1)}, classes=[0, 1])
    model = PrivateTreeClassifier(schema, epsilon=1, n_records=100).fit(np.zeros((100, 2)), np.arange(100) % 2)
    with pytest.raises(SchemaError, match=r"pandas.DataFrame\(\[record\]\)"):
        model.predict({"x": 0.5, "z": 0.5})
    with pytest.raises(SchemaError, match=r"one record write \[record\]"):
        model.predict([0.5, 0.5])
    with pytest.raises(BudgetError, match=r"evaluate needs an epsilon.*these pay for it"):
        model.evaluate(np.zeros((10, 2)), np.zeros(10, dtype=int))

"""What counts as public, on the page."""

import numpy as np

from privet import Categorical, Numeric, PrivateTreeClassifier, PrivateTreeRegressor, Schema
from privet.algorithms.explained import subject_of
from privet.report.schema_table import field_text, schema_section

FEATURES = {"age": Numeric(0, 120, integer=True, missing=True), "city": Categorical(["a <b>", "c"])}
X = np.array([[20, "c"], [60, "a <b>"]] * 50, dtype=object)


def test_every_column_is_listed_unfolded_with_what_is_predicted():
    schema = Schema(FEATURES, classes=["no", "yes"], label="ill", person="who", records_per_person=1)
    model = PrivateTreeClassifier(schema, epsilon=1).fit(X, ["no", "yes"] * 50, groups=np.arange(100))
    section = schema_section(subject_of(model))
    assert '<section id="schema"' in section
    assert "<details" not in section
    for name, said in (
        ("ill", "no, yes: what is predicted"),
        ("who", "says whose record it is; no value of it is in the model"),
        ("age", "0 to 120; whole numbers; may be missing"),
        ("city", "a &lt;b&gt;, c; any other value"),
    ):
        assert f'<th scope="row">{name}</th><td>{said}</td>' in section


def test_a_target_and_a_mean_have_their_ranges():
    schema = Schema(FEATURES, target=(-5, 20), label="cost")
    model = PrivateTreeRegressor(schema, epsilon=1).fit(X, [1.0, 2.0] * 50)
    assert "<td>-5 to 20: what is predicted</td>" in schema_section(subject_of(model))
    assert field_text(Numeric(0, 1, mean_of=["d", "e"])) == "0 to 1; mean of d, e"

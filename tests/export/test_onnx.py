"""A graph predicts what the model does, in another runtime."""

import numpy as np
import pytest

from exported_models import FORMS, exported, records
from privet import Numeric, PrivateTreeClassifier, Schema
from privet.errors import PrivetError

onnxruntime = pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("privet.export.onnx")


def run(model, X):
    session = onnxruntime.InferenceSession(onnx.to_onnx(model))
    fed = {}
    for each in session.get_inputs():
        column = X[each.name]
        if "string" in each.type:
            column = column.fillna("\0 no value").astype(object)
        fed[each.name] = column.to_numpy()[:, None].astype(float if "double" in each.type else column.dtype)
    return session.run(None, fed)


@pytest.mark.parametrize(("form", "n_classes"), FORMS)
def test_it_predicts_what_the_model_does(form, n_classes):
    model, X = exported(form, n_classes), records(500, 2)
    answers = run(model, X)
    np.testing.assert_array_equal(answers[0], model.predict(X))
    assert (len(answers) == 2) == hasattr(model, "predict_proba")
    if len(answers) == 2:
        np.testing.assert_allclose(answers[1], model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "classes", "message"),
    [("x", ["only"], "same of every record"), ("prediction", ["no", "yes"], "'prediction'")],
)
def test_what_has_no_inputs_or_their_names_for_outputs_is_refused(name, classes, message):
    x = np.arange(200) % 2
    schema = Schema({name: Numeric(0, 1, integer=True)}, classes=classes)
    model = PrivateTreeClassifier(schema=schema, epsilon=19, max_depth=1, random_state=0)
    model.fit(x[:, None], np.array(classes)[x % len(classes)])
    with pytest.raises(PrivetError, match=message):
        onnx.to_onnx(model)

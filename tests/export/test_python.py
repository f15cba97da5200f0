"""A Python file predicts what the model does, record by record, and refuses what it refuses."""

import numpy as np
import pytest

from exported_models import FORMS, exported, records
from privet.export.python import to_python


def run(model):
    names = {}
    exec(compile(to_python(model), "exported", "exec"), names)
    return names


@pytest.mark.parametrize(("form", "n_classes"), FORMS)
def test_it_predicts_what_the_model_does(form, n_classes):
    model, X = exported(form, n_classes), records(500, 2)
    program, rows = run(model), X.to_dict("records")
    np.testing.assert_array_equal([program["predict"](row) for row in rows], model.predict(X))
    assert ("predict_proba" in program) == hasattr(model, "predict_proba")
    if "predict_proba" in program:
        chances = [program["predict_proba"](row) for row in rows]
        assert list(chances[0]) == model.classes_.tolist()
        np.testing.assert_allclose([list(own.values()) for own in chances], model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("change", [{"age": None}, {"age": "40"}, {"age": np.inf}, {"flag": None}, {"select": 3}])
def test_what_the_schema_does_not_allow_is_refused_by_the_name_of_its_column(change):
    row = records(1, 3).to_dict("records")[0] | change
    with pytest.raises(ValueError, match=next(iter(change))):
        run(exported("boosting"))["predict"](row)

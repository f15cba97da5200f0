"""scikit-learn's own trees predict what the model does, and its tools read them."""

import pickle

import numpy as np
import pytest
from sklearn.tree import export_text

from exported_models import FORMS, exported, records
from privet.export.sklearn import to_sklearn


@pytest.mark.parametrize(("form", "n_classes"), FORMS)
def test_it_predicts_what_the_model_does(form, n_classes):
    model, X = exported(form, n_classes), records(500, 2)
    pipeline = pickle.loads(pickle.dumps(to_sklearn(model)))
    if "boosting" in form:
        columns = {f: model.forest_.cells(f, own) for f, own in enumerate(_columns(model, X))}
        scores = sum(term.at(columns) for term in model.forest_.terms) / 2**16
        np.testing.assert_array_equal(pipeline.predict(X).reshape(scores.shape), scores)
        return
    np.testing.assert_array_equal(pipeline.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(pipeline.predict_proba(X), model.predict_proba(X), atol=1e-8)


def _columns(model, X):
    from privet.tables.table import read_table

    table = read_table(X, model.schema_)
    numeric = [hasattr(field, "low") for field in model.schema_.features.values()]
    return [table.numeric(name) if own else table.codes(name) for name, own in zip(model.schema_.names, numeric)]


def test_its_tools_read_the_tree():
    pipeline = to_sklearn(exported("counts"))
    names, tree = list(pipeline[0].get_feature_names_out()), pipeline[-1]
    assert names[0] in export_text(tree, feature_names=names)
    assert tree.feature_importances_.shape == (len(names),)
    assert tree.tree_.n_node_samples[0] == pytest.approx(3000, abs=100)  # from the noisy counts

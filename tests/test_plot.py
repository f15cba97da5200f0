"""Pictures for papers."""

import numpy as np
import pytest

from privet import Categorical, Numeric, PrivateForestClassifier, PrivateForestRegressor, PrivateTreeClassifier, Schema
from privet import plot as plots
from privet.algorithms.stand_in import stand_in
from privet.errors import PrivetError

pyplot = pytest.importorskip("matplotlib.pyplot")
pyplot.switch_backend("agg")

FEATURES = {"a": Numeric(0, 1), "b": Categorical(["x", "y"]), "c": Numeric(0, 1e4, log=True, missing=True)}
CLASSES = Schema(FEATURES, classes=["no", "yes"])


def fitted(model):
    return model.fit(*stand_in(model.schema, 3000)[:2])


@pytest.fixture(scope="module")
def tree():
    return fitted(PrivateTreeClassifier(CLASSES, epsilon=2, leaves="counts"))


@pytest.fixture(scope="module")
def boosted():
    return fitted(PrivateForestClassifier(CLASSES, epsilon=4, delta=1e-6, method="boosting"))


def drawn(ax):
    ax.figure.canvas.draw()
    pyplot.close(ax.figure)


def test_a_tree_shows_every_node_and_every_condition(tree):
    ax = plots.plot_tree(tree)
    assert len(ax.texts) == 2 * len(tree.tree_.nodes) - 1
    drawn(ax)


def test_terms_are_drawn_with_their_noise(boosted):
    axes = plots.plot_terms(boosted, terms=5)
    assert sum(bool(ax.get_title()) for ax in axes) == 5
    drawn(axes[0])
    numbers = fitted(PrivateForestRegressor(Schema(FEATURES, target=(0, 5)), epsilon=4, method="boosting"))
    drawn(plots.plot_terms(numbers)[0])


def test_a_budget_is_drawn_to_its_end(tree, boosted):
    for model in (tree, boosted):
        ax = plots.plot_budget(model)
        widths = [patch.get_width() for patch in ax.patches]
        total = float(model.privacy_.reserved or model.privacy_.spent)
        assert np.isclose(sum(widths), total, rtol=1e-3) or sum(widths) < total
        drawn(ax)


def test_given_axes_are_drawn_into(tree):
    _, ax = pyplot.subplots()
    assert plots.plot_tree(tree, ax) is ax
    assert plots.plot_budget(tree, ax) is ax
    drawn(ax)


def test_what_cannot_be_drawn_is_said(tree, boosted):
    for refused in (
        lambda: plots.plot_tree(boosted),
        lambda: plots.plot_tree(tree, tree=1),
        lambda: plots.plot_terms(tree),
        lambda: plots.plot_terms(boosted, output=1),
    ):
        with pytest.raises(PrivetError):
            refused()

"""What an evaluation says, from a table that is known."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics

from privet import PrivetError
from privet.evaluate.evaluation import Evaluation

RNG = np.random.default_rng(3)
MARKS = np.array([0.1, 0.3, 0.6, 0.9])
BINS = RNG.integers(0, 4, 2000)
Y = (RNG.random(2000) < MARKS[BINS]).astype(int)
GROUP = RNG.integers(0, 2, 2000)


def table(groups=False):
    counts = np.zeros((2 if groups else 1, 4, 2), dtype=np.int64)
    np.add.at(counts, (GROUP if groups else 0, BINS, Y), 1)
    return counts


TWO = Evaluation(("n", "y"), table(), MARKS, np.zeros(4), np.array([0, 0, 1, 1]), 0.0)
GROUPED = replace(TWO, counts=table(groups=True), by="s", groups=("a", "b"))
ENDS = 8 * 2.0 ** -np.arange(0, 6, 0.25)
CUTS = np.concatenate([-ENDS, ENDS[::-1]])
ERRORS = np.clip(RNG.laplace(0.3, 1.5, 20000), -7.9, 7.9)
NUMBER = Evaluation(
    None,
    np.bincount(np.searchsorted(CUTS, ERRORS), minlength=len(CUTS) + 1)[None, :, None],
    CUTS,
    np.zeros(0),
    np.zeros(0, dtype=np.int64),
    0.0,
)


def test_two_classes_have_all_that_scikit_learn_says_of_the_bins():
    chances = MARKS[BINS]
    predicted = (chances > 0.5).astype(int)
    assert TWO.accuracy.value == pytest.approx(metrics.accuracy_score(Y, predicted))
    assert TWO.confusion.tolist() == metrics.confusion_matrix(Y, predicted).tolist()
    assert TWO.auc.value == pytest.approx(metrics.roc_auc_score(Y, chances))
    assert TWO.log_loss.value == pytest.approx(metrics.log_loss(Y, chances))
    assert TWO.recall("y").value == pytest.approx(metrics.recall_score(Y, predicted))
    assert TWO.precision("y").value == pytest.approx(metrics.precision_score(Y, predicted))
    for said, found, n in TWO.calibration:
        assert found.value == pytest.approx(Y[chances == said].mean())
        assert n == (chances == said).sum()
    assert list(TWO.summary) == ["accuracy", "AUC", "log loss"]


def two_bins(right_n, wrong_n, wrong_y, right_y, variance=0.0):
    counts = np.array([[[right_n, wrong_y], [wrong_n, right_y]]])
    return Evaluation(("n", "y"), counts, np.array([0.0, 1.0]), np.zeros(2), np.array([0, 1]), variance)


def test_the_gain_over_the_commonest_class_is_of_pairs():
    found = two_bins(890, 10, 60, 40)
    assert found.gain.value == pytest.approx(found.accuracy.value - found.baseline[1].value) == 0.03
    error = 1.96 * np.sqrt(50 - 30**2 / 1000) / 1000  # 40 won, 10 lost
    assert [found.gain.low, found.gain.high] == pytest.approx([0.03 - error, 0.03 + error], abs=2e-4)
    assert found.verdict() == "Better than always saying n, by 3.0 points (1.6 to 4.4)."
    assert found.verdict() in str(found)
    assert two_bins(890, 10, 88, 12).verdict("no") == "No better than always saying no, as far as these records tell."
    assert two_bins(900, 0, 100, 0).verdict().startswith("No better")
    assert two_bins(8900, 100, 800, 200).verdict().startswith("Barely better than always saying n, by 1.0 points (")
    assert two_bins(550, 50, 100, 300).verdict().startswith("Clearly better than always saying n, by 25.0 points (")
    assert two_bins(850, 50, 95, 5).verdict().startswith("Worse than always saying n, by 4.5 points (")


def test_the_interval_of_the_gain_holds_the_true_one_with_noise_too():
    rng, chances, scale = np.random.default_rng(5), [0.72, 0.03, 0.17, 0.08], 6.0
    held = 0
    for _ in range(1000):
        noisy = rng.multinomial(800, chances) + np.rint(rng.laplace(0, scale, 4)).astype(int)
        gain = two_bins(*noisy, variance=2 * scale**2).gain
        held += gain.low <= 0.08 - 0.03 <= gain.high
    assert 0.93 <= held / 1000 <= 0.97


def test_several_classes_have_the_mean_area_of_each_against_the_rest():
    """As scikit-learn has it of the score that the table knows: the predicted class's chance, the rest evenly."""
    rng = np.random.default_rng(4)
    marks, said = np.tile([0.5, 0.7, 0.9], 3), np.repeat([0, 1, 2], 3)
    bins = rng.integers(0, 9, 3000)
    true = np.where(rng.random(3000) < marks[bins], said[bins], rng.integers(0, 3, 3000))
    counts = np.zeros((1, 9, 3), dtype=np.int64)
    np.add.at(counts, (0, bins, true), 1)
    three = Evaluation(("a", "b", "c"), counts, marks, np.zeros(9), said, 0.0)
    scores = np.where(said[bins][:, None] == np.arange(3), marks[bins][:, None], (1 - marks[bins][:, None]) / 2)
    assert three.auc.value == pytest.approx(metrics.roc_auc_score(true, scores, multi_class="ovr"))
    assert three.auc.low < three.auc.value < three.auc.high < three.auc.low + 0.05
    assert list(three.summary) == ["accuracy", "AUC by bins"]
    assert "AUC by bins" in str(three)


def test_groups_are_evaluations_of_their_own():
    assert GROUPED.accuracy.value == TWO.accuracy.value
    for g, name in enumerate("ab"):
        own = GROUPED.group(name)
        right = ((MARKS[BINS] > 0.5) == Y)[g == GROUP]
        assert own.accuracy.value == pytest.approx(right.mean())
        assert own.n == (g == GROUP).sum()
    assert "s a: accuracy" in str(GROUPED)
    with pytest.raises(PrivetError, match="no group"):
        GROUPED.group("c")
    with pytest.raises(PrivetError, match="no group"):
        TWO.group("all")


def test_the_noise_of_groups_adds_up():
    assert replace(GROUPED, variance=50.0).accuracy.low < replace(TWO, variance=50.0).accuracy.low


def test_errors_have_means_and_quantiles():
    assert NUMBER.mean_error.value == pytest.approx(ERRORS.mean(), abs=0.02)
    assert NUMBER.mean_absolute_error.value == pytest.approx(np.abs(ERRORS).mean(), rel=0.01)
    assert NUMBER.mean_squared_error.value == pytest.approx((ERRORS**2).mean(), rel=0.02)
    assert NUMBER.absolute_error(0.5).value == pytest.approx(np.median(np.abs(ERRORS)), rel=0.01)
    assert NUMBER.absolute_error(0.5).low < NUMBER.absolute_error(0.5).value < NUMBER.absolute_error(0.5).high
    assert "mean squared error" in str(NUMBER)
    for q in (0, 1, -1, 2):
        with pytest.raises(PrivetError, match="between 0 and 1"):
            NUMBER.absolute_error(q)


def test_labels_alone_have_no_area_in_the_summary():
    assert list(replace(TWO, marks=np.array([0.0, 0.0, 1.0, 1.0])).summary) == ["accuracy"]


def test_a_weight_makes_persons_of_shares():
    heavy = replace(TWO, counts=12 * TWO.counts, weight=12)
    assert heavy.n == TWO.n
    assert heavy.accuracy == TWO.accuracy
    assert "persons" in str(heavy)


def test_what_does_not_fit_the_task_is_refused():
    for asked in ("mean_error", "mean_absolute_error", "mean_squared_error"):
        with pytest.raises(PrivetError, match="classes"):
            getattr(TWO, asked)
    for asked in ("accuracy", "auc", "confusion", "calibration"):
        with pytest.raises(PrivetError, match="numbers"):
            getattr(NUMBER, asked)
    three = Evaluation(("a", "b", "c"), np.ones((1, 3, 3), dtype=int), np.ones(3), np.zeros(3), np.arange(3), 1.0)
    assert list(three.summary) == ["accuracy"]
    with pytest.raises(PrivetError, match="two classes"):
        _ = three.log_loss
    with pytest.raises(PrivetError, match="no class"):
        three.recall("d")


@pytest.mark.parametrize("evaluation", [TWO, GROUPED, NUMBER], ids=["two", "groups", "number"])
def test_files_keep_everything(evaluation):
    plain = json.loads(json.dumps(evaluation.to_dict()))
    assert str(Evaluation.from_dict(plain)) == str(evaluation)
    assert Evaluation.from_dict(plain).to_dict() == evaluation.to_dict()


@pytest.mark.parametrize(
    "changed",
    [
        {"counts": [1, 2]},
        {"counts": None},
        {"shape": [1, 4]},
        {"shape": [1, 2, 4]},
        {"shape": [-1, 4, 2]},
        {"marks": [0.1]},
        {"marks": ["a", 0.1, 0.2, 0.3]},
        {"marks": [0.1, 0.2, 0.3, 1e308]},
        {"marks": [-0.1, 0.2, 0.3, 0.4]},
        {"widths": [0, 0, 0, -1]},
        {"predicts": [0, 0, 1, 7]},
        {"predicts": [0, 0, 1, -1]},
        {"variance": -1},
        {"variance": "x"},
        {"variance": 1e308},
        {"widths": [0, 0, 0, 1e200]},
        {"weight": 0},
        {"weight": 10**9},
        {"by": "\ud800"},
        {"better": True},
        {"groups": []},
        {"classes": ["n"]},
        {"classes": ["n", "n"]},
        {"classes": ["n", []]},
        {"by": 3},
        {"receipt": {}},
    ],
)
def test_a_file_that_says_nonsense_is_refused(changed):
    with pytest.raises(PrivetError):
        Evaluation.from_dict({**TWO.to_dict(), **changed})
    for nothing in (None, [], {}, "evaluation"):
        with pytest.raises(PrivetError):
            Evaluation.from_dict(nothing)


def test_the_log_loss_is_held_though_scores_lie_anywhere_in_their_bins():
    """A few trees have few scores, which may all be to one side: here of bins that are less telling than they say."""
    rng = np.random.default_rng(4)
    ends = np.linspace(-4, 4, 9)
    marks, widths = 1 / (1 + np.exp(-(ends[1:] + ends[:-1]) / 2)), np.diff(ends)
    shares = np.array([0.0, 0.55, 0.05, 0.1, 0.05, 0.02, 0.2, 0.03])
    positive = 0.3 + 0.5 * (marks - 0.5)  # what the bins really are
    cells = np.stack([shares * (1 - positive), shares * positive], axis=1)
    held, predicts = 0, (marks > 0.5).astype(np.int64)
    for _ in range(2000):
        said = 1 / (1 + np.exp(-rng.uniform(ends[:-1], ends[1:])))
        truth = float((cells * -np.log(np.stack([1 - said, said], axis=1))).sum())
        counts = rng.multinomial(4000, cells.ravel()).reshape(1, 8, 2)
        found = Evaluation(("n", "y"), counts, marks, widths, predicts, 0.0).log_loss
        held += found.low <= truth <= found.high
    assert 0.925 <= held / 2000 <= 0.985  # five standard deviations from 95%, and from what it takes to be unknown

"""The errors users meet: one family, so that a caller can catch them all, and each kind apart."""

import inspect
import pickle

import pytest

import privet
from privet import errors

CLASSES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
KINDS = [kind for kind in CLASSES if not issubclass(kind, Warning)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_is_one_of_privets_and_says_what_it_is(kind):
    assert issubclass(kind, errors.PrivetError)
    assert issubclass(kind, ValueError)  # as scikit-learn's checks expect of wrong parameters
    assert kind.__name__.endswith("Error")
    assert inspect.getdoc(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_keeps_its_kind_and_words_on_its_way_out_of_a_worker_process(kind):
    again = pickle.loads(pickle.dumps(kind("Do this next.")))
    assert (type(again), str(again)) == (kind, "Do this next.")


def test_warnings_are_users_warnings():
    warnings = [kind for kind in CLASSES if issubclass(kind, Warning)]
    assert warnings == [errors.BudgetWarning, errors.DataWarning]
    assert all(issubclass(kind, UserWarning) and inspect.getdoc(kind) for kind in warnings)


def test_a_run_that_was_ended_elsewhere_is_a_joint_computation_that_ended():
    assert issubclass(errors.RunEndedError, errors.MpcError)


def test_no_kind_is_caught_by_another_that_is_none_of_its_own():
    family = {kind: {base for base in kind.__mro__ if base in KINDS} - {kind, errors.PrivetError} for kind in KINDS}
    assert {kind: bases for kind, bases in family.items() if bases} == {errors.RunEndedError: {errors.MpcError}}


def test_the_public_names_are_these_very_classes():
    for name in ("PrivetError", "SchemaError", "BudgetError", "LeakError", "ReceiptError", "CapabilityError"):
        assert getattr(privet, name) is getattr(errors, name)

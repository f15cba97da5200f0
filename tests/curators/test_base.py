"""What holds for every curator: why a release has no guarantee, and that each opens desks of its own."""

import numpy as np
import pytest

from privet import MemoryCurator, Numeric, Schema
from privet.curators.base import Curator, reasons_void
from privet.privacy.mechanisms import SeededMechanisms

SCHEMA = Schema({"x": Numeric(0, 1)}, classes=[0, 1])


def test_a_curator_that_opens_no_desk_cannot_be_made():
    with pytest.raises(TypeError, match="abstract"):
        type("Closed", (Curator,), {})()


def test_records_of_a_written_schema_and_unknown_noise_have_a_guarantee():
    assert reasons_void(SCHEMA, reproducible=False) == ()


def test_noise_that_can_be_reproduced_voids_it():
    assert reasons_void(SCHEMA, reproducible=True) == ("random_state: the noise can be reproduced",)
    seeded = MemoryCurator(np.zeros((2, 1)), [0, 1], SCHEMA, mechanisms=SeededMechanisms(0))
    assert seeded.void == seeded.open().void == reasons_void(SCHEMA, reproducible=True)


def test_a_schema_inferred_from_the_data_voids_it_and_is_named():
    inferred = Schema({"x": Numeric(0, 1, inferred=True), "z": Numeric(0, 1)}, classes=[0, 1])
    assert reasons_void(inferred, reproducible=False) == ("schema inferred from the data: x",)

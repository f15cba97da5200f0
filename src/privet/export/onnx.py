"""A model in the Open Neural Network Exchange format, for runtimes that know nothing of trees or of Privet.

The graph looks every value's cell up and then walks whole numbers, so that no comparison is made in single precision,
which the format's own tree operators use.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from privet.errors import PrivetError
from privet.export.program import Input, Program, program_of
from privet.extras import need
from privet.privacy.fixed_point import GRADIENT_ONE, TARGET_ONE
from privet.schema_values import kind_of
from privet.tree.additive import Additive, Term
from privet.tree.flat import Cuts, cuts_of, flat_tree
from privet.tree.tree import Tree

need("onnx", "onnx")
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

OPSET, ML_OPSET, IR_VERSION = 17, 2, 8


class Graph:
    """Operations one after the other; each answers the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, dtype: Any = None) -> str:
        name = f"privet/constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def __call__(self, operation: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        name = out or f"privet/{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, list(inputs), [name], **attributes))
        return name


def to_onnx(model: Any) -> bytes:
    """A model file whose inputs are the columns, by name, each of shape (records, 1).

    Numbers and numeric categories are doubles, NaN where they are missing; texts are strings and booleans are bools.
    Outputs are ``prediction`` and, where probabilities were released, ``probabilities`` in the order of ``classes_``.
    Other than ``predict`` it refuses nothing: where the schema has no cell for missing or unlisted values, what is
    answered for them means nothing.
    """
    program = program_of(model)
    if not program.inputs:
        raise PrivetError(
            "This model says the same of every record, so that it has no inputs, which this format needs."
        )
    if taken := {"prediction", "probabilities"} & _columns(program).keys():
        raise PrivetError(f"A column is called {taken.pop()!r}, as an output of the exported model is; rename it.")
    graph = Graph()
    cells = {own.feature: _cell(graph, own) for own in program.inputs}
    if program.boosted is None:
        outputs = _trees(graph, program, cells)
    else:
        outputs = _boosted(graph, program, program.boosted, cells)
    inputs = [helper.make_tensor_value_info(name, kind, ["records", 1]) for name, kind in _columns(program).items()]
    proto = helper.make_graph(graph.nodes, type(model).__name__, inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    whole = helper.make_model(proto, opset_imports=opsets, producer_name="privet", ir_version=IR_VERSION)
    onnx.checker.check_model(whole)
    return bytes(whole.SerializeToString())


def _columns(program: Program) -> dict[str, int]:
    """The type of every column that is read."""
    kinds = {"text": TensorProto.STRING, "booleans": TensorProto.BOOL, "numbers": TensorProto.DOUBLE}
    return {
        column: kinds[kind_of(own.values)] if own.values else TensorProto.DOUBLE
        for own in program.inputs
        for column in own.columns
    }


# -- cells -----------------------------------------------------------------------------------------------------------


def _cell(graph: Graph, own: Input) -> str:
    """The cell of each record's value, of shape (records,)."""
    if own.cuts is None:
        return _category(graph, own)
    shares = [_divided(graph, column, len(own.columns)) for column in own.columns]
    x = reduce(lambda a, b: graph("Add", a, b), shares)
    above = graph("Greater", x, graph.constant([list(own.cuts)], np.float64))  # a row for each record
    axis = graph.constant([1])
    cell = graph("ReduceSum", graph("Cast", above, to=TensorProto.INT64), axis, keepdims=0)
    if not own.open:
        return cell
    missing = graph("Squeeze", graph("IsNaN", x), axis)
    return graph("Where", missing, graph.constant(len(own.cuts) + 1), cell)


def _divided(graph: Graph, column: str, n: int) -> str:
    return column if n == 1 else graph("Div", column, graph.constant(float(n)))


def _category(graph: Graph, own: Input) -> str:
    flat = graph("Reshape", own.name, graph.constant([-1]))
    places, rest = list(range(len(own.values))), len(own.values) if own.open else 0
    kind = kind_of(own.values)
    if kind == "text":
        texts: dict[str, Any] = {"keys_strings": list(own.values), "values_int64s": places, "default_int64": rest}
        return graph("LabelEncoder", flat, domain="ai.onnx.ml", **texts)
    if kind == "booleans":
        codes = [own.values.index(value) if value in own.values else rest for value in (False, True)]
        return graph("Where", flat, graph.constant(codes[1]), graph.constant(codes[0]))
    same = graph("Equal", own.name, graph.constant([[float(value) for value in own.values]]))
    weights = graph.constant([[place - rest for place in places]])
    found = graph("Mul", graph("Cast", same, to=TensorProto.INT64), weights)
    return graph("Add", graph("ReduceSum", found, graph.constant([1]), keepdims=0), graph.constant(rest))


# -- trees -----------------------------------------------------------------------------------------------------------


def _trees(graph: Graph, program: Program, cells: dict[int, str]) -> list[Any]:
    stacked, columns = _stacked(graph, program, cells)
    cuts, n_first = cuts_of(program.trees), program.inputs[0].n_cells
    leaves = [_leaf(graph, tree, cuts, stacked, columns, n_first) for tree in program.trees]
    values = [
        graph("Gather", graph.constant(np.nan_to_num(program.leaf_values(tree))), leaf)
        for tree, leaf in zip(program.trees, leaves)
    ]
    means = graph("Div", reduce(lambda a, b: graph("Add", a, b), values), graph.constant(float(len(values))))
    if program.classes is None:
        return [_squeezed(graph, means)]
    if not program.by_label:
        return _best(graph, program, means)
    names = np.array(program.schema.classes)
    label = graph("Gather", graph.constant(np.maximum(program.trees[0].labels, 0)), leaves[0])
    answer = [_class(graph, names, label)]
    return [*answer, _chances(graph, means)] if program.chances else answer


def _stacked(graph: Graph, program: Program, cells: dict[int, str]) -> tuple[str, dict[int, int]]:
    """All cells as one list, record by record, and the place of each feature among those of a record."""
    axis = graph.constant([1])
    columns = [graph("Unsqueeze", name, axis) for name in cells.values()]
    stacked = graph("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]
    return stacked, {feature: k for k, feature in enumerate(cells)}


def _leaf(graph: Graph, tree: Tree, cuts: Cuts, stacked: str, columns: dict[int, int], n_first: int) -> str:
    """The leaf of each record: as many steps down as the tree is deep, a leaf being its own child."""
    features, starts, children = flat_tree(tree, cuts)
    table, at = children.tolist(), starts.copy()
    for i in tree.leaves:  # whatever cell the first feature has
        at[i] = len(table)
        table += [i] * n_first
    place = np.array([columns.get(int(feature), 0) for feature in features])
    places, begins, below = graph.constant(place), graph.constant(at), graph.constant(table, np.int64)
    first = graph("Gather", stacked, graph.constant(0), axis=1)
    node = graph("Mul", first, graph.constant(0))  # every record begins at the root
    axis = graph.constant([1])
    for _ in range(tree.depth):
        which = graph("Unsqueeze", graph("Gather", places, node), axis)
        cell = graph("Squeeze", graph("GatherElements", stacked, which, axis=1), axis)
        node = graph("Gather", below, graph("Add", graph("Gather", begins, node), cell))
    return node


# -- boosting --------------------------------------------------------------------------------------------------------


def _boosted(graph: Graph, program: Program, boosted: Additive, cells: dict[int, str]) -> list[Any]:
    scores = reduce(lambda a, b: graph("Add", a, b), [_term(graph, term, cells) for term in boosted.terms])
    if program.classes is None:
        return _target(graph, boosted, scores)
    scaled = graph("Div", graph("Cast", scores, to=TensorProto.DOUBLE), graph.constant(float(GRADIENT_ONE)))
    p = graph("Sigmoid", scaled)
    one, two, three = (graph.constant(float(n)) for n in (1, 2, 3))
    twice = graph("Mul", two, p)
    high, low = graph("Div", one, graph("Sub", three, twice)), graph("Div", twice, graph("Add", one, twice))
    chances = graph("Where", graph("Less", p, graph.constant(0.5)), low, high)
    if boosted.n_outputs == 1:
        chances = graph("Concat", graph("Sub", one, chances), chances, axis=1)
    else:
        chances = graph("Div", chances, graph("ReduceSum", chances, graph.constant([1]), keepdims=1))
    return _best(graph, program, graph("Gather", chances, graph.constant(program.order), axis=1))


def _term(graph: Graph, term: Term, cells: dict[int, str]) -> str:
    """What a term adds, of shape (records, scores): whole numbers."""
    place = ""
    for feature, stretches, size in zip(term.features, term.stretches, term.values.shape):
        own = graph("Gather", graph.constant(stretches, np.int64), cells[feature])
        place = own if not place else graph("Add", graph("Mul", place, graph.constant(int(size))), own)
    return graph("Gather", graph.constant(term.values.reshape(-1, term.values.shape[-1])), place)


def _target(graph: Graph, boosted: Additive, scores: str) -> list[Any]:
    calibration, target = boosted.calibration, boosted.schema.target
    assert calibration is not None
    assert target is not None
    low, high = map(float, target)
    whole = graph("Add", scores, graph.constant(calibration.start, np.int64))
    above = graph("Greater", whole, graph.constant([list(calibration.cuts)], np.int64))
    level = graph("ReduceSum", graph("Cast", above, to=TensorProto.INT64), graph.constant([1]), keepdims=1)
    lifted = graph("Add", whole, graph("Gather", graph.constant(calibration.values, np.int64), level))
    share = graph("Div", graph("Cast", lifted, to=TensorProto.DOUBLE), graph.constant(float(TARGET_ONE)))
    inside = graph("Clip", share, graph.constant(0.0), graph.constant(1.0))
    value = graph("Add", graph.constant(low), graph("Mul", inside, graph.constant(high - low)))
    return [_squeezed(graph, graph("Clip", value, graph.constant(low), graph.constant(high)))]


# -- outputs ---------------------------------------------------------------------------------------------------------


def _squeezed(graph: Graph, value: str) -> Any:
    graph("Squeeze", value, graph.constant([1]), out="prediction")
    return helper.make_tensor_value_info("prediction", TensorProto.DOUBLE, ["records"])


def _best(graph: Graph, program: Program, chances: str) -> list[Any]:
    best = graph("ArgMax", chances, axis=1, keepdims=0)
    return [_class(graph, np.array(program.classes), best), _chances(graph, chances)]


def _chances(graph: Graph, chances: str) -> Any:
    graph("Identity", chances, out="probabilities")
    return helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, ["records", None])


def _class(graph: Graph, names: np.ndarray, place: str) -> Any:
    names = names.astype(object) if names.dtype.kind == "U" else names
    graph("Gather", graph.constant(names), place, out="prediction")
    kind = helper.np_dtype_to_tensor_dtype(names.dtype) if names.dtype != object else TensorProto.STRING
    return helper.make_tensor_value_info("prediction", kind, ["records"])

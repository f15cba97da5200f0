"""The house plan as a test: which room may import from which, and how files and names are kept.

What does not hold yet is listed in ``KNOWN``, check by check. An entry that is no longer needed is an error, too, so
that the lists can only shrink.
"""

import ast
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "privet"

ROOMS = (
    "errors", "extras", "values", "rounding", "strict_json", "disk", "progress", "schema_file", "schema_values",
    "schema", "questions", "shares", "privacy", "tables", "curators", "tree", "evaluate", "explain", "algorithms",
    "consortium", "audit", "robustness", "report", "plot", "export", "datasets", "privet", "cli",
)  # fmt: skip
"""Each may import from those before it. ``privet`` is the package itself, with the public names."""

PUBLIC = "privet"
MOST_LINES = 450

KNOWN: dict[str, set[str]] = {
    "direction": set(),
    "cycles": set(),
    "class names": set(),
    "long files": set(),
    "private attributes": set(),
    "untested files": set(),
}


def known(check: str, found: set[str]) -> None:
    """Pass if exactly the known exceptions are found."""
    new, mended = sorted(found - KNOWN[check]), sorted(KNOWN[check] - found)
    assert not new, f"new exceptions of {check!r}: {new}"
    assert not mended, f"no longer needed in KNOWN[{check!r}]; delete: {mended}"


# -- what the files say ----------------------------------------------------------------------------------------------


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name; a package is named as its folder."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


@cache
def imported(module: str) -> frozenset[str]:
    """All modules of the project that one imports from, at any depth: inside functions and for types alone, too."""
    found = set()
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            own = source_of(node, module)
            found |= {f"{own}.{alias.name}" if f"{own}.{alias.name}" in modules() else own for alias in node.names}
    return frozenset(found & set(modules()) - {module})


def source_of(node: ast.ImportFrom, module: str) -> str:
    """Where an import is from; dots in front of it lead up from the module's own folder."""
    if not node.level:
        return node.module or ""
    folders = module.split(".") if modules()[module].name == "__init__.py" else module.split(".")[:-1]
    return ".".join([*folders[: len(folders) - node.level + 1], *([node.module] if node.module else [])])


@cache
def named(module: str) -> frozenset[str]:
    """Modules whose names a module holds as text, for ``import_module``."""
    texts = {node.value for node in ast.walk(parsed(module)) if isinstance(node, ast.Constant)}
    return frozenset(text for text in texts if isinstance(text, str) and "." in text and text in modules())


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else PUBLIC


def short(module: str) -> str:
    return module.removeprefix("privet.")


# -- the checks ------------------------------------------------------------------------------------------------------


def test_rooms_import_in_one_direction():
    assert {room(module) for module in modules()} <= set(ROOMS)
    known(
        "direction",
        {
            f"{short(module)} > {short(other)}"
            for module in modules()
            if module != PUBLIC
            for other in imported(module) | named(module)
            if ROOMS.index(room(other)) > ROOMS.index(room(module))
        },
    )


def test_no_modules_import_each_other_in_a_circle():
    known("cycles", {" > ".join(map(short, cycle)) for cycle in cycles({m: imported(m) for m in modules()})})


def test_no_class_name_is_used_twice():
    names = Counter(
        node.name for module in modules() for node in ast.walk(parsed(module)) if isinstance(node, ast.ClassDef)
    )
    known("class names", {name for name, times in names.items() if times > 1})


def test_no_file_is_longer_than_a_person_reads_at_once():
    known(
        "long files",
        {
            short(module)
            for module, path in modules().items()
            if len(path.read_text(encoding="utf-8").splitlines()) > MOST_LINES
        },
    )


def test_private_attributes_are_used_where_they_are_made():
    known("private attributes", {f"{short(module)}: {name}" for module in modules() for name in borrowed(module)})


def test_every_source_file_has_a_test_file():
    known("untested files", {short(module) for module in modules() if not has_test(module)})


# -- how they are checked --------------------------------------------------------------------------------------------


def cycles(graph: dict[str, frozenset[str]]) -> list[tuple[str, ...]]:
    """Groups of modules each of which leads to each other (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                found.append(tuple(sorted(group)))

    for module in sorted(graph):
        if module not in index:
            visit(module)
    return found


def borrowed(module: str) -> set[str]:
    """Private attributes of others, ``x._name``, that nothing in the module's own folder defines."""
    folder = modules()[module].parent
    made = {name for other, path in modules().items() if path.parent == folder for name in defined(other)}
    used = {
        node.attr
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
    }
    return used - made


@cache
def defined(module: str) -> frozenset[str]:
    """Names that a module defines, as a function, a class, a variable or an attribute of ``self`` or ``cls``."""
    found = set()
    for node in ast.walk(parsed(module)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and is_own(node.value):
            found.add(node.attr)
    return frozenset(found)


def is_own(value: ast.expr) -> bool:
    """Whether an attribute is taken of ``self``, of ``cls`` or of ``super()``: inherited names are one's own."""
    if isinstance(value, ast.Call):
        value = value.func
    return isinstance(value, ast.Name) and value.id in ("self", "cls", "super")


def has_test(module: str) -> bool:
    """Whether tests/ has a file of the same name in the same folder; one that defines nothing needs none."""
    if not any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in parsed(module).body):
        return True
    *folders, name = module.split(".")[1:] or [""]
    if module == PUBLIC:
        return (TESTS / "test_import.py").is_file()
    package = modules()[module].name == "__init__.py"
    places = [TESTS.joinpath(*folders), *([TESTS.joinpath(*folders, name)] if package else [])]
    return any((place / f"test_{name}.py").is_file() for place in places)


# -- the checks themselves can fail ----------------------------------------------------------------------------------


def test_a_circle_is_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert cycles({name: frozenset(leads) for name, leads in graph.items()}) == [("a", "b", "c")]
    assert cycles({name: frozenset(leads - {"a"}) for name, leads in graph.items()}) == []


def test_an_exception_that_is_not_needed_is_an_error(monkeypatch):
    monkeypatch.setitem(KNOWN, "cycles", {"a"})
    known("cycles", {"a"})
    for found in (set(), {"a", "b"}):
        with pytest.raises(AssertionError):
            known("cycles", found)


def test_rooms_are_listed_once():
    assert len(set(ROOMS)) == len(ROOMS)
    assert all(one != other for one, other in pairwise(ROOMS))

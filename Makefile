# Each target sets up all it needs: an environment in .venv, made anew whenever pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE # as containers set it: every test process would compile everything again

.PHONY: docs test-published bench bench-full demo test test-long lint types jointexp audit audit-diffprivlib mpc hidden federated clean

demo: $(VENV)/installed
	$(BIN)/privet demo

test: $(VENV)/develop lint types
	$(BIN)/pytest -n auto --dist worksteal -m "not slow"

test-long: $(VENV)/long
	$(BIN)/pytest -n auto --dist worksteal -m slow

# What is published: only the base install, the lowest versions that pyproject.toml allows, the source archive. A part of the long tests.
test-published: $(VENV)/develop
	$(BIN)/pytest -m slow tests/test_packaging.py

# The docs as a site, in build/site: every link is checked, and a warning is an error.
docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

lint: $(VENV)/develop
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples

types: $(VENV)/develop
	$(BIN)/mypy

# The measurements of one page, in a store of their own: docs/privatree.md, mpc.md, federated.md, hidden.md and claims.md.
# diffprivlib cannot be imported beside a current scikit-learn: it has an environment of its own. It needs Python 3.10 to
# 3.12: PRIVET_PEER_PYTHON=python3.12 make ...
jointexp: NAMES = jointexp
mpc: NAMES = mpc-engines mpc-adult
federated: NAMES = federated-costs
hidden: NAMES = hidden-costs hidden-mpyc
audit-diffprivlib: NAMES = audit-diffprivlib
MEASURED := jointexp mpc federated hidden audit-diffprivlib
$(MEASURED): export PRIVET_BENCH_STORE = build/$@.parquet
$(MEASURED): $(VENV)/bench
	mkdir -p build
	$(BIN)/python benchmarks/privet-bench run $(NAMES)
	$(BIN)/python benchmarks/privet-bench table $(NAMES)

# The long audit: every sound estimator, for so many minutes each; it can be stopped and taken up again. See docs/audit.md.
MINUTES ?= 60
EPSILON ?= 1
audit: export PRIVET_AUDIT_MINUTES = $(MINUTES)
audit: export PRIVET_AUDIT_EPSILON = $(EPSILON)
audit: export PRIVET_BENCH_STORE = build/audit.parquet
audit: $(VENV)/bench
	mkdir -p build
	$(BIN)/python benchmarks/privet-bench run audit
	$(BIN)/python benchmarks/privet-bench table audit

# Every table and figure: the quick table, all its runs made anew (some minutes), or all that is missing in the store
# (hours; it says how many, and can be stopped and taken up again). Peers get environments of their own.
bench: $(VENV)/bench
	mkdir -p build
	PRIVET_BENCH_STORE=build/quick.parquet $(BIN)/python benchmarks/privet-bench run --quick
	PRIVET_BENCH_STORE=build/quick.parquet $(BIN)/python benchmarks/privet-bench table

bench-full: $(VENV)/bench
	$(BIN)/python benchmarks/privet-bench run
	$(BIN)/python benchmarks/privet-bench plot
	$(BIN)/python benchmarks/privet-bench page

clean:
	rm -rf $(VENV) .venv-*

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("privet needs Python 3.11 or newer: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/develop: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[all]" --group test --group lint --group docs
	touch $@ $(VENV)/installed

$(VENV)/long: $(VENV)/develop
	$(BIN)/python -m pip install --quiet --group long
	touch $@

$(VENV)/bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[all]" --group test --group bench
	touch $@

$(VENV)/docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[sql,onnx]" --group docs
	touch $@

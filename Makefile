# Each target sets up all it needs: an environment in .venv, made anew whenever pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-long lint types accuracy ablation speed clean

demo: $(VENV)/installed
	$(BIN)/privet demo

test: $(VENV)/develop lint types
	$(BIN)/pytest -n auto -m "not slow"

test-long: $(VENV)/develop
	$(BIN)/pytest -n auto -m slow

lint: $(VENV)/develop
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks

types: $(VENV)/develop
	$(BIN)/mypy

accuracy: $(VENV)/bench
	$(BIN)/python benchmarks/accuracy.py

ablation: $(VENV)/bench
	$(BIN)/python benchmarks/ablation.py

speed: $(VENV)/bench
	$(BIN)/python benchmarks/speed.py

clean:
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("privet needs Python 3.11 or newer: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	touch $@

$(VENV)/develop: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[all]" --group test --group lint
	touch $@ $(VENV)/installed

$(VENV)/bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[all]" --group test --group bench
	touch $@

# Each target sets up all it needs: an environment in .venv, made anew whenever pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: docs robustness peers federated-delta federated-accuracy ensemble regression diprime-figures demo test test-long lint types accuracy baselines ablation speed top-down privatree jointexp audit audit-diffprivlib mpc hidden hidden-accuracy hidden-plan federated clean

demo: $(VENV)/installed
	$(BIN)/privet demo

test: $(VENV)/develop lint types
	$(BIN)/pytest -n auto --dist worksteal -m "not slow"

test-long: $(VENV)/develop
	$(BIN)/pytest -n auto --dist worksteal -m slow

# The docs as a site, in build/site: every link is checked, and a warning is an error.
docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

lint: $(VENV)/develop
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples

types: $(VENV)/develop
	$(BIN)/mypy

accuracy: $(VENV)/bench
	$(BIN)/python benchmarks/accuracy.py

baselines: $(VENV)/bench
	$(BIN)/python benchmarks/baselines.py

ablation: $(VENV)/bench
	$(BIN)/python benchmarks/ablation.py

# The tables of docs/forests.md.
ensemble: $(VENV)/bench
	$(BIN)/python benchmarks/ensemble.py

# DiPriMe's Table 1 beside our regressors (it can be stopped and taken up again), and its Figures 2 and 3.
regression: $(VENV)/bench
	$(BIN)/python benchmarks/regression.py

diprime-figures: $(VENV)/bench
	$(BIN)/python benchmarks/diprime_figures.py

speed: $(VENV)/bench
	$(BIN)/python benchmarks/speed.py

privatree: $(VENV)/bench
	$(BIN)/python benchmarks/privatree.py

# Figures 1 to 3 of DP-TopDown, for docs/top_down.md.
top-down: $(VENV)/bench
	$(BIN)/python benchmarks/top_down.py

# Certificates against poisoned records: Tables III and VIII and Figure 4 of PrivaTree, attacks, boosting by zCDP, for
# docs/robustness.md; it can be stopped and taken up again. Logistic regression wants diffprivlib's environment.
robustness: $(VENV)/bench
	-@$(MAKE) --no-print-directory $(PEER)/installed
	$(BIN)/python benchmarks/robustness.py

jointexp: $(VENV)/bench
	$(BIN)/python benchmarks/jointexp.py

# The report's simulation of federated histograms, and Adult split five ways, into docs/histogram_tree.md; it can be resumed.
federated-accuracy: $(VENV)/bench
	$(BIN)/python benchmarks/federated_accuracy.py

# Both engines of joint computation, and training on secret shares. See docs/mpc.md.
mpc: $(VENV)/bench
	$(BIN)/python benchmarks/mpc.py
	$(BIN)/python benchmarks/mpc.py --adult

# Rounds, bytes and time of federated training. See docs/federated.md.
federated: $(VENV)/bench
	$(BIN)/python benchmarks/federated_costs.py

# Geometric against Skellam noise between owners, by the number of features. See docs/federated.md.
federated-delta: $(VENV)/bench
	$(BIN)/python benchmarks/federated_delta.py

# Hidden trees: what they cost on Adult's shape beside MPyC, and their accuracy, which can be stopped and resumed. See
# docs/hidden.md.
hidden: $(VENV)/bench
	$(BIN)/python benchmarks/hidden.py

hidden-accuracy: $(VENV)/bench
	$(BIN)/python benchmarks/hidden_accuracy.py

hidden-plan: $(VENV)/bench
	$(BIN)/python benchmarks/hidden_plan.py

# The long audit: every sound estimator, for so many minutes each; it can be stopped and taken up again. See docs/audit.md.
MINUTES ?= 60
EPSILON ?= 1
audit: $(VENV)/develop
	$(BIN)/python benchmarks/long_audit.py --epsilon $(EPSILON) --minutes $(MINUTES)

# diffprivlib cannot be imported beside a current scikit-learn: it has an environment of its own.
PEER := .venv-diffprivlib
audit-diffprivlib: $(VENV)/installed
	@$(MAKE) --no-print-directory $(PEER)/installed \
		|| { echo "skipped: diffprivlib does not install here (it needs Python 3.10 to 3.12: make PEER_PYTHON=python3.12 ...)"; exit 0; } \
		&& $(BIN)/python benchmarks/audit_diffprivlib.py $(PEER)/bin/python

# Our forests beside DP-EBM and diffprivlib, each in its own environment; it can be stopped and taken up again. See
# docs/peers.md.
EBM := .venv-interpret
peers: $(VENV)/bench $(PEER)/installed $(EBM)/installed
	$(BIN)/python benchmarks/peers.py

clean:
	rm -rf $(VENV) $(PEER) $(EBM)

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

$(VENV)/bench: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[all]" --group test --group bench
	touch $@

$(VENV)/docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[sql,onnx]" --group docs
	touch $@

PEER_PYTHON ?= $(PYTHON)
$(PEER)/installed: benchmarks/diffprivlib_env/requirements.txt
	$(PEER_PYTHON) -m venv $(PEER)
	$(PEER)/bin/python -m pip install --quiet -r $<
	$(PEER)/bin/python -c "import diffprivlib.models"
	touch $@

$(EBM)/installed: benchmarks/interpret_env/requirements.txt
	$(PEER_PYTHON) -m venv $(EBM)
	$(EBM)/bin/python -m pip install --quiet -r $<
	$(EBM)/bin/python -c "import interpret.privacy"
	touch $@

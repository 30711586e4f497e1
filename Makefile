# Each target sets up what it needs: Python 3.11+, make and a package registry are enough.
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2
PATHWAY ?= .pathway
FAST := not slow and not cluster and not spark and not network and not kafka

.DEFAULT_GOAL := help
.PHONY: help run test test-cluster check lint types fast bench bench-views bench-provenance bench-spark bench-lineage bench-network wheel clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' Makefile

$(STAMP): pyproject.toml scripts/make_venv.sh
	@PYTHON="$(PYTHON)" sh scripts/make_venv.sh "$(VENV)"
	@touch $@

run: $(STAMP) ## set up, then answer a recursive query on the embedded engine
	@$(BIN)/whence run examples/reachability/reachability.dl -F examples/reachability/facts -D -

# Tests on Spark share one session, which uses all cores, so they run in one process.
test: $(STAMP) ## set up, then run all tests and the coverage ratchet
	$(BIN)/python -m pytest -n $(JOBS) -q -m "not slow and not timing and not spark and not cluster" --cov --cov-report= --cov-fail-under=0
	$(BIN)/python -m pytest -q -m "spark and not slow and not cluster" --cov --cov-append --cov-report=term
	$(BIN)/python -m pytest -n $(JOBS) -q -m "(slow or timing) and not spark and not cluster"
	$(BIN)/python -m pytest -q -m "spark and slow and not cluster"

test-cluster: $(STAMP) ## kill executors, drivers and brokers of clusters on this machine, for some minutes
	$(BIN)/python -m pytest -q -m cluster

check: lint types fast ## lint, types and the fast tests

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

fast: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -q -m "$(FAST)"

bench: $(STAMP) ## measure the engine beside DuckDB, and Soufflé where it is installed
	$(BIN)/python -m benchmarks

# Pathway has many requirements of its own, so it lives apart; without it its section is left out.
$(PATHWAY)/.installed:
	$(BIN)/python -m venv $(PATHWAY)
	$(PATHWAY)/bin/python -m pip install -q "pathway>=0.20"
	@touch $@

bench-views: $(STAMP) ## measure how fast views follow changes, beside Pathway where it can be installed
	-@$(MAKE) --no-print-directory $(PATHWAY)/.installed
	$(BIN)/python -m benchmarks views --pathway $(PATHWAY)/bin/python

bench-provenance: $(STAMP) ## measure annotations and explanations, shortest ways beside SciPy
	$(BIN)/python -m benchmarks provenance

bench-spark: $(STAMP) ## measure the engine on Spark beside the embedded one, GraphX and loops by hand
	$(BIN)/python -m benchmarks spark

bench-lineage: $(STAMP) ## measure capture, log, reduction and questions of lineage
	$(BIN)/python -m benchmarks lineage

bench-network: $(STAMP) ## measure how fast nodes of networks run their rules
	$(BIN)/python -m benchmarks network

wheel: $(STAMP) ## build the wheel and the source archive into dist/
	$(BIN)/python -m build

clean: ## remove the environment and everything built
	rm -rf $(VENV) $(PATHWAY) build dist .coverage coverage.xml htmlcov .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

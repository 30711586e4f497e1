# Each target sets up what it needs: Python 3.11+, make and a package registry are enough.
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= 2
FAST := not slow and not spark and not network and not kafka

.DEFAULT_GOAL := help
.PHONY: help run test check lint types fast bench wheel clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' Makefile

$(STAMP): pyproject.toml scripts/make_venv.sh
	@PYTHON="$(PYTHON)" sh scripts/make_venv.sh "$(VENV)"
	@touch $@

run: $(STAMP) ## set up, then answer a recursive query on the embedded engine
	@$(BIN)/whence run examples/reachability/reachability.dl -F examples/reachability/facts -D -

test: $(STAMP) ## set up, then run all tests and the coverage ratchet
	$(BIN)/python -m pytest -n $(JOBS) -q -m "not slow and not timing" --cov --cov-report=term
	$(BIN)/python -m pytest -n $(JOBS) -q -m "slow or timing"

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

wheel: $(STAMP) ## build the wheel and the source archive into dist/
	$(BIN)/python -m build

clean: ## remove the environment and everything built
	rm -rf $(VENV) build dist .coverage coverage.xml htmlcov .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

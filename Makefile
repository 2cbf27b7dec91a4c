# Two commands on a fresh machine: `make demo` and `make test`.
# `or` and not `?=`: a variable that is empty counts as unset.
PYTHON := $(or $(PYTHON),python3)
VENV := $(or $(VENV),.venv)
BIN := $(VENV)/bin
export ATTNLAB_RUNS := $(if $(strip $(ATTNLAB_RUNS)),$(ATTNLAB_RUNS),$(CURDIR)/runs)

.DEFAULT_GOAL := help
.PHONY: help install demo test test-slow lint format docs docs-serve bench clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The stamps make a second call cost nothing.
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

install: $(VENV)/.installed  ## Create .venv and install attnlab into it

demo: install  ## Train attention on the book's Fibonacci task
	$(BIN)/attnlab task=fib attention=bahdanau

test: $(VENV)/.installed-test  ## Run the tests
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

test-slow: $(VENV)/.installed-test  ## Run the slow tests
	$(BIN)/python -m pytest -m slow -n auto --maxprocesses 2 --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.installed-dev  ## Check format, style and types
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy

format: $(VENV)/.installed-dev  ## Format the code
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

docs: export NO_MKDOCS_2_WARNING := 1
docs: $(VENV)/.installed-docs  ## Build the site into site/
	$(BIN)/python -m mkdocs build --strict

docs-serve: export NO_MKDOCS_2_WARNING := 1
docs-serve: $(VENV)/.installed-docs  ## Show the site at http://127.0.0.1:8000, built again after each change
	$(BIN)/python -m mkdocs serve

bench: $(VENV)/.installed-test  ## Measure all ratios, half an hour: a page in runs/bench
	$(BIN)/python scripts/bench.py

clean:  ## Remove .venv and caches
	rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .mypy_cache

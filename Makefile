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

# One line per package while pip installs, which takes minutes. pip's errors go to standard error.
define PROGRESS
/^ *(Downloading|Using cached|Processing) .*\.whl/ && !/metadata/ { sub(/^ *[^ ]* (.*\/)?/, ""); print "  " $$0; fflush() }
/^Installing collected/ { print "  installing " NF - 3 " packages, about a minute"; fflush() }
endef
export PROGRESS

# Usage: $(call pip_install,EXTRAS). It makes the stamp, so that a second call costs nothing.
define pip_install
	@rm -f $@ && echo "installing attnlab$(1) into $(VENV)"
	@($(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.$(1)' && touch $@) | awk "$$PROGRESS"
	@test -e $@
endef

$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	$(call pip_install,)

$(VENV)/.installed-test: $(VENV)/.installed
	$(call pip_install,[test])

$(VENV)/.installed-dev: $(VENV)/.installed-test
	$(call pip_install,[dev])

install: $(VENV)/.installed  ## Create .venv and install attnlab into it

RECALL := task=translate data=recall attention=bahdanau schedule=constant trainer.epochs=4
demo: install  ## Two runs: the book's Fibonacci task, then one that needs attention
	$(BIN)/attnlab task=fib attention=bahdanau
	@echo; echo "Now a task that needs attention: read keys with values, then write each key's value."
	$(BIN)/attnlab $(RECALL)
	@echo "open the picture: $$(ls -t "$(ATTNLAB_RUNS)"/translate/bahdanau/*/plots/attention_1.png | head -n 1)"
	@echo "Each row is an output word; to write it, the model looks at the yellow word of the source."
	@echo "An orange frame is the word where it should look."

test: $(VENV)/.installed-test  ## Run the tests
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

test-slow: $(VENV)/.installed-test  ## Run the slow tests
	$(BIN)/python -m pytest -m slow -n auto --maxprocesses 2 --dist loadfile --no-loadscope-reorder

PAGES := README.md CONTRIBUTING.md CHANGELOG.md docs
PROSE := $(PAGES) attnlab conf scripts tests

lint: $(VENV)/.installed-dev  ## Check format, style, types, spelling and plain English
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy
	$(BIN)/codespell $(PAGES) && $(BIN)/python scripts/words.py $(PROSE)

format: $(VENV)/.installed-dev  ## Format the code
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

$(VENV)/.installed-docs: $(VENV)/.installed
	$(call pip_install,[docs])

docs: export NO_MKDOCS_2_WARNING := 1
docs: $(VENV)/.installed-docs  ## Build the site into site/
	$(BIN)/python -m mkdocs build --strict

docs-serve: export NO_MKDOCS_2_WARNING := 1
docs-serve: $(VENV)/.installed-docs  ## Show the site at http://127.0.0.1:8000, built again after each change
	$(BIN)/python -m mkdocs serve

bench: $(VENV)/.installed-test  ## Measure all ratios, 20 minutes: a page in runs/bench
	$(BIN)/python scripts/bench.py

clean:  ## Remove .venv and caches
	rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .mypy_cache

# Everything a newcomer needs; each target installs what it needs first, with the versions of
# constraints.txt. `make demo LOCK=` takes the newest ones that pyproject.toml allows instead.
PYTHON ?= python3
VENV ?= .venv
LOCK ?= constraints.txt
CAMPAIGN ?= --minutes 30
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
RUN := $(VENV)/.installed-to-run
DEVELOP := $(VENV)/.installed-to-develop
SITE := $(VENV)/.installed-for-the-site

.PHONY: help setup demo test slow check format docs site notebooks bench campaign lock clean

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "PuzzleFlow needs Python 3.11 or newer: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(RUN): pyproject.toml $(LOCK) | $(BIN)/python
	$(PIP) install --progress-bar off $(LOCK:%=-c %) -e .
	$(BIN)/python -m puzzleflow.search
	touch $@

$(DEVELOP): pyproject.toml $(LOCK) | $(BIN)/python
	$(PIP) install --progress-bar off $(LOCK:%=-c %) -e '.[dev]'
	$(BIN)/python -m puzzleflow.search
	touch $(RUN) $@

$(SITE): pyproject.toml $(LOCK) | $(BIN)/python
	$(PIP) install --progress-bar off $(LOCK:%=-c %) -e '.[docs]'
	touch $@

setup: $(DEVELOP) ## create .venv with everything that developers need

demo: $(RUN) ## cut a bundled picture into a puzzle, solve it, write the pictures to demo/
	$(BIN)/puzzleflow demo --out demo

test: $(DEVELOP) ## run the tests (some six minutes on two free cores)
	$(BIN)/python -m pytest -n 2

slow: $(DEVELOP) ## run the long tests too
	$(BIN)/python -m pytest -n 2 -m "not network"

check: $(DEVELOP) ## lint, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEVELOP) ## rewrite the code in the house style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(DEVELOP) ## rewrite the file tree, the packages and the commands in the docs from the code
	$(BIN)/python docs/generate.py

site: $(SITE) ## build the pages in build/site; a dead link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

notebooks: $(DEVELOP) ## run the notebooks and keep what they show
	$(PIP) install --progress-bar off $(LOCK:%=-c %) -e '.[notebooks]'
	$(BIN)/python docs/notebooks/run.py

bench: $(DEVELOP) ## measure speed and memory
	$(BIN)/python -m benchmarks

campaign: $(DEVELOP) ## damage, kill, crowd and fill up everything (CAMPAIGN="--minutes 5"; docs/reliability.md)
	$(BIN)/python -m campaign $(CAMPAIGN)

lock: $(DEVELOP) ## write the installed versions to constraints.txt; run the tests before and after
	$(PIP) freeze --exclude-editable | sed -E '/ @ |^-/d; s/\+[a-z0-9.]+$$//' > constraints.txt

clean: ## remove what the other targets made
	rm -rf $(VENV) demo build dist

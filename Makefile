# Every target sets up .venv by itself; the stamp file makes the second time cost nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One thread for each test worker: two torch processes of two threads on two cores are many times slower than one.
# What is compiled is kept, also where an image forbids it: else each process that a test starts compiles all anew.
TEST_ENV := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE PYTHONDONTWRITEBYTECODE=
# One worker more than there are cores: many tests wait for processes, servers and a browser.
WORKERS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )))

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-long test-gpu test-wheel lint format bench wheel clean

help: ## show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(STAMP) ## make .venv with everything for developing

$(STAMP): pyproject.toml constraints.txt
	@echo "setting up $(VENV) (once; a few minutes)"
	@$(PYTHON) -c 'import sys; sys.exit("heedful needs Python 3.11 or newer; this is " + sys.version.split()[0] + " (make PYTHON=/path/to/python3.11 ...)" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(STAMP) ## train, score and explain a model on generated text (4 minutes on two cores)
	$(BIN)/heedful demo $(DEMO)

test: $(STAMP) ## run the tests (a few minutes)
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not long"

test-long: $(STAMP) ## run the tests that take many minutes too
	$(TEST_ENV) $(BIN)/python -m pytest -m long

test-gpu: $(STAMP) ## run the tests that need a CUDA device
	$(BIN)/python -m pytest -m gpu tests/gpu

test-wheel: $(STAMP) ## build the wheel, install it into an empty environment, run it
	bash tests/system/wheel.sh $(BIN)/python

lint: $(STAMP) ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(STAMP) ## put the style right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## measure what benchmarks/ measures on this machine
	for script in benchmarks/bench_*.py benchmarks/train.py; do $(BIN)/python $$script || exit 1; done

wheel: $(STAMP) ## build dist/*.whl
	$(BIN)/python -m build --wheel --outdir dist .

clean: ## remove what the targets made
	rm -rf $(VENV) dist build .pytest_cache .ruff_cache .hypothesis

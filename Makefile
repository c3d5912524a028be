.POSIX:
.PHONY: help demo test dev fmt lint bench docs clean

VENV := .venv
PY := $(VENV)/bin/python
PYTHON ?= python3
STAMP := $(VENV)/.installed
BUILT := $(VENV)/.built
RUST := Cargo.toml Cargo.lock pyproject.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)

help:
	@echo "make demo    measure two tiers of the embedded reference engine, compare them, write an HTML report"
	@echo "make test    run all tests (Python and Rust)"
	@echo "make dev     build .venv with everything pinned, and the extension"
	@echo "make lint    format check, lint, types, docs"
	@echo "make fmt     format all code"
	@echo "make bench   the benchmarks, each a ratio against a peer or floor of the same run"

$(STAMP): requirements/dev.txt
	$(PYTHON) -c 'import sys; sys.exit("Paceline needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; name another: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	@command -v cargo >/dev/null || { echo "Paceline needs cargo (Rust 1.89+): https://rustup.rs"; exit 1; }
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

$(BUILT): $(STAMP) $(RUST)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

dev: $(BUILT)

demo: dev
	$(PY) -m paceline demo

test: dev
	cargo test --quiet --release --workspace
	$(PY) -m pytest

fmt: $(STAMP)
	cargo fmt --all
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix-only --quiet .

lint: dev
	cargo fmt --all --check
	cargo clippy --quiet --release --workspace --all-targets -- -D warnings
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(PY) -m mypy.stubtest paceline._core

bench: dev
	$(PY) benches/run.py

clean:
	rm -rf target $(VENV) .mypy_cache .ruff_cache .pytest_cache

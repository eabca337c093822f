# flashgc: build, test and show, from a clone with Rust, Python 3.11, gcc and make.
#
#   make build   the command at .venv/bin/flashgc
#   make dev     the same, compiled in seconds after a change, for trying it
#   make test    every test, format check and lint, Rust and Python
#   make demo    which policy writes least, on a real trace and on hot and cold data
#   make help    the rest

PYTHON ?= $(or $(shell command -v python3.11),$(shell command -v python3),python3.11)
VENV := .venv
BIN := $(VENV)/bin
CARGO ?= cargo
# The package that reproduces papers. It imports flashgc.
PAPERS := python-papers
# The module is rebuilt when one of its sources changes. Only one is installed at a time, and the file
# `.built-PROFILE` says which: `release` as in wheels, `local` for users of a clone, `checks` for tests and development.
RUST := Cargo.toml Cargo.lock rust-toolchain.toml pyproject.toml $(PAPERS)/pyproject.toml $(shell find crates -path crates/device/mutants -prune -o -name '*.rs' -print -o -name '*.toml' -print)
# Tests use wrong engines, too; modules for users have none. With the features of the Rust tests, no
# crate is compiled twice.
FEATURES_checks := --features mutants
FEATURES_tests := --features flashgc-python/mutants
# Targets that do not depend on the module's speed use the installed one.
MODULE := $(or $(firstword $(wildcard $(VENV)/.built-*)),$(VENV)/.built-checks)

.DEFAULT_GOAL := help
.PHONY: help build dev test test-rust test-python soak statements formats coverage wrong-findings wrong-drives mutants lint lint-rust lint-python format demo bench docs papers site wheel sdist release-check audit clean tools

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(VENV)/.built-release ## the command at .venv/bin/flashgc, as fast as in a wheel

dev: $(VENV)/.built-checks ## the command without link-time optimisation, soon after a change

tools:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "error: $(PYTHON) is missing; hint: apt-get install python3.11 python3.11-venv, or make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: $(PYTHON) is older than Python 3.11; hint: make PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "error: $(PYTHON) cannot make virtual environments; hint: apt-get install python3.11-venv" >&2; exit 2; }
	@command -v $(CARGO) >/dev/null || { \
	  echo "error: cargo is missing; hint: install Rust from https://rustup.rs" >&2; exit 2; }
	@command -v cc >/dev/null || { \
	  echo "error: a C compiler is missing; hint: apt-get install gcc" >&2; exit 2; }

# `pip` installs `uv`, and `uv` the packages in `uv.lock`: those of users, and those of a group (`build`, `test`, `docs`).
IN_VENV = VIRTUAL_ENV=$(abspath $(VENV)) PATH=$(abspath $(BIN)):$$PATH
UV = UV_PROJECT_ENVIRONMENT=$(abspath $1) $(BIN)/uv sync --quiet --frozen --inexact --no-install-project --group $2

$(BIN)/uv: requirements.txt | tools
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@touch $@

$(VENV)/.installed-%: uv.lock $(BIN)/uv
	@echo "installing Python packages into $(VENV): group $*"
	@$(call UV,$(VENV),$*)
	@touch $@

GROUP_checks := test
GROUP_local := build
GROUP_release := build
.SECONDEXPANSION:
.PRECIOUS: $(VENV)/.installed-%
# On a terminal cargo shows its progress; elsewhere its output is shown only if it fails.
$(VENV)/.built-%: $(VENV)/.installed-$$(GROUP_$$*) $(RUST)
	@echo "compiling the engine and its Python module (minutes the first time)"
	@rm -f $(VENV)/.built-*
	@compile() { $(IN_VENV) $(BIN)/maturin develop --uv --profile $* --locked $(FEATURES_$*); }; \
	if [ -t 2 ]; then compile; else compile >$(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }; fi
	@$(IN_VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable ./$(PAPERS)
	@touch $@

# Parallel jobs: downloads, compiling and linting in one process each, and tests that wait. The output of the
# Rust tests, which are compiled meanwhile, is printed at the end.
test: | tools ## every test, format check and lint, Rust and Python
	@$(MAKE) --no-print-directory --jobs=2 $(VENV)/.installed-test lint-rust
	@$(MAKE) --no-print-directory --jobs=2 lint-python dev
	@$(MAKE) --no-print-directory --jobs=2 --keep-going test-python $(VENV)/test-rust.log; code=$$?; \
	cat $(VENV)/test-rust.log; exit $$code

# This is a target of make, because a background job of the shell would ignore Ctrl-C.
.PHONY: $(VENV)/test-rust.log
$(VENV)/test-rust.log:
	@$(MAKE) --no-print-directory test-rust >$@ 2>&1

lint: lint-rust lint-python ## format checks and lints

lint-rust: | tools
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets $(FEATURES_tests) --profile checks --quiet -- -D warnings

lint-python: $(VENV)/.installed-test
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy

# Cargo does not use make's job server, and would warn about it for each program.
test-rust: ## the Rust tests
	env -u MAKEFLAGS -u MFLAGS $(CARGO) test --locked --workspace $(FEATURES_tests) --profile checks --quiet --no-fail-fast

test-python: dev ## the Python tests, doctests, and the commands of the documentation
	$(PYTEST)

# One process per core and one more, because tests wait for programs. Tests of one `xdist_group` run in
# one process, one after the other.
PYTEST = $(BIN)/pytest --numprocesses=$(shell expr $$(getconf _NPROCESSORS_ONLN) + 1) --dist=loadgroup

# Property tests draw the same cases in every `make test`; in `make soak` each round draws other cases.
SOAK ?= 20
PROPERTIES = $(addsuffix ::,$(basename $(notdir $(shell grep -rls 'proptest!' crates/*/src crates/*/tests))))

soak: dev ## the property tests, SOAK=20 rounds with fresh seeds, and the long tests
	@for round in $$(seq $(SOAK)); do \
	  seed=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); \
	  echo "round $$round of $(SOAK): PROPTEST_RNG_SEED=$$seed"; \
	  PROPTEST_RNG_SEED=$$seed $(CARGO) test --locked --workspace $(FEATURES_tests) --profile checks --quiet \
	    --lib --tests -- $(PROPERTIES) >$(VENV)/soak.log 2>&1 || { \
	    cat $(VENV)/soak.log >&2; \
	    echo "error: again with: PROPTEST_RNG_SEED=$$seed make test-rust" >&2; exit 1; }; \
	done
	$(CARGO) test --locked --workspace $(FEATURES_tests) --profile checks --quiet -- --ignored
	$(MAKE) --no-print-directory wrong-drives
	$(PYTEST) --hypothesis-profile=soak -m 'hypothesis or soak'

COUNT ?= 10000
SEED ?= 1
statements: dev ## random inputs that try to make what is printed false, COUNT=10000 of them
	$(BIN)/python -m scripts.statements.campaign $(COUNT) $(SEED)

TRACES ?= 20
formats: dev ## traces of every format, TRACES=20 of each, with a changed layout: none may be read as something else
	$(BIN)/python -m scripts.formats.campaign --traces $(TRACES)
	@$(CARGO) test --locked -p flashgc-workload --profile checks --quiet --test suite \
	  -- trace_layouts:: --nocapture --test-threads=1 | grep --extended-regexp 'right|FAILED|wrong'

JOBS ?= 2
SEEDS ?= 40
coverage: dev ## how often the intervals of steady results hold the truth: every policy, SEEDS=40 of each (hours; it goes on where it was)
	$(BIN)/python -m scripts.coverage.intervals small --seeds $(SEEDS) --jobs $(JOBS)
	$(BIN)/python -m scripts.coverage.intervals large --seeds $$(($(SEEDS) / 2)) --jobs $(JOBS)
	$(BIN)/python -m scripts.coverage.differences
	$(BIN)/python -m scripts.coverage.hints
	$(BIN)/python -m scripts.coverage.steadiness

wrong-findings: dev ## which test notices that a finding is wrong, of each rule or those with PART in their id (TESTS=files)
	$(BIN)/python -m scripts.statements.wrong "$(PART)" $(TESTS)

SECONDS ?= 10
DRIVES ?=
wrong-drives: | tools ## which of the stored drives that are wrong on purpose the crash campaign finds (DRIVES=names, SECONDS=10)
	$(PYTHON) scripts/wrong_drives.py hunt --seconds $(SECONDS) $(DRIVES)

# Faults are planted in place, because a copy would compile the workspace again. Commit first: after an
# interrupted run, git can undo its change.
CRATE ?=
FILE ?=
CHANGE ?=
MUTANTS_VERSION := 27.1.0
mutants: ## faults in CRATE=flashgc-ftl [FILE=...] [CHANGE=main] that its tests miss
	@$(CARGO) mutants --version >/dev/null 2>&1 || { \
	  echo "error: cargo-mutants is missing; hint: cargo install cargo-mutants --version $(MUTANTS_VERSION) --locked" >&2; exit 2; }
	@test -n "$(CRATE)" || { \
	  echo "error: no crate is named; hint: make mutants CRATE=flashgc-ftl" >&2; exit 2; }
	@mkdir -p target
	$(if $(CHANGE),git diff --relative $(CHANGE) -- crates >target/change.diff)
	CARGO_INCREMENTAL=0 $(CARGO) mutants --in-place --output target --package $(CRATE) \
	  $(if $(FILE),--file '$(FILE)') $(if $(CHANGE),--in-diff target/change.diff)

format: $(VENV)/.installed-test ## format all code
	$(CARGO) fmt --all
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --fix --quiet .

docs: $(MODULE) ## write the reference, the outputs and the figures in the documents again
	$(BIN)/python scripts/docs/keywords.py
	$(BIN)/python scripts/docs/parts.py
	$(BIN)/python scripts/docs/tutorial.py
	$(BIN)/python scripts/docs/reference.py docs/reference
	$(BIN)/python scripts/docs/documents.py
	$(BIN)/python scripts/docs/notebooks.py
	$(BIN)/python scripts/docs/tables.py
	$(BIN)/python docs/figures/compare.py
	PYTHONPATH=scripts/docs $(BIN)/python docs/figures/placement.py
	PYTHONPATH=scripts/docs $(BIN)/python docs/figures/gaps.py
	PYTHONPATH=scripts/docs $(BIN)/python docs/figures/sprandom.py
	PYTHONPATH=scripts/docs $(BIN)/python docs/figures/realtime.py
	PYTHONPATH=scripts/docs $(BIN)/python docs/figures/plots.py
	PYTHONPATH=scripts/docs $(BIN)/python docs/figures/doors.py

papers: $(MODULE) ## run all papers at their quick size, and write their statements into the reference
	$(BIN)/flashgc reproduce --quick --readings all --out target/papers
	cp target/papers/statements.md docs/reference/statements.md

# The site's tools are in a separate environment, because nothing else needs them.
SITE := target/site
$(VENV)-site/.installed: uv.lock $(BIN)/uv
	@test -x $(VENV)-site/bin/python || $(PYTHON) -m venv --without-pip $(VENV)-site
	@$(call UV,$(VENV)-site,docs)
	@touch $@

site: $(VENV)-site/.installed ## the documents as a site in target/site/html; every link is checked
	$(VENV)-site/bin/python scripts/docs/site_source.py $(SITE)/source
	NO_MKDOCS_2_WARNING=1 $(VENV)-site/bin/mkdocs build --strict --quiet
	@echo "to read and search it: $(PYTHON) -m http.server --directory $(SITE)/html"

# WHEEL="--zig --compatibility manylinux_2_17" makes one for older systems (pip install ziglang).
WHEEL ?=
wheel: $(VENV)/.installed-build ## the wheel for this system and that of the papers, in dist
	$(BIN)/maturin build --release --locked --out dist $(WHEEL)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	  --wheel-dir dist ./$(PAPERS)

sdist: $(VENV)/.installed-build ## the source packages, in dist
	$(BIN)/maturin sdist --out dist
	cd $(PAPERS) && ../$(BIN)/python -c 'from flit_core.buildapi import build_sdist; build_sdist("../dist")'

release-check: ## wheel and source package, each installed in a clean environment and used
	rm -rf dist
	$(MAKE) wheel sdist
	$(BIN)/python scripts/release/check.py dist

# AUDIT=--strict fails where something cannot be checked.
AUDIT ?=
audit: $(VENV)/.installed-test ## licences, sources and advisories of the dependencies
	@$(BIN)/python scripts/audit.py $(AUDIT)

# The demo needs a fast module, but either of those for users is fast enough.
DEMO := $(or $(firstword $(wildcard $(VENV)/.built-release $(VENV)/.built-local)),$(VENV)/.built-local)
demo: $(DEMO) ## which policy writes least, on a real trace and on hot and cold data
	@echo "A PostgreSQL server's drive (data/README.md): which policy writes least?"
	@echo
	@$(BIN)/flashgc compare --workload data/pgbench-ext4.csv.zst --frontier pool --spare 7% \
	  --pages-per-block 64 --passes 18
	@echo
	@echo "Hot and cold data, 20% of the pages take 80% of the writes: one write frontier or two?"
	@echo
	@$(BIN)/flashgc compare --workload hotcold:f=0.2,r=0.8 --victim greedy --victim fifo \
	  --victim d-choices:d=10 --victim d-choices:d=9,c=1 --frontier single --frontier double \
	  --blocks 2000 --pages-per-block 64 --runs 4

bench: build ## all speeds into docs/performance.md, then those of servers and stored drives
	$(BIN)/python scripts/bench/page.py
	$(CARGO) bench --locked -p flashgc-front -p flashgc-device -p flashgc-hints

clean: ## remove what was built
	rm -rf $(VENV) $(VENV)-site dist target python/flashgc/_core*.so

# `make demo` and `make test` need Python 3.10 to 3.13, a C compiler, make, and a package index that pip can reach.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= auto
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check
# what is imported is compiled then; all of it now would take half a minute
INSTALL := $(PIP) install --no-compile

SOURCES := setup.py pyproject.toml $(shell find covington -name "*.pyx" -o -name "*.pxd" -o -name "*.h")

.PHONY: demo test test-slow lint format fuzz benchmark sdist wheel check-wheel lock audit clean help test-flink test-spark test-prism faults soak

help:
	@echo "make demo       install, parse the sample corpus, show what was found"
	@echo "make test       install and run the tests"
	@echo "make test-slow  the tests that build, kill and start processes over and over"
	@echo "make test-flink the same jobs on Apache Flink: embedded, and a cluster of two (Java 17, Maven)"
	@echo "make test-spark the same jobs on Apache Spark, embedded (Java 17, Maven)"
	@echo "make test-prism the same jobs on Prism, Beam's local runner in Go (Go)"
	@echo "make faults     let everything go wrong, and write docs/faults.md"
	@echo "make soak       parse for MINUTES (30) with a fault every minute"
	@echo "make lint       the order of the rooms, ruff and mypy"
	@echo "make fuzz       damaged files against a build with sanitizers (gcc, Linux)"
	@echo "make benchmark  measure speed, memory and growth, beside UDPipe and spaCy"
	@echo "make sdist      the source distribution that Beam workers install"
	@echo "make wheel      the wheel of this platform; make check-wheel tries it in an empty environment"
	@echo "make lock       pin what development uses to the newest that pyproject.toml allows (needs uv)"
	@echo "make audit      known vulnerabilities of what is pinned"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/python $(SOURCES)
	$(INSTALL) --editable .
	@touch $@

$(VENV)/installed-dev: $(BIN)/python $(SOURCES) requirements-dev.lock
	$(INSTALL) --require-hashes --requirement requirements-dev.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/installed

demo: $(VENV)/installed
	$(BIN)/python -m covington demo demo-output

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -q -n $(JOBS) -m "not slow and not engines"

test-slow: $(VENV)/installed-dev
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "slow and not engines"

# FULL=1 adds every job in every place, and the faults of a cluster
test-flink: $(VENV)/installed-dev
	$(BIN)/python -m tests.engines.fetch flink wheel
	$(BIN)/python -m pytest -q -m "engines$(if $(FULL),, and not slow)" tests/engines/test_flink.py tests/faults

test-spark: $(VENV)/installed-dev
	$(BIN)/python -m tests.engines.fetch spark wheel
	$(BIN)/python -m pytest -q -m engines tests/engines/test_spark.py

test-prism: $(VENV)/installed-dev
	$(BIN)/python -m tests.engines.fetch prism wheel
	$(BIN)/python -m pytest -q -m engines tests/engines/test_prism.py

faults: $(VENV)/installed-dev
	$(BIN)/python -m tests.faults

soak: $(VENV)/installed-dev
	$(BIN)/python -m tests.faults.soak --minutes $(or $(MINUTES),30) --write

# the folders beside covington/ are installed below it; mypy is shown them where they will be
lint: $(VENV)/installed-dev
	$(BIN)/python .ci/rooms.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf build/types
	mkdir -p build/types/covington
	ln -s $(CURDIR)/covington/* $(CURDIR)/pipelines $(CURDIR)/schemas $(CURDIR)/models build/types/covington/
	ln -s $(CURDIR)/benchmarks build/types/
	cd build/types && $(abspath $(BIN)/mypy) --config-file $(CURDIR)/pyproject.toml

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

EXECUTIONS ?= 10000
fuzz: $(VENV)/installed-dev
	tests/fuzz/run_sanitized.sh $(EXECUTIONS) 1 $(abspath $(BIN)/python)

# the peers are in a group of their own: a benchmark without them says that they are absent
benchmark: $(VENV)/installed-dev
	$(INSTALL) --editable '.[benchmark]'
	$(BIN)/python -m benchmarks

sdist: $(VENV)/installed-dev
	$(BIN)/python setup.py -q sdist

# the compiled modules are those that the tests have used; to compile them twice takes minutes
wheel: $(VENV)/installed-dev
	target=$$($(BIN)/python -c "import sys, sysconfig as s; print(f'build/lib.{s.get_platform()}-{sys.implementation.cache_tag}')"); \
	    ending=$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"); \
	    rm -rf $$target && for source in $$(find covington -name '*.pyx'); do \
	    mkdir -p $$target/$$(dirname $$source) && cp -p $${source%.pyx}$$ending $$target/$$(dirname $$source)/; done
	$(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist .

check-wheel: wheel
	rm -rf build/wheel-venv
	$(PYTHON) -m venv build/wheel-venv
	build/wheel-venv/bin/python -m pip --quiet --disable-pip-version-check install \
	    $$(ls -t dist/covington-*.whl | head -n 1)
	cd / && $(CURDIR)/build/wheel-venv/bin/python $(CURDIR)/.ci/smoke.py

lock:
	uv pip compile --quiet --upgrade --universal --python-version 3.10 --generate-hashes --extra dev \
	    --custom-compile-command "make lock" --output-file requirements-dev.lock pyproject.toml

# in an environment of its own: what it needs is nobody else's business
audit:
	$(PYTHON) -m venv build/audit-venv
	build/audit-venv/bin/python -m pip --quiet --disable-pip-version-check install 'pip-audit>=2.9,<3'
	build/audit-venv/bin/python .ci/audit.py || { [ $$? = 3 ] && echo "audit: nobody could be asked" >> build/not-tested; }

clean:
	rm -rf $(VENV) build dist demo-output *.egg-info
	find covington -name '*.pyx' | sed 's/\.pyx$$//' | while read module; do rm -f $$module.c $$module.*.so; done

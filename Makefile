# `make demo` and `make test` need Python 3.10 or newer, a C compiler and make; nothing else.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= auto

SOURCES := setup.py pyproject.toml $(wildcard covington/*.pyx covington/*.pxd)

.PHONY: demo test test-slow lint format fuzz benchmark sdist clean help

help:
	@echo "make demo       install, parse the sample corpus, show what was found"
	@echo "make test       install and run the tests"
	@echo "make test-slow  the tests that build, kill and start processes over and over"
	@echo "make lint       ruff and mypy"
	@echo "make fuzz       damaged files against a build with sanitizers (gcc, Linux)"
	@echo "make benchmark  measure speed, memory and growth, beside UDPipe and spaCy"
	@echo "make sdist      the source distribution that Beam workers install"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/installed-dev: $(BIN)/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/installed

demo: $(VENV)/installed
	$(BIN)/python -m covington.models.demo demo-output

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -q -n $(JOBS) -m "not slow"

test-slow: $(VENV)/installed-dev
	$(BIN)/python -m pytest -q -m slow

# the folders beside covington/ are installed below it; mypy is shown them where they will be
lint: $(VENV)/installed-dev
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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[benchmark]'
	$(BIN)/python -m benchmarks

sdist: $(VENV)/installed-dev
	$(BIN)/python setup.py -q sdist

clean:
	rm -rf $(VENV) build dist demo-output *.egg-info covington/*.so covington/*.c

# make chat   sets everything up and starts the chat
# make serve  sets everything up and serves other programs over HTTP
# make test   sets everything up and runs the tests
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help chat test check torture mutate bench bench-recall bench-answers bench-scale bench-serve bench-growth bench-start docs clean

help:
	@echo 'make chat           set up and start the chat'
	@echo 'make serve          set up and serve other programs: ARGS, see python main.py --help'
	@echo 'make test           set up and run the tests'
	@echo 'make check          ruff and mypy'
	@echo 'make torture        try to break every promise (long)'
	@echo 'make mutate         break the program on purpose, chosen lines and random ones: a test must notice'
	@echo 'make schemathesis   ask the server everything its description allows, and what it does not'
	@echo 'make clients        try the clients that people use against the server: needs npm and a network'
	@echo 'make bench-recall   measure recall: DATA=folder of conversations with questions'
	@echo 'make bench-answers  measure answers from memory: ARGS, see python -m bench.answers --help'
	@echo 'make bench-scale    measure speed and size'
	@echo 'make bench-imports  measure bringing along what other programs kept'
	@echo 'make bench-serve    measure many people at once over HTTP'
	@echo 'make bench-growth   measure how the memory of the process grows with what is written'
	@echo 'make bench-start    measure the time to the first prompt'
	@echo 'make docs           write what is generated from the program: docs/commands.md, docs/settings.md, tables of the READMEs'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'Old Friend needs Python 3.11 or newer; set it with: make chat PYTHON=python3.12' >&2; exit 2; }
	@$(PYTHON) -m venv .venv || { echo 'Python cannot make a virtual environment; on Debian: apt install python3-venv' >&2; exit 2; }

.venv/.ready: requirements.txt | $(BIN)/python
	@echo 'Installing what the chat needs; this happens once ...' >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/.ready-serve: requirements-serve.txt .venv/.ready
	@echo 'Installing what serving needs; this happens once ...' >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-serve.txt
	@touch $@

.venv/.ready-dev: requirements-dev.txt requirements-serve.txt .venv/.ready
	@echo 'Installing what the tests need; this happens once ...' >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

chat: .venv/.ready
	@$(BIN)/python main.py $(ARGS)

.PHONY: serve
serve: .venv/.ready-serve
	@$(BIN)/python main.py --serve $(ARGS)

test: .venv/.ready-dev
	@$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

check: .venv/.ready-dev
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/python -m mypy --strict

torture: .venv/.ready-dev
	@FIRST_STARTS=80 TOGETHER_KILLS=24 PEOPLE=40 SERVERS_KILLED=2 SECONDS_BETWEEN=8 \
	  $(BIN)/python -m tests.torture $(ARGS)

mutate: .venv/.ready-dev
	@$(BIN)/python -m tests.mutate $(ARGS)

.PHONY: schemathesis
schemathesis: .venv/.ready-dev
	@$(BIN)/python -m tests.interfaces.http.conforming $(ARGS)

.PHONY: clients
clients: .venv/.ready-dev
	@$(BIN)/python -m tests.clients $(ARGS)

bench: bench-start bench-scale

bench-recall: .venv/.ready-dev
	@$(BIN)/python -m bench.recall --data "$(DATA)" $(ARGS)

bench-answers: .venv/.ready-dev
	@$(BIN)/python -m bench.answers $(ARGS)

bench-scale: .venv/.ready-dev
	@$(BIN)/python -m bench.scale $(ARGS)

.PHONY: bench-imports
bench-imports: .venv/.ready-dev
	@$(BIN)/python -m bench.imports $(ARGS)

bench-serve: .venv/.ready-dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-serve.txt
	@$(BIN)/python -m bench.serve $(ARGS)

bench-growth: .venv/.ready-dev
	@$(BIN)/python -m bench.growth $(ARGS)

bench-start: .venv/.ready-dev
	@$(BIN)/python -m bench.start $(ARGS)

docs: .venv/.ready-dev
	@$(BIN)/python -m docs.generate

clean:
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

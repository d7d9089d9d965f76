# Every target sets up what it needs. `make help` explains them.
PYTHON ?= python3
STAGE ?= local

# The rooms of the tests: every folder below tests/ that holds tests, `payments` as well as `payments/links/multicalls`.
TESTED := $(sort $(patsubst tests/%/,%,$(dir $(wildcard $(foreach depth,* */* */*/* */*/*/*,tests/$(depth)/test_*.py)))))
ROOMS := $(sort $(TESTED) $(foreach folder,$(TESTED),$(firstword $(subst /, ,$(folder)))) $(filter-out .,$(patsubst %/,%,$(dir $(TESTED)))))

# What is wanted, and the file that pins it.
PINS := requirements.txt=infra/packaging/requirements.lock $(foreach each,tests/requirements infra/local/requirements infra/local/node,$(each).txt=$(each).lock)

# What takes long and is no part of `make test` (tests/conftest.py leaves these files out).
REHEARSALS := tests/deploy tests/docs/test_use.py tests/platform/http/test_generated.py tests/pages/test_scenes.py $(foreach each,compiling generated_clients setup stack,tests/local/test_$(each).py) \
  tests/mutants/test_runs.py tests/payments/recording/test_load.py tests/webhooks/test_simulation.py

.PHONY: help setup demo local test test-alone rehearsal lint lint-infra docs fuzz mutants chaos bench page-hash screens lock audit package sbom deploy record finish verify rollback restore destroy clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s%s\n", $$1, $$2}' Makefile

setup: ## install what is missing: .venv, the local cloud, the local chain (the others do so by themselves)
	@$(PYTHON) infra/local/setup.py

demo: setup ## pay on the local stack, then keep it running (KIND=single|batch|request|conversion|crosschain|commerce|payout|payout-batch|multicall|safe|tron, ONCE=1, PORT, FRESH=1)
	@.venv/bin/python -m infra.local.demo

local: setup ## run the local stack until Ctrl-C (PORT=8000, FRESH=1 starts empty); .local/stack.json describes it
	@.venv/bin/python -m infra.local

# Compiled modules are kept, whatever the environment says: each process of the tests needs all of them.
test: setup ## run the tests; ROOM=payments or ROOM=payments/links: those of one room (under 30 s; pages, onchain, local, deploy and docs take longer)
	@$(if $(filter-out $(ROOMS),$(ROOM:/=)),echo "There is no room '$(ROOM)'. The rooms are: $(ROOMS)." >&2; exit 2)
	@PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest $(if $(ROOM),tests/$(ROOM)) --numprocesses auto --maxprocesses 4 --dist loadgroup --no-loadscope-reorder

test-alone: setup ## run the tests that failed in the last `make test` once more, each alone; name those that pass only so
	@.venv/bin/python -m tests.alone

rehearsal: setup ## deploy stages into a local cloud and use them; run the README's commands, every demonstration, benchmarks, simulations of load (15 minutes)
	@PYTHONDONTWRITEBYTECODE= REHEARSAL=1 .venv/bin/python -m pytest $(REHEARSALS) --numprocesses auto --maxprocesses 3 --dist loadgroup --no-loadscope-reorder

lint: setup ## check style, types and which package may import which
	@.venv/bin/ruff check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports

lint-infra: setup ## check the CloudFormation templates by cfn-lint and checkov (its first run installs them, 470 MB)
	@test -x .local/lint-venv/bin/checkov || { $(PYTHON) -m venv .local/lint-venv && .local/lint-venv/bin/pip install --quiet --requirement infra/lint/requirements.txt; }
	@.venv/bin/python -m infra.lint

mutants: setup ## change the rules in small ways and name the changes that no test of their room notices (ROOM=payments/links, MODULE=fees, SAMPLE=10)
	@ROOM='$(ROOM)' MODULE='$(MODULE)' SAMPLE='$(SAMPLE)' .venv/bin/python -m tests.mutants

chaos: setup ## long runs: kill processes, fork and flood a real chain, 10,000 random outages of nodes, 10,000 histories, two years of payouts (half an hour)
	@CHAOS=1 OUTAGE_SCHEDULES=10000 HISTORIES=10000 RECURRING_WEEKS=108 .venv/bin/python -m pytest tests/chaos tests/outages tests/payments/recording/test_histories.py tests/onchain/test_recurring_two_years.py --numprocesses auto --dist loadgroup

docs: setup ## write from the code: docs/data.md, the tables of docs/webhooks.md, the page's lists, docs/openapi.json and what is made of it, and the answers in its examples
	@.venv/bin/python -m pytest -o python_functions=record tests/platform/http/record_examples.py
	@.venv/bin/python -m infra.documents.api
	@.venv/bin/python -m infra.documents.data
	@.venv/bin/python -m infra.documents.events
	@.venv/bin/python -m infra.documents.page

fuzz: setup ## send 1,000 generated requests to every operation with each kind of credential (EXAMPLES=1000; half an hour)
	@REHEARSAL=1 FUZZ_EXAMPLES=$(or $(EXAMPLES),1000) .venv/bin/python -m pytest tests/platform/http/test_generated.py --numprocesses auto

bench: setup ## measure cold start, calldata, requests, detection; writes .local/bench.json
	@.venv/bin/python -m infra.bench

page-hash: setup ## print the hashes of the payment page and its files; with URL=, compare what is served there
	@.venv/bin/python -m infra.page_hash $(if $(URL),'$(URL)')

screens: setup ## take pictures of the payment page in every state into .local/screens (needs a browser)
	@.venv/bin/python -m infra.local.screens

lock: setup ## pin what requirements*.txt need, with hashes (versions that are pinned already stay; UPGRADE=1 takes the newest)
	@for each in $(PINS); do \
	  .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-emit-package pip \
	    --custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade) $${each%=*} --output-file $${each#*=} || exit; done

audit: setup ## compare all pinned packages with the known vulnerabilities
	@for each in $(PINS); do \
	  .venv/bin/pip-audit --strict --require-hashes --disable-pip --requirement $${each#*=} || exit; done

package: setup ## build what Lambda gets, for STAGE, into build/STAGE
	@.venv/bin/python -m infra.packaging.package --stage $(STAGE) --out build/$(STAGE)

sbom: package ## build it, list every library with its licence, and write every file with its hash to build/STAGE/sbom.json
	@.venv/bin/python -m infra.packaging.sbom build/$(STAGE)

deploy: setup ## put STAGE into AWS, or with STAGE=local into the running local cloud
	@.venv/bin/python -m infra.deploy --stage $(STAGE)

record: setup ## prepare a plain `chalice deploy --stage STAGE` in this checkout: write what STAGE has into .chalice/deployed
	@.venv/bin/python -m infra.record --stage $(STAGE)

finish: setup ## after a plain `chalice deploy`: set the error responses, wait until STAGE is healthy, record the deployment
	@.venv/bin/python -m infra.deploy --stage $(STAGE) --only-finish

rollback: setup ## put back the version that STAGE had before; tables and queues stay
	@.venv/bin/python -m infra.recovery.rollback --stage $(STAGE)

restore: setup ## put all tables of STAGE back to TIME=2026-11-22T10:00:00Z
	@.venv/bin/python -m infra.recovery.restore --stage $(STAGE) --time '$(TIME)'

destroy: setup ## remove STAGE, and keep its tables, keys and secrets; WITH_DATA=1 deletes them too
	@.venv/bin/python -m infra.recovery.destroy --stage $(STAGE) $(if $(WITH_DATA),--with-data)

verify: setup ## compare what runs in STAGE with this checkout: code, packages, settings, policies, stacks, payment page
	@.venv/bin/python -m infra.verify --stage $(STAGE)

clean: ## remove environments, packages, builds and the local state
	rm -rf .venv .local infra/local/node_modules tests/oracles/payments/node_modules build .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

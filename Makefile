# Every target sets up what it needs. `make help` explains them.
PYTHON ?= python3
STAGE ?= local

# The rooms of the tests: every folder below tests/ that holds tests, `payments` as well as `payments/links/multicalls`.
TESTED := $(sort $(patsubst tests/%/,%,$(dir $(wildcard $(foreach depth,* */* */*/* */*/*/*,tests/$(depth)/test_*.py)))))
ROOMS := $(sort $(TESTED) $(foreach folder,$(TESTED),$(firstword $(subst /, ,$(folder)))) $(filter-out .,$(patsubst %/,%,$(dir $(TESTED)))))

# How tests are spread over processes.
SPREAD := --numprocesses auto --maxprocesses 3 --dist loadgroup --no-loadscope-reorder

# What is wanted, and the file that pins it.
PINS := requirements.txt=infra/packaging/requirements.lock $(foreach each,tests/requirements infra/local/requirements infra/local/node tests/load/requirements,$(each).txt=$(each).lock)

# What takes long and is no part of `make test` (tests/conftest.py leaves these files out).
REHEARSALS := tests/chaos/test_stages.py $(foreach each,benchmarks bundle deployed failures hosts lifecycle package upgrade,tests/deploy/test_$(each).py) tests/docs/test_use.py \
  $(foreach each,crosschain crosschain_offers meanwhile never_twice one_confirmation rates reference_page scenes sequences walletconnect,tests/pages/test_$(each).py) \
  $(foreach each,commerce creating developers payouts person scale use vendored views,tests/pages/dashboard/test_$(each).py) \
  $(foreach each,lying_nodes recurring_trouble recurring_two_years,tests/onchain/test_$(each).py) tests/platform/http/test_generated.py \
  $(foreach each,compiling each_python generated_clients load own_clients setup stack tutorial workflows,tests/local/test_$(each).py) tests/mutants/test_runs.py tests/payments/recording/test_load.py $(foreach each,signed_by_stack simulation,tests/webhooks/test_$(each).py)

# What the service serves, and is made of docs/openapi.json and the guides.
SERVED := docs/openapi-3.0.json docs/reference.html docs/guides/llms.txt

.PHONY: help setup environments demo local test test-alone rehearsal pythons lint lint-infra docs fuzz mutants chaos simulate bench load page-hash clients screens descriptors lock audit package sbom deploy record finish verify upgrade rollback restore destroy clean
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s%s\n", $$1, $$2}' Makefile

setup: $(SERVED) ## install what is missing: .venv, the local cloud, the local chain; make what is served of docs/openapi.json (the others do so by themselves)

environments:
	@$(PYTHON) infra/local/setup.py

$(SERVED) &: docs/openapi.json $(wildcard docs/*.md infra/documents/*.*) | environments
	@.venv/bin/python -m infra.documents.derived

demo: setup ## pay on the local stack, then keep it running (KIND=single|batch|request|conversion|crosschain|exchange|commerce|gasless|payout|payout-batch|multicall|name|offramp|recurring|safe|team|test|tron|tron-energy, ONCE=1, PORT, FRESH=1)
	@.venv/bin/python -m infra.local.demo

local: setup ## run the local stack until Ctrl-C (PORT=8000, FRESH=1 starts empty); .local/stack.json describes it
	@.venv/bin/python -m infra.local

# Compiled modules are kept, whatever the environment says: each process of the tests needs all of them.
test: setup ## run the tests; SEED=1: in a random order; CHANGED=1: those of the rooms that differ from main or import what differs; ROOM=payments or ROOM=payments/links: those of one room (under 30 s; pages, onchain, local, deploy, docs, and payments and platform as wholes take longer)
	@$(if $(filter-out $(ROOMS),$(ROOM:/=)),echo "There is no room '$(ROOM)'. The rooms are: $(ROOMS)." >&2; exit 2)
	@PYTHONDONTWRITEBYTECODE= .venv/bin/python -m $(if $(CHANGED),tests.changed,pytest $(if $(ROOM),tests/$(ROOM))) $(SPREAD) $(if $(SEED),-p randomly --randomly-seed=$(SEED))

test-alone: setup ## run the tests that failed in the last `make test` once more, each alone; name those that pass only so
	@.venv/bin/python -m tests.alone

rehearsal: setup ## deploy stages into a local cloud and use them; run the README's commands, every demonstration, benchmarks, simulations of load (half an hour)
	@PYTHONDONTWRITEBYTECODE= REHEARSAL=1 .venv/bin/python -m pytest $(REHEARSALS) $(SPREAD)
	@PYTHONDONTWRITEBYTECODE= REHEARSAL=1 .venv/bin/python -m pytest -m rehearsal $(SPREAD)

pythons: setup ## run the tests on each supported Python of this machine (3.11, 3.12, 3.13; ROOM as above); others are named and left out
	@.venv/bin/python -m tests.pythons $(ROOM)

lint: setup ## check style, types (of the dashboard's scripts too), names in tests and which package may import which
	@.venv/bin/ruff check .
	@.venv/bin/mypy --config-file tests/mypy.ini & tests=$$!; \
	  .venv/bin/mypy && .venv/bin/lint-imports && infra/local/node_modules/.bin/tsc --project chalicelib/pages/dashboard; \
	  others=$$?; wait $$tests && exit $$others

lint-infra: setup ## check the CloudFormation templates by cfn-lint and checkov (its first run installs them, 470 MB)
	@test -x .local/lint-venv/bin/checkov || { $(PYTHON) -m venv .local/lint-venv && .local/lint-venv/bin/pip install --quiet --requirement infra/lint/requirements.txt; }
	@.venv/bin/python -m infra.lint

mutants: setup ## change the rules in small ways and name the changes that no test of their room notices (ROOM=payments/links, MODULE=fees, SAMPLE=10)
	@ROOM='$(ROOM)' MODULE='$(MODULE)' SAMPLE='$(SAMPLE)' .venv/bin/python -m tests.mutants

chaos: setup ## long runs: kill processes, fork and flood a real chain, 10,000 random outages of nodes, 10,000 histories, 5,000 of a stolen credential, a million states of the rules, 300 seeds of the simulation, bugs put back, two years of payouts, 10,000 false answers of a node, 10,000 false signatures, 2,000 forks of addresses for exchanges, 1,000 sequences of the payment page, 50 killed commands of a stage (hours)
	@CHAOS=1 KILLS=$(or $(KILLS),50) OUTAGE_SCHEDULES=10000 HISTORIES=10000 SEEDS=300 RECURRING_WEEKS=108 HOSTILE_ANSWERS=10000 HOSTILE_SIGNATURES=10000 FORK_HISTORIES=100 SEQUENCES=1000 .venv/bin/python -m pytest tests/chaos tests/outages tests/models tests/simulation tests/payments/recording/test_histories.py tests/payments/recording/test_commerce_histories.py tests/payments/links/cancelling/test_histories.py tests/payments/transfers/accepting/test_histories.py tests/accounts/changes/test_histories.py tests/onchain/test_recurring_two_years.py tests/onchain/test_hostile_node.py tests/onchain/test_gasless_hostile.py tests/onchain/test_plain_transfer_forks.py tests/platform/storage/test_codec.py tests/platform/storage/test_memory_dynamodb.py tests/pages/test_sequences.py --numprocesses auto --dist loadgroup

simulate: setup ## run the whole service by one seed, on fakes that fail and people who cheat; shrink what breaks an invariant (SEED=1, PAYMENTS=10000, SEEDS=1)
	@.venv/bin/python -m tests.simulation --seed '$(or $(SEED),1)' --payments '$(or $(PAYMENTS),10000)' --seeds '$(or $(SEEDS),1)'

docs: setup ## write from the code: docs/data.md, the tables of docs/webhooks.md, the page's lists, docs/openapi.json and what is made of it, and the answers in its examples
	@ANSWERS=$(CURDIR)/.local/answers.json .venv/bin/python -m pytest -o python_functions=record tests/platform/http/record_examples.py
	@.venv/bin/python -m infra.documents.api --answers .local/answers.json
	@.venv/bin/python -m infra.documents.data
	@.venv/bin/python -m infra.documents.events
	@.venv/bin/python -m infra.documents.page

clients: setup ## make the packages for clients in Python and TypeScript, ready to publish, in .local/clients
	@.venv/bin/python -m infra.clients

fuzz: setup ## send 1,000 generated requests to every operation with each kind of credential (EXAMPLES=1000; half an hour)
	@REHEARSAL=1 FUZZ_EXAMPLES=$(or $(EXAMPLES),1000) .venv/bin/python -m pytest tests/platform/http/test_generated.py --numprocesses auto

bench: ## measure cold start, calldata, requests, detection against goals and docs/benchmarks.json (PART=cold: a part; RECORD=1 writes that file); writes .local/bench.json
	@$(MAKE) --no-print-directory setup || test -x .venv/bin/python
	@.venv/bin/python -m tests.bench --part '$(PART)' $(if $(RECORD),--record)

load: setup ## put load on the stack that `make local` runs (SECONDS=60, USERS=6; its first run installs Locust), and compare each operation with a bare route
	@test -x .local/load-venv/bin/locust || { $(PYTHON) -m venv .local/load-venv && .local/load-venv/bin/pip install --quiet --require-hashes --requirement tests/load/requirements.lock; }
	@.venv/bin/python -m tests.load --seconds $(or $(SECONDS),60) --users $(or $(USERS),6)

page-hash: setup ## print the hashes of the payment page and its files; with URL=, compare what is served there
	@.venv/bin/python -m infra.page_hash $(if $(URL),'$(URL)')

screens: setup ## take pictures of the payment page in every state, and of every view of the dashboard, into .local/screens (needs a browser)
	@.venv/bin/python -m infra.local.screens

descriptors: setup ## write the ERC-7730 descriptors, by which wallets show what is signed, and lint them where there is a Python 3.12
	@.venv/bin/python -m infra.clear_signing

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

upgrade: setup ## deploy STAGE with the Python that .chalice/config.json names, and put the version before back unless it is healthy then
	@.venv/bin/python -m infra.recovery.upgrade --stage $(STAGE)

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

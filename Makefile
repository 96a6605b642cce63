# SPDX-License-Identifier: Apache-2.0
# The front door. CMake builds (CMakePresets.json), scripts/ does the rest.
PREFIX ?= /usr/local
DURATION ?= 10

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-slow churn twins kernels kernels-arm64 test-runtimes build fuzz coverage peers bench bench-start bench-overhead bench-gateway bench-codec bench-processors bench-web image image-arm64 test-image-arm64 packages test-packages format lint install clean

help: ## show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

# LOAD=none: without the small programs beside it
run: ## build, profile this machine for DURATION (10) seconds, show the hottest functions
	@scripts/setup.sh run
	@$(MAKE) --no-print-directory build
	@scripts/run.sh build/release/profcol $(DURATION) $(LOAD)

test: ## does the program work? with packages of Debian's alone (a quarter of an hour)
	@scripts/setup.sh test
	@scripts/test.sh

test-all: ## the same and the rest: clang, the sanitized program, peers, long tests, a kernel (40 minutes)
	@scripts/setup.sh test-all
	@scripts/test.sh all

test-slow: build ## the tests that take minutes: a peer that is away for one, and for ten
	@scripts/setup.sh test
	@scripts/peers.sh gateway reference tools >/dev/null
	@/usr/bin/python3 -m pytest -p no:cacheprovider tests -m slow --profcol build/release/profcol

churn: build ## an hour of programs that come and go: every sample counted, nothing grows
	@CHURN_SECONDS=$(or $(SECONDS),3600) /usr/bin/python3 -m pytest -p no:cacheprovider -s \
		tests/e2e/churn_test.py --profcol build/release/profcol

twins: build ## 10,500 programs that run where another one just ran: none has the other one's names
	@TWIN_ROUNDS=$(or $(ROUNDS),1500) /usr/bin/python3 -m pytest -p no:cacheprovider -rP \
		tests/e2e/twins_test.py --profcol build/release/profcol

kernels: ## Debian's kernels 5.10, 6.1 and 6.12, emulated: every program loads, stacks are whole
	@scripts/setup.sh kernels
	@$(MAKE) --no-print-directory build
	@/usr/bin/python3 -m pytest -p no:cacheprovider tests/kernels -m kernels -rP \
		--profcol build/release/profcol

kernels-arm64: ## the program for arm64 on Debian's kernel 6.1 for it, emulated: the same checks
	@scripts/setup.sh kernels-arm64
	@sysroot=$$(/usr/bin/python3 tests/kernels/arm64/sysroot.py) && \
		cmake --preset arm64 -DPROFCOL_SYSROOT="$$sysroot" >/dev/null
	@cmake --build --preset arm64
	@/usr/bin/python3 -m pytest -p no:cacheprovider tests/kernels/arm64 -m kernels_arm64 -rP \
		--profcol build/arm64/profcol

# RUNTIMES="python go-1.16": makes these alone; tests of what is not there are skipped
test-runtimes: ## stacks of many versions of language runtimes, by hand; its cache takes 6 GB (minutes)
	@scripts/setup.sh runtimes
	@$(MAKE) --no-print-directory build
	@scripts/runtimes.sh $(RUNTIMES) >/dev/null
	@/usr/bin/python3 -m pytest -p no:cacheprovider tests/runtimes tests/e2e -m runtimes -rs \
		--profcol build/release/profcol

build: ## the program: build/release/profcol
	@scripts/setup.sh build
	@cmake --preset release -DPROFCOL_TESTS=OFF >/dev/null
	@cmake --build --preset release

coverage: ## which lines and branches make test runs through (half an hour); ONLY=unit
	@scripts/setup.sh coverage
	@scripts/coverage.sh $(ONLY)

# TARGET=otlp_decode_fuzz  RUNS=10000000
fuzz: ## every fuzz target RUNS (10,000,000) times; what it finds stays in build/fuzz/found
	@scripts/setup.sh test
	@scripts/fuzz.sh "$(TARGET)" "$(or $(RUNS),10000000)"

peers: ## what profcol is tested with and measured against, into a cache; prints where it lies
	@scripts/setup.sh test
	@scripts/peers.sh

# LOAD=mixed,storm,large,idle,deep,cold  RUNS=3  SECONDS=20 (storm: 70)  RATE=99  OUT=DIRECTORY
# PROFILERS=profcol,reference,perf  RESUME=DIRECTORY
bench: ## beside the reference profiler and perf record; LOAD=storm RUNS=1 SECONDS=10 for a quick look
	@scripts/setup.sh bench
	@$(MAKE) --no-print-directory build
	@cmake --build --preset release --target due_counter
	@scripts/peers.sh reference memlock_launcher sink inspect >/dev/null
	@/usr/bin/python3 tests/bench/bench.py $(if $(LOAD),--load $(LOAD)) \
		$(if $(RUNS),--runs $(RUNS)) $(if $(SECONDS),--seconds $(SECONDS)) \
		$(if $(RATE),--rate $(RATE)) $(if $(PROFILERS),--profilers $(PROFILERS)) \
		$(if $(OUT),--out $(OUT)) $(if $(RESUME),--resume $(RESUME))

# RUNS=3  SECONDS=20  RATE=99  PROFILERS=profcol,reference  OUT=DIRECTORY
bench-start: ## starting beside 200 busy processes: when it has a stack of each; RUNS=1 for a quick look
	@scripts/setup.sh bench
	@$(MAKE) --no-print-directory build
	@cmake --build --preset release --target due_counter
	@scripts/peers.sh reference memlock_launcher sink inspect >/dev/null
	@/usr/bin/python3 tests/bench/start.py $(if $(RUNS),--runs $(RUNS)) \
		$(if $(SECONDS),--seconds $(SECONDS)) $(if $(RATE),--rate $(RATE)) \
		$(if $(PROFILERS),--profilers $(PROFILERS)) $(if $(OUT),--out $(OUT))

# OVERHEAD=cpu=0.5%,memory=64MiB  LOAD=mixed  RATE=99  SECONDS=120
bench-overhead: ## a limit on the cost: is it kept, are the totals right; OVERHEAD=cpu=2% RATE=999
	@scripts/setup.sh bench
	@$(MAKE) --no-print-directory build
	@/usr/bin/python3 tests/bench/overhead.py $(if $(OVERHEAD),--overhead $(OVERHEAD)) \
		$(if $(LOAD),--load $(LOAD)) $(if $(RATE),--rate $(RATE)) \
		$(if $(SECONDS),--seconds $(SECONDS))

# RUNS=3  SECONDS=10  PAYLOAD=FILE  OUT=DIRECTORY
bench-gateway: ## OTLP in, OTLP out, beside the Collector; RUNS=1 SECONDS=3 for a quick look
	@scripts/setup.sh bench
	@$(MAKE) --no-print-directory build
	@scripts/peers.sh gateway sink send >/dev/null
	@/usr/bin/python3 tests/bench/gateway.py $(if $(RUNS),--runs $(RUNS)) \
		$(if $(SECONDS),--seconds $(SECONDS)) $(if $(PAYLOAD),--payload $(PAYLOAD)) \
		$(if $(OUT),--out $(OUT))

# FILES=FILE...  SECONDS=2
bench-codec: ## decoding and encoding OTLP, beside the Collector's pdata; FILES=captures
	@$(MAKE) --no-print-directory build
	@cmake --build --preset release --target otlp_codec
	@$(if $(FILES),,scripts/peers.sh sink >/dev/null)
	@/usr/bin/python3 tests/bench/codec.py $(if $(SECONDS),--seconds $(SECONDS)) $(FILES)

# FILES=FILE...  SECONDS=2
bench-processors: ## k8s_attributes, resource and filter, beside the Collector's; FILES=captures
	@scripts/setup.sh bench
	@$(MAKE) --no-print-directory build
	@cmake --build --preset release --target processor_time
	@scripts/peers.sh kube_apiserver sink >/dev/null
	@/usr/bin/python3 tests/bench/processors.py $(if $(SECONDS),--seconds $(SECONDS)) $(FILES)

# FILE=REQUESTS  HOURS=24  MEMORY=32
bench-web: ## profiles in the browser: a day in the store, a page of 100,000 frames
	@scripts/setup.sh bench
	@$(MAKE) --no-print-directory build
	@cmake --build --preset release --target web_day
	@$(if $(FILE),,scripts/peers.sh sink >/dev/null)
	@/usr/bin/python3 tests/bench/web.py $(if $(HOURS),--hours $(HOURS)) \
		$(if $(MEMORY),--memory $(MEMORY)) $(FILE)

format: ## clang-format our own C in place
	@git ls-files --cached --others --exclude-standard '*.c' '*.h' | \
		xargs clang-format-19 -i

lint: ## formatting, clang-tidy, types of the page, shellcheck
	@scripts/setup.sh test
	@scripts/lint.sh

image: build ## the file tree of the container image: build/image
	@scripts/setup.sh image
	@scripts/image.sh build/release/profcol build/image

image-arm64: ## the same for arm64, cross-compiled: build/image-arm64
	@scripts/setup.sh image-arm64
	@sysroot=$$(/usr/bin/python3 tests/kernels/arm64/sysroot.py) && \
		cmake --preset arm64 -DPROFCOL_SYSROOT="$$sysroot" >/dev/null && \
		cmake --build --preset arm64 && \
		scripts/image.sh build/arm64/profcol build/image-arm64 "$$sysroot"

test-image-arm64: image-arm64 ## its commands, under an emulated processor
	@scripts/setup.sh test-image-arm64
	@/usr/bin/python3 -m pytest -p no:cacheprovider tests/deploy -m image_arm64 -rP \
		--profcol build/arm64/profcol

packages: build ## .deb and .rpm: build/packages
	@scripts/setup.sh packages
	@cd build/release && cpack -B ../packages

test-packages: packages ## install, start, upgrade and remove .deb and .rpm in a container (minutes)
	@scripts/setup.sh test
	@/usr/bin/python3 -m pytest -p no:cacheprovider tests/deploy -m packages -rP

install: build ## program, headers for plugins, documentation into DESTDIR/PREFIX (/usr/local)
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

clean: ## remove build/
	rm -rf build

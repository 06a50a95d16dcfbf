# `make demo` and `make test` are the two commands to begin with. Every target installs the system
# packages that it lacks (scripts/packages) and says what is missing where it cannot.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SWIFT_SOURCES := Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources Benchmarks/Simulation Benchmarks/Peers/swift/Package.swift Benchmarks/Peers/swift/Sources/bench-asynchttpclient Examples/Package.swift Examples/Sources \
	Integrations/Package.swift Integrations/Sources Integrations/Tests Integrations/Stubs

.PHONY: help
help: ## Shows the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 26

.PHONY: packages
packages: ## Installs what a build needs
	@scripts/packages build

.PHONY: build
build: packages ## Builds the package (debug)
	swift build $$(scripts/build-options)

.PHONY: demo
demo: packages ## Shows Curlew at work, without the internet
	swift build --product CurlewDemo
	@SWIFT_BACKTRACE=$${SWIFT_BACKTRACE:-enable=no} "$$(swift build --show-bin-path)/CurlewDemo"

.PHONY: test
test: ## Runs every test against the in-process server and real servers
	@scripts/test plain

.PHONY: install
install: ## Installs the command with man page and completions (PREFIX=/usr/local, DESTDIR=, PROGRAM= if it is built)
	@$(if $(PROGRAM),,scripts/packages build)
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/install install $(if $(PROGRAM),"$(PROGRAM)")

.PHONY: uninstall
uninstall: ## Removes what `make install` with the same PREFIX and DESTDIR has installed
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/install uninstall

.PHONY: deb
deb: ## Builds a Debian package of the command in .build/deb
	@scripts/packages build deb
	@scripts/deb

.PHONY: examples
examples: packages ## Compiles and runs the programs of Examples
	swift build --build-tests $$(scripts/build-options)
	@scripts/check-examples

.PHONY: integrations
integrations: packages ## Tests the adapters of Integrations against stand-ins of the packages
	@scripts/integrations

.PHONY: docs
docs: packages ## Builds the documentation into .docs/html; a warning or a missing comment fails it
	@scripts/docs

.PHONY: sanitize-thread
sanitize-thread: ## Runs the tests under the thread sanitizer
	@scripts/test thread

.PHONY: sanitize-address
sanitize-address: ## Runs the tests under the address sanitizer
	@scripts/test address

.PHONY: sanitize-undefined
sanitize-undefined: ## Runs the tests with the C shim under the undefined-behaviour sanitizer
	@scripts/test undefined

.PHONY: sanitize
sanitize: sanitize-thread sanitize-address sanitize-undefined ## Runs the tests under all sanitizers

.PHONY: fuzz
fuzz: packages ## Fuzzes the parsers (FUZZ_SECONDS=120, FUZZ_TARGET=name)
	@scripts/fuzz

.PHONY: soak
soak: ## Sends a million requests of a seeded mix (SOAK_REQUESTS) and shows that nothing grows
	@scripts/soak

.PHONY: fault-modes
fault-modes: packages ## Runs the tests over bad sockets, and the command with failing system calls
	@scripts/fault-modes

.PHONY: matrix
matrix: packages ## Runs the tests over other libcurls: backports, GnuTLS, Debian 13, 8.12, 8.16 (scripts/matrix)
	@scripts/matrix

.PHONY: coverage
coverage: ## Measures which lines the tests run
	@scripts/coverage

.PHONY: count
count: ## Compares instructions and allocations per request with their limits
	@scripts/count

.PHONY: bench
bench: ## Measures Curlew, plain C, URLSession and other languages' clients against the same nginx
	@scripts/bench
	@scripts/bench-bodies
	@scripts/bench-json
	@scripts/bench-growth
	@scripts/bench-cache
	@scripts/bench-websocket
	@scripts/bench-startup

.PHONY: bench-simulation
bench-simulation: packages ## Simulates overload with and without each part of resilience, in virtual time
	@scripts/bench-simulation

.PHONY: servers
servers: ## Starts the real servers and leaves them running (scripts/servers stop)
	@scripts/packages servers
	@scripts/servers start

.PHONY: format
format: ## Formats the Swift sources in place
	swift format format --in-place --recursive --parallel --configuration .swift-format $(wildcard $(SWIFT_SOURCES))

.PHONY: check
check: ## Checks the arrows between targets, counted exceptions, the names in pages, the pages on compatibility and advisories, the C for aarch64 and the formatting
	@scripts/check-arrows
	@scripts/check-exceptions
	@scripts/check-pages
	@scripts/check-compatibility
	@scripts/advisories
	@scripts/check-aarch64
	swift format lint --strict --recursive --parallel --configuration .swift-format $(wildcard $(SWIFT_SOURCES))

.PHONY: api
api: ## Writes the public surface into Docs/API.txt
	@scripts/api-dump

.PHONY: ci
ci: ## Everything that continuous integration runs
	@.ci/run

.PHONY: clean
clean: ## Removes what was built
	rm -rf .build Benchmarks/.build Examples/.build Integrations/.build .docs .servers

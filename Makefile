# Recipes only; what they run is in the packages. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup
CONFIG ?= examples/quickstart.yaml
SIM ?= verilator

.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help setup compare test check sim verilog bench bench-flash-channel bench-firmware
.PHONY: bench-page-buffer bench-bch bench-gather bench-p2p gather-campaign flash-campaign bch-campaign firmware-fuzz randomness
.PHONY: synth formal firmware-costs clean

help:  ## this list
	@grep -E '^[a-z0-9-]+:.*##' Makefile | sed 's/:[^#]*## /\t/' | expand -t 22

setup: $(STAMP)  ## .venv with everything in it; Icarus Verilog where apt may install it

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,costs,synthesis]'
	sh tools/install-icarus.sh
	touch $@

compare: $(STAMP)  ## the main job: both systems on one trace (CONFIG=..., ARGS="--engine icarus")
	$(BIN)/csd-cosim --with-parent compare $(CONFIG) $(ARGS)

test: $(STAMP)  ## all tests, on two cores
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

check: $(STAMP)  ## ruff, mypy and the fast tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m 'not slow and not hdl'

sim: $(STAMP)  ## tests in an HDL simulator (SIM=verilator|icarus WAVES=1 COCOTB_TEST_FILTER=...)
	mkdir -p build
	COCOTB_TEST_FILTER='$(COCOTB_TEST_FILTER)' $(BIN)/python -m pytest -m hdl --sim $(SIM) \
		--basetemp build/sim-$(SIM) $(if $(WAVES),--waves) $(ARGS)

verilog: $(STAMP)  ## Verilog of the RTL units, into build/verilog
	$(BIN)/csd-cosim --with-parent verilog --out build/verilog $(ARGS)

bench: $(STAMP)  ## pages per second through the kernel and the VPI, into build/bench
	mkdir -p build/bench
	$(BIN)/csd-cosim --with-parent bench frame --json build/bench/frame.json $(ARGS)

bench-flash-channel: $(STAMP)  ## saturated reads against the bound of the bus, into build/bench
	mkdir -p build/bench
	$(BIN)/csd-cosim bench flash-channel --json build/bench/flash-channel.json \
		--plot build/bench/flash-channel.png $(ARGS)

bench-bch: $(STAMP)  ## what the ECC decoder costs in simulation, into docs and build
	mkdir -p build/bench
	$(BIN)/csd-cosim --with-parent bench frame --decoder both --json build/bench/decoders.json \
		--docs docs/bch.md
	$(BIN)/python benchmarks/bch.py --docs docs/bch.md $(ARGS)

flash-campaign: $(STAMP)  ## random operations over a flash bus on both simulators, against a model
	$(BIN)/python -m tests.flash_campaign

gather-campaign: $(STAMP)  ## random descriptors for the gather core on both simulators, into docs
	$(BIN)/python -m tests.gather_campaign --page docs/gather.md $(ARGS)

bch-campaign: $(STAMP)  ## the ECC decoder's RTL on Verilator against bchlib, galois and the reference
	$(BIN)/python -m tests.bch_campaign

firmware-fuzz: $(STAMP)  ## random commands, NS_config and PRP lists for the firmware, judged by an oracle (ARGS="--cases 1000")
	$(BIN)/python -m tests.firmware_fuzz $(ARGS)

bench-firmware: $(STAMP)  ## a stream of reads, and core time a list by routine, into docs and build
	mkdir -p build/bench
	$(BIN)/csd-cosim bench firmware --json build/bench/firmware.json --docs docs/firmware.md $(ARGS)

bench-page-buffer: $(STAMP)  ## hit rates of the page buffer's policies by its size, into docs and build
	mkdir -p build/bench
	$(BIN)/csd-cosim bench page-buffer --json build/bench/page-buffer.json --docs docs/firmware.md $(ARGS)

randomness: $(STAMP)  ## chi-square tests of the positions that lists are sampled at, into docs
	$(BIN)/python -m tests.randomness --page docs/gather.md $(ARGS)

bench-gather: $(STAMP)  ## the gather unit against its memory's bound, into docs and build
	mkdir -p build/bench
	$(BIN)/csd-cosim bench gather --json build/bench/gather.json --docs docs/gather.md \
		--plot build/bench/gather.png $(ARGS)

bench-p2p: $(STAMP)  ## reads from SSD to card by size, beside a SmartSSD's, into docs and build
	mkdir -p build/bench
	$(BIN)/csd-cosim bench p2p --json build/bench/p2p.json --docs docs/p2p.md $(ARGS)

synth: $(STAMP)  ## cells and clock of the RTL on an ECP5, cells on an UltraScale+ (UNITS=a,b), into docs and build
	$(BIN)/python -m cosim.synthesis $(if $(UNITS),--units $(UNITS)) --page docs/synthesis.md \
		--json build/synthesis.json $(ARGS)

formal: $(STAMP)  ## model checking of the RTL, on mutants too (PROPERTIES="a b"), into docs and build
	$(BIN)/python -m tests.formal $(PROPERTIES) --page docs/formal.md $(ARGS)

firmware-costs: $(STAMP)  ## compile and count the firmware's routines, write the cost tables (ARGS=--check)
	$(BIN)/python -m firmware_model.costing $(ARGS)

clean:  ## everything here that can be made again (builds are kept in the cache)
	rm -rf $(VENV) build dist runs sim_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

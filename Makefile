# Targets for the common jobs; each installs what it needs first. `make help` lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: all search map platform measure hls csim sim synth timing board run report test test-long test-levels lint prove lint-rtl bench bench-search bench-tables bench-efficiency bench-ii bench-designs bench-bambu bench-array bench-array-area bench-array-parts bench-array-clock bench-pairs bench-array-cpp bench-array-random bench-array-space bench-neighbours bench-points bench-gcos bench-mapping bench-tiers bench-whole bench-methods bench-targets bench-predictors bench-hgnas bench-hgnas-array bench-imports bench-molecules bench-graphs bench-recipe bench-side-by-side characterise characterise-array bench-model docs setup clean help

python := .venv/bin/python
fgnas := .venv/bin/fgnas
DESIGN ?= best

# A variable that is not given adds no option, so the command uses its default.
option = $(if $($(1)),--$(2) '$($(1))')
spelt = $(shell tr A-Z_ a-z- <<<$(1))
options = $(strip $(foreach name,$(1),$(call option,$(name),$(call spelt,$(name)))))
# The value of a variable that has no default.
needed = '$(or $($(1)),$(error $(1) is needed: $(2)))'
# An option without a value is given by anything but these.
chosen = $(filter-out 0 no false,$($(1)))
flags = $(strip $(foreach name,$(1),$(if $(call chosen,$(name)),--$(call spelt,$(name)))))
kernels = $(foreach kernel,$(KERNELS),--kernel '$(kernel)')
target_options := FPGA CLOCK_MHZ
search_options := SYSTEM SPACE TARGET OBJECTIVES DATASET SPLIT GRAPHS METHOD CONTROLLER WEIGHT SCORING UPDATES PATHS MULTIPLIERS BITS BEAT_BITS RESULTS LATENCY_MS LUT FF DSP BRAM36 GUARD_BAND FAMILY \
	PLATFORM METRIC GRANULARITY TAIL SCORE_EPOCHS SUPERNET FOLDS PRODUCTS PREDICTOR MEMORY_MB OWN_EPOCHS ENERGY_MJ POWER_W $(target_options) CHILDREN TRAININGS FINALISTS LEADERS RETRAIN_SEEDS EPOCHS RETRAIN_EPOCHS CHECKPOINT SEED WORKERS DEVICE EXECUTOR SCHEDULER TRACK RUN
search_flags := NORMALISE PAIRED RESUME DISTINCT
map_options := GRANULARITY SETTING LATENCY_MS ENERGY_MJ POWER_W TRANSITIONS METHOD EVALUATIONS SEED MULTIPLIERS BEAT_BITS BITS CLOCK_MHZ START_US INTERRUPT_US OUT

# Without this check a misspelt variable would be ignored silently.
known := $(sort $(search_options) $(search_flags) $(map_options)) BOARD MEMORY_KB SDRAM SIM PORT BAUD SHORTCUTS MODEL OUT THREADS NETWORKS ROUNDS FROM MEMORY RUNS WATTS IDLE_WATTS CPU KERNELS DESIGN RTL SPEED SEEDS ROWS ONLY METHODS COUNT SECONDS PYTHON
given := $(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(name)))
$(foreach name,$(filter-out $(known) SHELL OBJCACHE MAKEFLAGS,$(given)),$(error $(name) is not a variable of this Makefile; \
	known: $(known)))

# Verilator compiles through ccache if it is installed.
ifneq ($(shell command -v ccache),)
export OBJCACHE ?= ccache
endif

# On the embedded digits a search of these sizes is as good as one of the default's, in a fraction of the time.
sizes := CHILDREN=120 LEADERS=6 RETRAIN_SEEDS=3 EPOCHS=100 RETRAIN_EPOCHS=400
named = $(firstword $(subst =, ,$(1)))
small = $(if $(DATASET)$(SYSTEM)$(call chosen,RESUME),,$(foreach size,$(sizes),$(if $($(call named,$(size))),,$(size))))

all: ## the main job: search, generate the best design, check its C++ and its RTL, write their pages; the search is small unless DATASET is given
	@$(MAKE) --no-print-directory search $(small)
	@$(MAKE) --no-print-directory hls
	@set -o pipefail; $(MAKE) --no-print-directory -j2 csim sim 2>&1 | cat  # two moving lines would fight over a row
	@$(fgnas) report 'hls/$(DESIGN)'

search: ## search: DATASET FPGA LATENCY_MS LUT FF DSP CHILDREN SEED RUN and every other option of `fgnas search`; RESUME=1 continues a run
	@scripts/setup.sh
	$(fgnas) search $(call options,$(search_options)) $(call flags,$(search_flags))

map: ## the exact front of mappings: PLATFORM MODEL, GRANULARITY SETTING LATENCY_MS ENERGY_MJ POWER_W TRANSITIONS METHOD; SHORTCUTS=1; with a device's folder: MULTIPLIERS BEAT_BITS BITS CLOCK_MHZ START_US INTERRUPT_US OUT
	@scripts/setup.sh
	$(fgnas) map $(call needed,PLATFORM,make map PLATFORM=xavier MODEL=b0) $(call needed,MODEL,make map PLATFORM=xavier MODEL=b0) $(call options,$(map_options)) $(call flags,SHORTCUTS)

platform: ## time the steps of a vision GNN on this processor: OUT (default: platform.toml) KERNELS DATASET RUNS WATTS IDLE_WATTS; CPU=1
	@scripts/setup.sh
	$(fgnas) platform --out '$(or $(OUT),platform.toml)' $(call flags,CPU) $(kernels) $(call options,DATASET METRIC RUNS WATTS IDLE_WATTS)

measure: ## time random networks here and fit predictors: OUT (default: devices/here) DATASET TAIL THREADS NETWORKS ROUNDS SEED FROM; MEMORY=1 RESUME=1
	@scripts/setup.sh
	$(fgnas) measure --out '$(or $(OUT),devices/here)' $(call options,DATASET TAIL THREADS NETWORKS ROUNDS SEED FROM) $(call flags,MEMORY RESUME)

hls: ## write the project of a design to hls/DESIGN: RUN (default: the latest), DESIGN=best|cheapest|RANK, FPGA CLOCK_MHZ
	@scripts/setup.sh
	$(fgnas) hls '$(or $(RUN),latest)' --design '$(DESIGN)' --out 'hls/$(DESIGN)' $(call options,$(target_options))

csim: ## compile the C++ of hls/DESIGN with g++ and compare every logit with the integer reference
	@scripts/setup.sh compiler
	$(fgnas) csim 'hls/$(DESIGN)'

sim: ## simulate the RTL of hls/DESIGN with Verilator: logits and cycles; RTL=PATH: other RTL with the same interface
	@scripts/setup.sh compiler simulator
	$(fgnas) sim 'hls/$(DESIGN)' $(call options,RTL)

synth: ## count the LUTs, flip-flops, DSPs and block RAMs of hls/DESIGN with Yosys: FPGA FAMILY
	@scripts/setup.sh
	$(fgnas) synth 'hls/$(DESIGN)' $(call options,FPGA FAMILY)

timing: ## place and route hls/DESIGN on an ECP5 and report the clock it reaches: SEEDS SPEED
	@scripts/setup.sh router
	$(fgnas) timing 'hls/$(DESIGN)' $(call options,SEEDS SPEED)

board: ## the bitstream of hls/DESIGN for a board with an ECP5: BOARD MEMORY_KB CLOCK_MHZ SEED; SDRAM=1; SIM=1 simulates the whole system
	@scripts/setup.sh compiler simulator board
	$(fgnas) board 'hls/$(DESIGN)' $(call options,BOARD MEMORY_KB CLOCK_MHZ SEED) $(call flags,SDRAM SIM)

run: ## run the graph of hls/DESIGN on a board: PORT (such as /dev/ttyUSB0) BAUD
	@scripts/setup.sh board
	$(fgnas) run 'hls/$(DESIGN)' --port $(call needed,PORT,make run PORT=/dev/ttyUSB0) $(call options,BAUD)

report: ## write the page of a search and of hls/DESIGN: RUN (default: the latest), DESIGN (default: best)
	@scripts/setup.sh
	$(fgnas) report '$(or $(RUN),latest)'
	@[ ! -d 'hls/$(DESIGN)' ] || $(fgnas) report 'hls/$(DESIGN)'

# One thread for each test process: two processes that both use every core slow each other down.
pytest = OMP_NUM_THREADS=1 $(python) -m pytest -n $(or $(WORKERS),2) --dist worksteal

test: ## lint, types, and every test that is not slow: WORKERS (default: 2)
	@scripts/setup.sh compiler simulator
	@$(MAKE) --no-print-directory lint
	$(pytest) -m 'not slow'

test-long: ## lint, types, and every test
	@scripts/setup.sh compiler simulator clang
	@$(MAKE) --no-print-directory lint
	$(pytest)

test-levels: ## the long four-level run alone, one line for each of its 22 parts; continues where it stopped
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) tests/levels.py

lint: ## ruff and mypy alone
	@scripts/setup.sh
	$(python) -m ruff check .
	$(python) -m mypy

lint-rtl: ## lint the RTL of 30 random designs with Verilator and slang
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/rtl_lint.py

prove: ## prove the rules of the reader, the writer, the control slave, the queue and the row buffer: SECONDS (a limit)
	@scripts/setup.sh
	$(python) -m fgnas.tools.prove $(call option,SECONDS,seconds)

bench: ## measure every figure in docs/results again
	@scripts/setup.sh compiler simulator clang
	@for benchmark in benchmarks/*.py; do echo "$$benchmark"; $(python) "$$benchmark" || exit; done

characterise: ## measure every operator with Yosys again, for the resource model: WORKERS (default: 2)
	@scripts/setup.sh
	$(python) -m fgnas.laboratory pipeline --workers $(or $(WORKERS),2)

characterise-array: ## measure every module of the multiplier array with Yosys again, resumable: WORKERS (default: 2)
	@scripts/setup.sh
	$(python) -m fgnas.laboratory array --workers $(or $(WORKERS),2)

bench-model: ## compare the resource model with synthesis of held-out designs: WORKERS (default: 2)
	@scripts/setup.sh
	$(python) benchmarks/hardware_model.py --workers $(or $(WORKERS),2)

bench-memory: ## block RAM of 200 designs of both families, built and predicted; continues where it stopped
	@scripts/setup.sh
	$(python) benchmarks/block_ram.py

bench-ii: ## the longest recurrence of every loop of the C++, 200 designs, both families; resumable: WORKERS (default: 2)
	@scripts/setup.sh clang
	$(python) benchmarks/initiation_interval.py --workers $(or $(WORKERS),2)

bench-search: ## throughput of the search: pricing, children, trainings, compared with plain PyG
	@scripts/setup.sh
	$(python) benchmarks/search.py --workers $(or $(WORKERS),2)

bench-tables: ## Tables III and IV, hours in all, resumable: ROWS (such as 1,12; default: all) CHILDREN WORKERS
	@scripts/setup.sh
	$(python) benchmarks/tables.py --workers $(or $(WORKERS),2) $(call option,ROWS,rows) $(call option,CHILDREN,children)

bench-methods: ## Tables III and IV by ways to search, at equal trainings, hours in all, resumable: ROWS METHODS (numbers) ONLY WORKERS
	@scripts/setup.sh
	$(python) benchmarks/methods.py --workers $(or $(WORKERS),2) $(call options,ROWS METHODS ONLY)

bench-targets: ## Tables III and IV by hardware: pipeline, array, either; hours in all, resumable: ROWS ONLY (prices or searches) METHODS (array, either, pipeline) SEEDS WORKERS
	@scripts/setup.sh
	$(python) benchmarks/targets.py --workers $(or $(WORKERS),2) $(call options,ROWS ONLY METHODS SEEDS)

bench-predictors: ## measured devices: predictors by number of networks, other devices, memory; hours in all, resumable: ROWS (devices) ONLY SEEDS
	@scripts/setup.sh
	OMP_NUM_THREADS=1 $(python) benchmarks/predictors.py $(call options,ROWS ONLY SEEDS)

bench-hgnas: ## HGNAS on a measured device: canonical forms, baselines, searches, methods, ranks; hours in all, resumable: ONLY SEEDS
	@scripts/setup.sh
	$(python) benchmarks/hgnas.py $(call options,ONLY SEEDS)

bench-hgnas-array: ## HGNAS for the multiplier array: searches, their RTL, beside a thread: SEEDS
	@scripts/setup.sh
	OMP_NUM_THREADS=1 $(python) benchmarks/hgnas_array.py $(call options,SEEDS)

bench-recipe: ## recipes of training on random splits
	@scripts/setup.sh
	$(python) benchmarks/recipe.py --workers $(or $(WORKERS),2)

bench-side-by-side: ## networks trained side by side and one by one: accuracies and time
	@scripts/setup.sh
	$(python) benchmarks/side_by_side.py --workers $(or $(WORKERS),2)

bench-designs: ## 30 random designs on the whole of Cora, C++ and RTL, resumable
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/every_design.py

bench-array: ## the multiplier array on whole graphs: RTL, model, random networks, beside the best pipeline; resumable
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/multiplier_array.py

bench-array-area: ## compare the array's resource model with synthesis of held-out engines, hours in all, resumable: COUNT
	@scripts/setup.sh
	$(python) benchmarks/array_area.py $(call option,COUNT,count)

bench-array-parts: ## LUTs of the array's modules, and engines with nearest points beside the model, an hour, resumable: COUNT
	@scripts/setup.sh
	$(python) benchmarks/array_parts.py $(call option,COUNT,count)

bench-array-clock: ## arrays placed and routed on an ECP5, three seeds each, hours in all, resumable: ROWS SEEDS
	@scripts/setup.sh router
	$(python) benchmarks/array_clock.py $(call options,ROWS SEEDS)

bench-pairs: ## two products in a DSP slice of the array: random arrays in RTL, C++ and Yosys, budgets; half an hour, resumable
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/array_pairs.py

bench-array-cpp: ## the array's C++: random networks on whole graphs, several on each build; resumable
	@scripts/setup.sh compiler
	OMP_NUM_THREADS=1 $(python) benchmarks/array_cpp.py

bench-array-random: ## 40 random arrays, five random networks on each build: RTL, C++ and cycles, resumable: COUNT (of arrays)
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/array_random.py $(call option,COUNT,count)

bench-array-space: ## random designs of the search space on the array, whole graphs: C++, every fifth in RTL; hours, resumable: COUNT SEED WORKERS
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/array_space.py --workers $(or $(WORKERS),2) $(call options,COUNT SEED)

bench-imports: ## 24 models of PyG on Cora and on molecules of ESOL, C++ and RTL; trained models; hours, resumable: GRAPHS
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/imports.py $(call option,GRAPHS,graphs)
	OMP_NUM_THREADS=1 $(python) benchmarks/imports_trained.py

bench-molecules: ## networks searched for molecules and the array, beside random search, and their RTL; hours, resumable: SEEDS
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/molecule_search.py $(call option,SEEDS,seeds)

bench-graphs: ## designs searched for molecules by fgnas and g-cos, beside random search and PyG; hours, resumable: SEEDS
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/molecule_designs.py $(call option,SEEDS,seeds)

bench-points: ## a found network and DGCNN for 1,024 points, whole on the array; RTL; an hour, resumable: ROWS (such as "found-like") SEED
	@scripts/setup.sh simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/points_array.py $(call options,ROWS SEED)

bench-neighbours: ## 40 random arrays, five random networks of points on each build: interpreter, C++, RTL, cycles; resumable: COUNT (of arrays) SEED
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/array_neighbours.py $(call options,COUNT SEED)

bench-gcos: ## G-CoS: its figures, other ways to search, rank of the supernet, designs delivered; hours in all, resumable: ROWS (such as "figure 1,ranked") ONLY WORKERS
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/gcos.py --workers $(or $(WORKERS),2) $(call options,ROWS ONLY SEEDS)

bench-mapping: ## exact fronts of mappings, and the published figures computed again
	@scripts/setup.sh
	OMP_NUM_THREADS=1 $(python) benchmarks/mapping.py

bench-tiers: ## two tiers on digits: four ways at equal scores, and the supernet; resumable: EPOCHS CHILDREN SEEDS WORKERS
	@scripts/setup.sh
	OMP_NUM_THREADS=1 $(python) benchmarks/two_tiers.py --workers $(or $(WORKERS),2) $(call options,EPOCHS CHILDREN SEEDS)

bench-whole: ## whole vision subnets on the array: integers, reference, RTL, latency beside mapped ones; resumable: COUNT
	@scripts/setup.sh
	OMP_NUM_THREADS=1 $(python) benchmarks/whole_subnets.py $(call options,COUNT)

bench-bambu: ## ten random designs through bambu on the whole of Cora, if it is on PATH, resumable
	@scripts/setup.sh compiler simulator
	OMP_NUM_THREADS=1 $(python) benchmarks/open_compiler.py

bench-efficiency: ## cycles of the best designs and their bound, multiplier use, PyG on this CPU: CHILDREN WORKERS
	@scripts/setup.sh compiler simulator
	$(python) benchmarks/efficiency.py --workers $(or $(WORKERS),2) $(call option,CHILDREN,children)

docs: ## build the documentation site: build/site/index.html
	@scripts/setup.sh
	.venv/bin/zensical build --strict

setup: ## install everything now: .venv, the pinned packages, Verilator
	@scripts/setup.sh compiler simulator

clean: ## remove generated projects and caches; keep runs and .venv
	find hls -mindepth 1 -maxdepth 1 ! -name README.md -exec rm -r {} +
	rm -rf build dist sim_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find fgnas sim tests benchmarks -name __pycache__ -prune -exec rm -r {} + 2>/dev/null || true

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

# Everything starts from Python 3.11, pip and make; each target sets up what it needs.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
THREADS = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: all demo reproduce test acceptance soak check bench bench-100m docs format requirements clean
all: check test

$(READY): requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(READY)

demo: $(READY)          ## crawl a simulated web of 300 feeds on loopback
	$(BIN)/dayfly demo

reproduce: $(READY)     ## every number and figure of the papers, checked
	$(BIN)/dayfly reproduce --out build/reproduce

test: check             ## style, types, layers, unit tests and doctests (minutes)
	$(THREADS) $(BIN)/python -m pytest -q -n auto

acceptance: $(READY)    ## slow acceptance tests, with the figures that they print
	$(THREADS) $(BIN)/python -m pytest -q -n auto -m acceptance -rP --durations=10

soak: $(READY)          ## hours; by hand
	$(BIN)/python -m pytest -q -m soak

check: $(READY)
	$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-cache > $(VENV)/layers.txt || (cat $(VENV)/layers.txt; exit 1)

bench: $(READY)         ## ratios measured in one run, threads pinned
	OMP_PROC_BIND=true OMP_PLACES=cores $(THREADS) $(BIN)/python -m benchmarks

bench-100m: $(READY)    ## the scheduler with a hundred million sources; 24 GiB of memory
	OMP_PROC_BIND=true OMP_PLACES=cores $(THREADS) $(BIN)/python -m benchmarks hundred_million

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(READY)
	$(BIN)/ruff format --quiet . && $(BIN)/ruff check --quiet --fix .

requirements:           ## pin again; records versions and hashes, no address
	uv pip compile pyproject.toml --all-extras --group test --group docs --universal --python-version 3.11 \
	  --generate-hashes --no-header --no-annotate --no-emit-index-url --output-file requirements/dev.txt requirements/build.in

clean:
	rm -rf $(VENV) build site .mypy_cache .ruff_cache .pytest_cache .hypothesis

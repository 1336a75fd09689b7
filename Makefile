# make demo   index real files, ask three questions
# make test   everything that CI runs
# make docs   the documentation site, in build/docs/site
# make test-all   the same, the slow tests, those of the runtimes that are long to install, and
#                 those of a real model, which is pulled (93 MB)
# make test-processors   the kernels of older x86-64 processors, emulated by qemu-user
# make torture   kills, losses of power, damage and full disks, for hours: see RELIABILITY.md
# make fuzz   ten minutes of fuzzing each for the core and for the readers, parsers and server

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CARGO := cargo
STAMPS := $(VENV)/.stamps
MODEL := $(VENV)/share/crx/models/e5@int8/model.json
RUST := Cargo.toml Cargo.lock $(shell find rust -name '*.rs')

FUZZ_SECONDS := 600
FUZZ_OPTIONS = -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=20 -rss_limit_mb=4000
TRIPLE = $(shell rustc -vV | sed -n 's/^host: //p')
# libFuzzer is told which branches an input takes. Overflows are errors, as in a debug build.
COVERAGE := --cfg fuzzing -Cdebug-assertions -Cpasses=sancov-module \
	-Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
	-Cllvm-args=-sanitizer-coverage-pc-table

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
# The environment of a developer must not change what a test sees.
unexport CRX_INDEX CRX_MODELS CRX_HOME CRX_OFFLINE

.PHONY: demo processor test test-all test-processors torture fuzz test-rust test-python lint lint-rust lint-python docs build model clean

demo: build model
	$(BIN)/python benches/demo.py

test: processor lint test-rust test-python

# Figures and failures depend on the processor.
processor:
	@PYTHONPATH=python/crx/_models $(PYTHON) -c \
		'import processor; print("processor:", processor.detect_processor())'

# At once: the type checker takes one core.
lint: build
	$(MAKE) --no-print-directory -j 2 lint-rust lint-python

lint-rust: build
	$(CARGO) fmt --check
	$(CARGO) clippy --release --all-features --all-targets --locked -- -D warnings

lint-python: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest crx._native
	$(BIN)/lint-imports --no-cache --no-logo

test-rust:
	$(CARGO) test --release --locked

# The tests of a file are run by one process.
test-python: build model
	$(BIN)/pytest -n 2 --dist loadfile

# On x86-64 with qemu-user: the kernels that the core and ONNX Runtime take on processors with AVX2
# alone (Haswell) and without AVX (Nehalem). AVX-512 is not emulated.
test-processors: build
	for cpu in Haswell Nehalem; do \
		CARGO_TARGET_$(subst -,_,$(shell echo $(TRIPLE) | tr a-z A-Z))_RUNNER="qemu-x86_64 -cpu $$cpu" \
			$(CARGO) test --release --locked --lib dense::kernels && \
		qemu-x86_64 -cpu $$cpu $(BIN)/python -m pytest tests/models tests/native/test_dense.py \
			tests/backends/test_rerankers.py || exit 1; \
	done

torture: build model
	RELIABILITY_RUNS=full $(BIN)/pytest -m "slow or not slow" tests/reliability

# What they find is in build/fuzz: inputs that reach new code, and `crash-*`, which breaks a promise.
fuzz: build
	mkdir -p build/fuzz/core build/fuzz/python
	cp -n fuzz/corpus/core/* build/fuzz/core
	cp -n fuzz/corpus/python/* build/fuzz/python
	cd fuzz && RUSTFLAGS="$(COVERAGE)" $(CARGO) build --release --locked --target $(TRIPLE)
	cd build/fuzz && ../../fuzz/target/$(TRIPLE)/release/core core $(FUZZ_OPTIONS)
	$(BIN)/pip install 'atheris>=3'
	cd build/fuzz && ../../$(BIN)/python ../../fuzz/readers.py python $(FUZZ_OPTIONS)

# llama.cpp is compiled here, for ten minutes; sentence-transformers brings several GB of torch.
test-all: processor lint test-rust build model
	$(BIN)/pip install 'llama-cpp-python>=0.3.36' gguf 'rapidocr>=3.10' 'sentence-transformers>=3' \
		selenium
	$(BIN)/pip install --no-deps axe-playwright-python
	$(BIN)/pytest -m "slow or not slow"

docs: build
	$(BIN)/python docs/build.py

build: $(STAMPS)/built
model: $(MODEL)

$(STAMPS)/tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet maturin
	mkdir -p $(STAMPS) && touch $@

# An editable install: Python sources are seen as they are, Rust ones after a build.
$(STAMPS)/built: $(STAMPS)/tools $(RUST)
	$(BIN)/maturin develop --release --locked --quiet --extras all,claude,openai,dev
	touch $@

$(MODEL): $(STAMPS)/built
	$(BIN)/crx models pull e5@int8 --into $(VENV)/share/crx/models
	touch $@

clean:
	rm -rf $(VENV) build target fuzz/target python/crx/*.so

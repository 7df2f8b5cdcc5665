# Each target sets up what it needs in .venv first; that is quick when nothing has changed.
#
#   make demo     a tour of the examples, and a network that learns digits from their sums
#   make test     linting, types and tests: everything that must hold
#   make check    linting and types only
#   make bench    exact inference beside other systems, small sizes; bench-full: all sizes
#   make random   a long comparison of random programs with the definitions, by every way
#   make fuzz     200,000 damaged programs through the reading and checking of programs
#   make sanitize the native part built with sanitizers, under the tests of circuits
#   make smoke    a minute of each of the last two
#   make page     the page of the playground, built again from editors/web (needs npm)

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
FUZZ ?= 200000
SANITIZE_RANDOM ?= 600
SANITIZE_TESTS ?= tests/circuits
NATIVE := $(wildcard CMakeLists.txt src/dpasp/native/*.cpp src/dpasp/native/*.hpp src/dpasp/native/*.h)

# the version of Python is checked before anything is written
.venv/pip.stamp: constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dPASP needs Python 3.11 or newer; run make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt scikit-build-core nanobind cmake ninja
	touch $@

.venv/install.stamp: .venv/pip.stamp pyproject.toml constraints.txt src/dpasp/version.py $(NATIVE)
	$(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e .
	touch $@

.venv/test.stamp: .venv/install.stamp
	$(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e '.[test,dev,learn,plot,playground]'
	touch $@

.venv/demo.stamp: .venv/install.stamp
	$(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e '.[learn,demo]'
	touch $@

.PHONY: demo test check bench bench-full random fuzz sanitize smoke page clean

demo: .venv/demo.stamp
	$(BIN)/python examples/tour.py
	$(BIN)/python examples/learn_digits.py digits.png

check: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check
	$(BIN)/python -m pytest -q -n $(WORKERS)

bench: .venv/test.stamp
	$(BIN)/python -m benchmarks.inference --quick

bench-full: .venv/test.stamp
	$(BIN)/python -m benchmarks.inference

random: .venv/test.stamp
	DPASP_RANDOM=100000 DPASP_RANDOM_CIRCUITS=100000 \
	    $(BIN)/python -m pytest -q -n $(WORKERS) tests/oracle tests/circuits/test_random.py

fuzz: .venv/test.stamp
	$(BIN)/python -m tests.language.fuzz $(FUZZ)

# -S: without the hook of the editable install, which would find the other build first
sanitize: .venv/test.stamp
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	    -DCMAKE_BUILD_TYPE=Release -DDPASP_SANITIZE=ON -DPython_EXECUTABLE=$(abspath $(BIN)/python)
	$(BIN)/cmake --build build/sanitize
	mkdir -p build/sanitized/dpasp && cp -r src/dpasp/. build/sanitized/dpasp
	cp build/sanitize/_native*.so build/sanitized/dpasp/native
	DPASP_RANDOM_CIRCUITS=$(SANITIZE_RANDOM) ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 \
	    PYTHONPATH=build/sanitized:$$($(BIN)/python -c 'import sysconfig as s; print(s.get_path("purelib"))') \
	    LD_PRELOAD=$$($(CXX) -print-file-name=libasan.so):$$($(CXX) -print-file-name=libstdc++.so) \
	    $(BIN)/python -S -m pytest -q -p no:cacheprovider $(SANITIZE_TESTS)

smoke:
	$(MAKE) fuzz FUZZ=4000
	$(MAKE) sanitize SANITIZE_RANDOM=60 SANITIZE_TESTS="tests/circuits/test_random.py tests/circuits/test_circuit.py"

page:
	cd editors/web && npm ci --no-audit --no-fund && npm run check && npm run build

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache

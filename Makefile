# Each target sets up what it needs in .venv first; that is quick when nothing has changed.
#
#   make demo     a tour of the examples, and a network that learns digits from their sums
#   make test     linting, types and tests, in minutes: what must hold before a change lands
#   make test-all the same and the slow tests: limits, signals, browsers, notebooks, more programs
#   make check    linting and types only
#   make docs     the documentation as a site, in build/docs; every example is run
#   make bench    exact inference beside other systems, small sizes; bench-full: all sizes
#   make random   a long comparison of random programs with the definitions, by every way
#   make exit-codes  limits and Ctrl-C, 200 times each: only the exit codes 124, 125 and 130
#   make limits   how late every command stops at its limits, in every stage: 0.3 s and 10 % at most
#   make fuzz     200,000 damaged programs through the reading and checking of programs
#   make border   200,000 damaged arrays and files through the border of the native code
#   make files    200,000 damaged files of data, parameters, checkpoints and circuits
#   make guided   fuzzing that is led by coverage: programs, circuits, data, parameters
#   make kills    500 kills while files are written: none is half-written, none is lost
#   make soak     20,000 mixed calls in one process, whose memory must not grow
#   make mutants  200 small faults in a copy of the code: the tests must notice nine of ten
#   make sanitize the native part built with sanitizers, under the tests of circuits
#   make sanitize-border  damaged arrays and files through the border of that
#   make threads  the same with the thread sanitizer, under evaluation and compilation
#   make busy     the tests of limits, signals and processes, 20 times beside six busy loops
#   make cluster  a Ray cluster of two nodes on this machine, one of which is killed
#   make format   formats Python and C++; make tidy: clang-tidy over the C++
#   make smoke    a few minutes of the last two
#   make page     the page of the playground, built again from editors/web (needs npm)

PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
COMMA := ,
FUZZ ?= 200000
SANITIZE_RANDOM ?= 600
SANITIZE_TESTS ?= tests/circuits
MUTANT_TESTS := $(addprefix tests/,semantics inference learning oracle cli test_cases.py \
    program test_shapes.py test_together.py test_docstrings.py \
    cluster/test_processes.py)
NATIVE := $(wildcard CMakeLists.txt src/dpasp/native/*.cpp src/dpasp/native/*.hpp src/dpasp/native/*.h)

# the version of Python is checked before anything is written
.venv/pip.stamp: constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dPASP needs Python 3.11 or newer; run make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt scikit-build-core nanobind cmake ninja
	touch $@

# An editable install keeps a map of the modules: it is made anew when one was added or moved.
MODULES := .venv/modules-$(shell find src/dpasp -name '*.py' | sort | cksum | cut -d' ' -f1).stamp
$(MODULES): .venv/pip.stamp
	rm -f .venv/modules-*.stamp
	touch $@

.venv/install.stamp: .venv/pip.stamp $(MODULES) pyproject.toml constraints.txt src/dpasp/version.py $(NATIVE)
	$(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e .
	touch $@

.venv/test.stamp: .venv/install.stamp
	$(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e '.[test,dev,learn,plot,playground]'
	touch $@

.venv/slow.stamp: .venv/test.stamp
	$(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e '.[test-slow]'
	touch $@

.venv/demo.stamp: .venv/install.stamp
	$(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e '.[learn,demo]'
	touch $@

.venv/docs.stamp: .venv/install.stamp
	$(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e '.[docs,learn,plot]'
	touch $@

.PHONY: demo test slow test-all check docs bench bench-full random exit-codes limits fuzz border files guided kills busy cluster soak mutants sanitize sanitize-border threads smoke page format tidy clean

demo: .venv/demo.stamp
	$(BIN)/python examples/tour.py
	$(BIN)/python examples/learn_digits.py digits.png

check: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

test: check
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow"

# what `make test` leaves out, and the packages that only it needs
slow: .venv/slow.stamp
	$(BIN)/python -m pytest -q -n $(WORKERS) -m slow

test-all: test
	$(MAKE) slow

docs: .venv/docs.stamp
	$(BIN)/python -m sphinx -W --keep-going -b html docs build/docs

bench: .venv/test.stamp
	$(BIN)/python -m benchmarks.inference --quick

bench-full: .venv/test.stamp
	$(BIN)/python -m benchmarks.inference

exit-codes: .venv/test.stamp
	$(BIN)/python tests/stress/exit_codes.py 200

limits: .venv/test.stamp
	$(BIN)/python -m tests.stress.limits 5

random: .venv/test.stamp
	DPASP_RANDOM=100000 DPASP_RANDOM_CIRCUITS=100000 \
	    $(BIN)/python -m pytest -q -n $(WORKERS) tests/oracle tests/circuits/test_random.py

fuzz: .venv/test.stamp
	$(BIN)/python -m tests.language.fuzz $(FUZZ)

border: .venv/test.stamp
	$(BIN)/python -m tests.stress.border $(FUZZ)

files: .venv/test.stamp
	$(BIN)/python -m tests.stress.files $(FUZZ)

kills: .venv/test.stamp
	$(BIN)/python -m tests.stress.kills 500

# atheris leads by coverage: one target after the other, some minutes each
guided: .venv/test.stamp
	$(BIN)/python -m pip install --quiet atheris
	for what in circuits tables parameters reader; do \
	    $(BIN)/python -m tests.stress.guided $$what build/guided/$$what -runs=200000 \
	        -max_total_time=1200 -rss_limit_mb=4096 || exit 1; done

# what touches time must pass however busy the machine is
busy: .venv/slow.stamp
	$(BIN)/python -m tests.stress.busy 20

# Ray is large, and takes half a minute to start: a target of its own
cluster: .venv/test.stamp
	$(BIN)/python -m pip install --quiet --no-build-isolation -c constraints.txt -e '.[cluster]'
	$(BIN)/python -m pytest -q tests/cluster

soak: .venv/test.stamp
	$(BIN)/python -m tests.stress.soak 20000

# first which tests run which lines, then the faults
build/lines.json: .venv/test.stamp $(shell find src tests -name '*.py')
	rm -f build/mutants.jsonl
	$(BIN)/python -m pip install --quiet coverage
	DPASP_RANDOM=300 $(BIN)/python -m pytest -q -p tests.stress.lines $(MUTANT_TESTS)

mutants: build/lines.json
	$(BIN)/python -m tests.stress.mutants 200

# The native part built with sanitizers, beside the Python part; -S: without the hook of the
# editable install, which would find the other build first.
define sanitized
	$(BIN)/cmake -S . -B build/$(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	    -DCMAKE_BUILD_TYPE=Sanitize -DCMAKE_CXX_FLAGS_SANITIZE=-O1 \
	    -DDPASP_SANITIZE=$(2) -DPython_EXECUTABLE=$(abspath $(BIN)/python)
	$(BIN)/cmake --build build/$(1)
	mkdir -p build/$(1)-run/dpasp && cp -r src/dpasp/. build/$(1)-run/dpasp
	cp build/$(1)/_native*.so build/$(1)-run/dpasp/native
	PYTHONPATH=build/$(1)-run:$$($(BIN)/python -c 'import sysconfig as s; print(s.get_path("purelib"))') \
	    LD_PRELOAD=$$($(CXX) -print-file-name=$(3)):$$($(CXX) -print-file-name=libstdc++.so) \
	    $(LAUNCHER) $(BIN)/python -S -m $(4)
endef

sanitize: export DPASP_RANDOM_CIRCUITS = $(SANITIZE_RANDOM)
sanitize: export ASAN_OPTIONS = detect_leaks=0
sanitize: export UBSAN_OPTIONS = halt_on_error=1
sanitize: .venv/test.stamp
	$(call sanitized,sanitize,address$(COMMA)undefined,libasan.so,pytest -q -p no:cacheprovider $(SANITIZE_TESTS))

sanitize-border: export ASAN_OPTIONS = detect_leaks=0:allocator_may_return_null=1
sanitize-border: export UBSAN_OPTIONS = halt_on_error=1
sanitize-border: .venv/test.stamp
	$(call sanitized,sanitize,address$(COMMA)undefined,libasan.so,tests.stress.border $(FUZZ))

threads: export DPASP_RANDOM_CIRCUITS = 100
threads: export TSAN_OPTIONS = halt_on_error=1
# where addresses are random, the sanitizer now and then does not find room for its own
threads: LAUNCHER = setarch -R
threads: .venv/test.stamp
	$(call sanitized,threads,thread,libtsan.so,pytest -q -p no:cacheprovider \
	    tests/circuits/test_native.py tests/circuits/test_threads.py tests/circuits/test_random.py)

smoke:
	$(MAKE) fuzz FUZZ=4000
	$(MAKE) sanitize SANITIZE_RANDOM=60 SANITIZE_TESTS="tests/circuits/test_random.py tests/circuits/test_circuit.py"

page:
	cd editors/web && npm ci --no-audit --no-fund && npm run check && npm run build

# clang-format and clang-tidy, both from PyPI, at the versions of constraints.txt
.venv/clang.stamp: .venv/pip.stamp constraints.txt
	$(BIN)/python -m pip install --quiet -c constraints.txt clang-format clang-tidy
	touch $@

format: .venv/test.stamp .venv/clang.stamp
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/dpasp/native/*.cpp src/dpasp/native/*.hpp

tidy: .venv/test.stamp .venv/clang.stamp
	$(BIN)/clang-format --dry-run -Werror src/dpasp/native/*.cpp src/dpasp/native/*.hpp
	$(BIN)/cmake -S . -B build/tidy -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DPython_EXECUTABLE=$(abspath $(BIN)/python)
	$(BIN)/clang-tidy --quiet -p build/tidy src/dpasp/native/*.cpp

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

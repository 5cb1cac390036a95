# Every target creates what it needs; a stamp per step keeps repeated calls quick.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
NATIVE := $(shell find native -type f 2>/dev/null)

.PHONY: demo test bench lint sanitize native-tests stubs clean install

demo: $(VENV)/installed
	$(BIN)/loglinear demo

test: $(VENV)/installed $(VENV)/kenlm native-tests
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

bench: $(VENV)/bench
	$(BIN)/python -m benchmarks classify

lint: $(VENV)/lint
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

native-tests: $(VENV)/tools
	@$(BIN)/cmake -S . -B build/native -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DLOGLINEAR_PYTHON=OFF \
	  -DLOGLINEAR_NATIVE_TESTS=ON -DCMAKE_CXX_FLAGS_RELEASE=-O1 >/dev/null  # compiles in half the time
	@$(BIN)/cmake --build build/native -- --quiet

# The committed type stubs of the extension.
stubs: $(VENV)/installed
	$(BIN)/python -m nanobind.stubgen -m loglinear._core -o src/loglinear/_core.pyi

install: $(VENV)/installed

$(VENV)/tools:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
	@touch $@

$(VENV)/installed: $(VENV)/tools pyproject.toml CMakeLists.txt $(NATIVE)
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation -e ".[test]"
	@touch $@

# The package that loglinear.kenlm is compared with. It is compiled from source, in a minute or two.
$(VENV)/kenlm: $(VENV)/tools
	@$(BIN)/python -c "import kenlm" 2>/dev/null \
	  || $(BIN)/python -m pip install -q --disable-pip-version-check "kenlm>=0.3" \
	  || echo "kenlm could not be compiled: the tests that compare with it are skipped"
	@touch $@

$(VENV)/bench: $(VENV)/installed
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation -e ".[bench]"
	@touch $@

$(VENV)/lint: $(VENV)/installed
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation -e ".[lint]"
	@touch $@

clean:
	rm -rf build $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

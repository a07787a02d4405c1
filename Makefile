# A thin front for meson: `make`, `make demo`, `make check`.
BUILD ?= build
PREFIX ?= /usr/local

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@tools/setup build
	@meson setup $(BUILD) --prefix=$(PREFIX) >/dev/null

# The answer in a minute: units, ABI, differential smoke.
test: all
	@meson test -C $(BUILD) --no-rebuild --print-errorlogs --suite quick

# Everything CI runs; ends with `N passed, N failed, N skipped`.
check:
	@tools/setup check
	@tools/check

# The main job on real programs, in a minute.
demo:
	@tools/setup demo
	@$(MAKE) --no-print-directory all
	@tools/demo $(BUILD)/anyuring

# liburing's test programs, on the kernel and on anyuring; docs/suite.md.
suite: all
	@tools/suite --build $(BUILD) --update

# Random programs on both (T=diff), or hostile ones (T=ring), for S seconds.
T ?= diff
S ?= 60
fuzz: all
	@case $(T) in \
	diff) mkdir -p $(BUILD)/tests/fuzz/found && \
		$(BUILD)/tests/fuzz/difffuzz --seed $$(date +%s)000 \
			--seconds $(S) --keep $(BUILD)/tests/fuzz/found ;; \
	ring) tests/fuzz/ringfuzz.sh $(BUILD)/tests/fuzz . $(S) ;; \
	*) echo "make fuzz T=diff|ring [S=SECONDS]" >&2; exit 2 ;; \
	esac

# What is served, asked of the engine: docs/compat.md.
compat: all
	@tools/mkcompat --facts $(BUILD)/tests/compat/facts

install: $(BUILD)/build.ninja
	@meson configure $(BUILD) --prefix=$(PREFIX)
	@meson install -C $(BUILD)

clean:
	rm -rf build build-*

.PHONY: all test check demo suite fuzz compat install clean

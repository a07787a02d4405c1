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

install: $(BUILD)/build.ninja
	@meson configure $(BUILD) --prefix=$(PREFIX)
	@meson install -C $(BUILD)

clean:
	rm -rf build build-*

.PHONY: all test check demo install clean

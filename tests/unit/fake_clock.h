/* SPDX-License-Identifier: MIT */
/*
 * Clocks that go only when told. A program that links fake_clock.c gets these
 * in place of src/sys/clock.c, whose object the linker then leaves in the
 * archive: the engine itself knows nothing of it.
 */
#ifndef AU_TESTS_FAKE_CLOCK_H
#define AU_TESTS_FAKE_CLOCK_H

#include <stdint.h>

/* All clocks go on by `ns`. */
void fake_clock_advance(uint64_t ns);

/* CLOCK_REALTIME is set; CLOCK_BOOTTIME was suspended. */
void fake_clock_shift(int clockid, int64_t ns);

#endif

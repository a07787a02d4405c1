/* SPDX-License-Identifier: MIT */
/*
 * Tries something in a forked child, because the answer to a probe may be a
 * dead process (a seccomp filter that kills) or a process that is spoilt
 * (a filter installed, dispatch switched on).
 */
#ifndef AU_CLI_CHILD_H
#define AU_CLI_CHILD_H

#include <limits.h>
#include <stddef.h>

/* The child died before it had an answer. */
#define CLI_CHILD_DIED INT_MIN

/*
 * Runs try() in a child on its own view of `data` (`size` bytes, shared, so
 * what it wrote before dying is kept). Returns what try() returned,
 * CLI_CHILD_DIED, or -errno when no child could be made.
 */
int cli_in_child(int (*try)(void *data), void *data, size_t size);

#endif

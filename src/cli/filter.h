/* SPDX-License-Identifier: MIT */
/*
 * A seccomp filter on io_uring's three system calls, for `anyuring deny` and
 * for probing whether a trap can be had.
 */
#ifndef AU_CLI_FILTER_H
#define AU_CLI_FILTER_H

#include <stdint.h>

/*
 * Answers the three calls with `action` (SECCOMP_RET_ERRNO | EPERM, ...) in
 * this process and all it will execute; there is no way back. Sets
 * no_new_privs only if the kernel asks for it, because then set-user-ID
 * programs lose their powers. Returns 0 or -errno.
 */
int cli_filter_install(uint32_t action);

/* Whether the kernel knows `action`: 0 or -errno. */
int cli_filter_action_avail(uint32_t action);

#endif

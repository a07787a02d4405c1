/* SPDX-License-Identifier: MIT */
/*
 * What the passthrough engine counts. The helper programs find its functions
 * by name at run time, so that they also run without the preload.
 */
#ifndef AU_TEST_PASSTHROUGH_H
#define AU_TEST_PASSTHROUGH_H

enum pass_count {
	PASS_SETUP,
	PASS_ENTER,
	PASS_REGISTER,
	PASS_MMAP,
	PASS_CLOSING,
	PASS_CLOSED,
	PASS_WATCHED,
	PASS_POLLS,
	PASS_FORKS,
	PASS_TRAPS, /* the preload's own: SIGSYS handlers run */
	PASS_NR,
};

__attribute__((visibility("default"))) unsigned long au_test_count(int what);
__attribute__((visibility("default"))) int au_test_hidden(void);

#endif

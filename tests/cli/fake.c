/* SPDX-License-Identifier: MIT */
/*
 * A preload object that does nothing, for the tests of how `anyuring run`
 * finds and names one.
 */
extern int anyuring_fake_preload;

__attribute__((visibility("default"))) int anyuring_fake_preload;

/* SPDX-License-Identifier: MIT */
/*
 * Chooses the processor's part of the preload. An architecture without one
 * gets the symbols only: AU_ARCH_TRAP is 0 and inline calls are not caught.
 */
#ifndef AU_INTERCEPT_ARCH_H
#define AU_INTERCEPT_ARCH_H

#if defined(__x86_64__) && defined(__LP64__)
#include "intercept/arch_x86_64.h"
#else
#include "intercept/arch_none.h"
#endif

#endif

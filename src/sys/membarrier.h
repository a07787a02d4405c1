/* SPDX-License-Identifier: MIT */
/*
 * Fences of unequal weight: where one side runs often and the other seldom, the
 * first needs au_fence_light(), which is nothing at run time, and the second
 * au_membarrier(), which puts every thread of the process through a full fence.
 */
#ifndef AU_SYS_MEMBARRIER_H
#define AU_SYS_MEMBARRIER_H

#include <stdbool.h>

/*
 * Once at the start, while there may be no second thread: to register is cheap
 * then, and takes some 10 ms later.
 */
void au_membarrier_begin(void);

/*
 * May the light fence be relied upon? If not, it is seen to that it can be
 * later, where that is possible. Calls nothing once the answer is known.
 */
bool au_membarrier_ready(void);

/* Only after au_membarrier_ready() said so once. */
void au_membarrier(void);

#endif

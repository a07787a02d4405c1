/* SPDX-License-Identifier: MIT */
/* The few words every file uses. */
#ifndef AU_BASE_UTIL_H
#define AU_BASE_UTIL_H

#include <stddef.h>
#include <stdint.h>

#define au_likely(x)   __builtin_expect(!!(x), 1)
#define au_unlikely(x) __builtin_expect(!!(x), 0)

#define au_container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define AU_ARRAY_SIZE(a)     (sizeof(a) / sizeof((a)[0]))
#define AU_CACHELINE         64
#define au_aligned_cacheline __attribute__((aligned(AU_CACHELINE)))
#define au_must_check        __attribute__((warn_unused_result))
#define au_noinline          __attribute__((noinline))
#define au_hidden            __attribute__((visibility("hidden")))
#define au_cold              __attribute__((cold, noinline))

#define AU_NSEC_PER_SEC      1000000000ULL
#define AU_NSEC_PER_MSEC     1000000ULL
#define AU_NSEC_PER_USEC     1000ULL

static inline void *au_ptr(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static inline uint32_t au_min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint64_t au_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The next power of two; `v` in 1..2^31. */
static inline uint32_t au_roundup_pow2(uint32_t v)
{
	return v <= 1 ? 1 : 1U << (32 - __builtin_clz(v - 1));
}

static inline size_t au_align_up(size_t v, size_t align)
{
	return (v + align - 1) & ~(align - 1);
}

#endif

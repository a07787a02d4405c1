/* SPDX-License-Identifier: MIT */
/*
 * The atomic operations of the whole project, on plain integers and pointers.
 * Nothing else uses atomics. Every acquire names its partner where it stands.
 */
#ifndef AU_BASE_ATOMIC_H
#define AU_BASE_ATOMIC_H

#if defined(__SANITIZE_THREAD__)
#define AU_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define AU_TSAN
#endif
#endif

/* One access, neither torn nor repeated: for memory others may change. */
#define AU_READ_ONCE(x)        (*(const volatile __typeof__(x) *)&(x))
#define AU_WRITE_ONCE(x, v)    (*(volatile __typeof__(x) *)&(x) = (v))

#define au_load_relaxed(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define au_load_acquire(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define au_store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define au_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define au_xchg(p, v)          __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define au_fetch_add(p, v)     __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define au_fetch_sub(p, v)     __atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL)
#define au_fetch_or(p, v)      __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL)
#define au_fetch_and(p, v)     __atomic_fetch_and((p), (v), __ATOMIC_ACQ_REL)

/* True and *p = desired if *p was *expected; else *expected = *p. */
#define au_cmpxchg(p, expected, desired)                           \
	__atomic_compare_exchange_n((p), (expected), (desired), 0, \
				    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/*
 * Orders an earlier store before a later load: the sleeper that announces
 * itself and looks once more, and the waker that publishes and looks for
 * sleepers. Both sides need it.
 */
static inline void au_fence_full(void)
{
#ifdef AU_TSAN
	/* ThreadSanitizer knows no fences; an exchange is one as well. */
	static unsigned int word;

	(void)__atomic_exchange_n(&word, 0, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * One side of a pair whose other side is au_membarrier(): the compiler keeps
 * the order, and the other side makes this CPU keep it.
 */
static inline void au_fence_light(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* A full one right behind one of the read-modify-write operations above. */
static inline void au_fence_after_rmw(void)
{
#if !defined(__x86_64__) && !defined(__i386__)
	au_fence_full();
#endif
}

static inline void au_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The trap where syscall user dispatch is missing: a seccomp filter, built
 * and installed once, in the constructor, with no_new_privs if need be.
 *
 * A filter outlives exec and the handler does not, so it traps only calls
 * that leave from the text found by the scan. Relocated text is elsewhere in
 * the next program. Text at a fixed address is not, and in a static program
 * holds its libc: there only io_uring's own numbers and the mapping of a ring
 * trap, which no program without io_uring makes.
 */
#include "intercept/intercept.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "core/memory.h"

#include "intercept/arch.h"

#if AU_ARCH_TRAP

/* Three walks over the ranges, each up to two pieces of six instructions. */
#define FILTER_MAX 4000

struct filter {
	unsigned short nr;
	struct sock_filter insn[FILTER_MAX];
};

enum filter_which {
	FILTER_FIXED = 1,
	FILTER_MOVED = 2,
};

#define FILTER_OFF(field) ((uint32_t)offsetof(struct seccomp_data, field))

/* The calls that make and use a ring. */
static const uint16_t filter_ring[] = { 425, 426, 427 };

/* Those that touch a ring's descriptor, and those that could block SIGSYS. */
static const uint16_t filter_other[] = {
	SYS_close,         SYS_dup2,
	SYS_dup3,          436 /* close_range */,
	SYS_poll,          SYS_ppoll,
	SYS_select,        SYS_pselect6,
	SYS_epoll_ctl,     SYS_epoll_wait,
	SYS_epoll_pwait,   441,
	SYS_rt_sigaction,  SYS_rt_sigprocmask,
	SYS_rt_sigsuspend,
};

static void put(struct filter *f, uint16_t code, uint32_t k, uint8_t jt,
		uint8_t jf)
{
	if (f->nr < FILTER_MAX)
		f->insn[f->nr++] =
			(struct sock_filter)BPF_JUMP(code, k, jt, jf);
}

static void put_load(struct filter *f, uint32_t off)
{
	put(f, BPF_LD | BPF_W | BPF_ABS, off, 0, 0);
}

static void put_allow(struct filter *f)
{
	put(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

/* Allow unless the accumulator passes the test. */
static void put_need(struct filter *f, uint16_t test, uint32_t k)
{
	put(f, BPF_JMP | test | BPF_K, k, 1, 0);
	put_allow(f);
}

/* Trap when the caller is in [first, last], both below one 4 GiB border. */
static void put_piece(struct filter *f, uint64_t first, uint64_t last)
{
	const uint32_t ip = FILTER_OFF(instruction_pointer);

	put_load(f, ip + 4);
	put(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(first >> 32), 0, 4);
	put_load(f, ip);
	put(f, BPF_JMP | BPF_JGE | BPF_K, (uint32_t)first, 0, 2);
	put(f, BPF_JMP | BPF_JGT | BPF_K, (uint32_t)last, 1, 0);
	put(f, BPF_RET | BPF_K, SECCOMP_RET_TRAP | AU_SECCOMP_COOKIE, 0, 0);
}

static void put_texts(struct filter *f, const struct au_scan *s, int which)
{
	const struct au_text *t;
	uint64_t first, border;

	for (int i = 0; i < s->nr; i++) {
		t = &s->text[i];
		if (!(which & (t->fixed ? FILTER_FIXED : FILTER_MOVED)))
			continue;
		for (first = t->start; first <= t->end; first = border + 1) {
			border = first | 0xffffffffULL;
			put_piece(f, first, border < t->end ? border : t->end);
		}
	}
}

/* The calls of one list, from these texts; any other call goes on below. */
static void put_list(struct filter *f, const uint16_t *list, unsigned int n,
		     const struct au_scan *s, int which)
{
	unsigned short over;

	put_load(f, FILTER_OFF(nr));
	for (unsigned int i = 0; i < n; i++)
		put(f, BPF_JMP | BPF_JEQ | BPF_K, list[i], (uint8_t)(n - i), 0);
	over = f->nr;
	put(f, BPF_JMP | BPF_JA, 0, 0, 0);
	put_texts(f, s, which);
	put_allow(f);
	f->insn[over].k = (uint32_t)(f->nr - over - 1);
}

/* mmap of a descriptor, shared, at an offset that a ring could have. */
static void put_mmap(struct filter *f, const struct au_scan *s)
{
	put_load(f, FILTER_OFF(nr));
	put_need(f, BPF_JEQ, SYS_mmap);
	put_load(f, FILTER_OFF(args[3]));
	put_need(f, BPF_JSET, MAP_SHARED);
	put_load(f, FILTER_OFF(args[5]) + 4);
	put_need(f, BPF_JEQ, 0);
	put_load(f, FILTER_OFF(args[4]));
	put(f, BPF_JMP | BPF_JSET | BPF_K, 0x80000000, 0, 1);
	put_allow(f); /* a negative descriptor */
	put_texts(f, s, FILTER_MOVED);
	/* liburing, and everyone who learnt from it, populates a ring. */
	put_load(f, FILTER_OFF(args[3]));
	put_need(f, BPF_JSET, MAP_POPULATE);
	put_texts(f, s, FILTER_FIXED);
	put_allow(f);
}

static long seccomp_set(struct sock_fprog *prog)
{
	long ret = au_syscall(SYS_seccomp, (long)SECCOMP_SET_MODE_FILTER,
			      (long)SECCOMP_FILTER_FLAG_TSYNC, prog);

	if (ret && ret != -EACCES)
		ret = au_syscall(SYS_seccomp, (long)SECCOMP_SET_MODE_FILTER, 0L,
				 prog);
	return ret;
}

int au_seccomp_install(const struct au_scan *s)
{
	struct filter f;
	struct sock_fprog prog;
	long ret;

	f.nr = 0;
	put_load(&f, FILTER_OFF(arch));
	put_need(&f, BPF_JEQ, AU_ARCH_AUDIT);
	put_list(&f, filter_ring, sizeof(filter_ring) / sizeof(*filter_ring), s,
		 FILTER_FIXED | FILTER_MOVED);
	put_list(&f, filter_other, sizeof(filter_other) / sizeof(*filter_other),
		 s, FILTER_MOVED);
	put_mmap(&f, s);
	if (f.nr >= FILTER_MAX)
		return -E2BIG;
	prog.len = f.nr;
	prog.filter = f.insn;
	ret = seccomp_set(&prog);
	if (ret == -EACCES) {
		ret = au_syscall(SYS_prctl, (long)PR_SET_NO_NEW_PRIVS, 1L, 0L,
				 0L, 0L);
		if (!ret)
			ret = seccomp_set(&prog);
	}
	/* A filter cannot compare addresses: inline munmap is not trapped. */
	if (!ret)
		au_memory_lend_no_more();
	for (int i = 0; !ret && i < s->nr; i++)
		if (s->text[i].fixed)
			au_exec_keep_preload();
	return (int)ret;
}

#endif

/* SPDX-License-Identifier: MIT */
#include "core/spin.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "base/atomic.h"
#include "base/util.h"
#include "sys/clock.h"
#include "sys/poll.h"
#include "sys/syscall.h"

#define SPIN_NS    (50 * AU_NSEC_PER_USEC)
#define SPIN_LOOKS 500 /* more than fit, unless the clock stands still */
#define SPIN_RELAX 8 /* pauses between two looks */
#define SPIN_PROBE 64 /* of waits that do not spin one does */
#define SPIN_TRUST 128 /* misses above this: it does not pay */
#define SPIN_RETRY 96 /* where a probe that hit begins again */

/* May this process spin at all? -1 is not known yet. */
static int spin_allowed = -1;

static au_cold int spin_ask(void)
{
	const char *off = getenv("ANYURING_SPIN");
	cpu_set_t cpus;
	int allowed = 0;

	if ((!off || strcmp(off, "0")) &&
	    au_syscall(SYS_sched_getaffinity, 0, sizeof(cpus), &cpus) > 0)
		allowed = CPU_COUNT(&cpus) > 1;
	au_store_relaxed(&spin_allowed, allowed);
	return allowed;
}

bool au_spin_pays(struct au_spin *s)
{
	int allowed = au_load_relaxed(&spin_allowed);

	if (au_unlikely(allowed < 0))
		allowed = spin_ask();
	if (!allowed)
		return false;
	if (s->misses <= SPIN_TRUST)
		return true;
	if (++s->waits < SPIN_PROBE)
		return false;
	s->waits = 0;
	return true;
}

void au_spin_learn(struct au_spin *s, bool hit)
{
	/* Each weighs an eighth. */
	if (!hit)
		s->misses += (uint8_t)((UINT8_MAX - s->misses + 7) / 8);
	else if (s->misses > SPIN_TRUST)
		s->misses = SPIN_RETRY;
	else
		s->misses -= (uint8_t)((s->misses + 7) / 8);
}

/* Events, if there are any before the time is up. */
static int spin_look(int epfd, struct epoll_event *ev, int max,
		     uint64_t deadline_ns)
{
	uint64_t end = au_min_u64(au_now_ns() + SPIN_NS, deadline_ns);
	int r = 0;

	for (int looks = 0; !r && looks < SPIN_LOOKS; looks++) {
		for (int i = 0; i < SPIN_RELAX; i++)
			au_cpu_relax();
		r = au_epoll_wait_ns(epfd, ev, max, 0, NULL);
		if (au_now_ns() >= end)
			break;
	}
	return r;
}

int au_spin_epoll_wait(int epfd, struct epoll_event *ev, int max,
		       uint64_t deadline_ns, const sigset_t *sigmask, bool *hit)
{
	sigset_t all, before;
	int r;

	/*
	 * A handler that ran while it spins would not end the sleep: so none
	 * runs, until the sleep lets it. Inline calls come by SIGSYS.
	 */
	sigfillset(&all);
	sigdelset(&all, SIGSYS);
	(void)au_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before,
			 _NSIG / 8);
	r = spin_look(epfd, ev, max, deadline_ns);
	*hit = r != 0;
	if (r == 0)
		r = au_epoll_wait_ns(epfd, ev, max, deadline_ns,
				     sigmask ? sigmask : &before);
	(void)au_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL,
			 _NSIG / 8);
	return r;
}

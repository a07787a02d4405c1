/* SPDX-License-Identifier: MIT */
/*
 * Description: a storm of timeouts, armed, moved and removed by two threads
 * beside one that waits. Each ends exactly once, and none before its time.
 */
#include "stress.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_TIMERS 512
#define OWN	  (1ULL << 32) /* user_data of removes and updates */

static struct st_ring ring;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
	bool armed;
	uint32_t user_data; /* this arming's: index and count */
	uint64_t due_ns; /* the earliest it may fire */
	struct au_timespec ts;
} timers[NR_TIMERS];
static uint32_t nr_started;
static unsigned int nr_armed, nr_fired, nr_removed, nr_moved;

static void take(void)
{
	struct io_uring_cqe cqe;

	while (st_cqe(&ring, &cqe)) {
		uint32_t i = (uint32_t)cqe.user_data % NR_TIMERS;

		if (cqe.user_data >= OWN)
			continue;
		if (!timers[i].armed || timers[i].user_data != cqe.user_data)
			st_fail("timer %u ends twice: %d", i, cqe.res);
		timers[i].armed = false;
		nr_armed--;
		if (cqe.res == -ECANCELED) {
			nr_removed++;
			continue;
		}
		if (cqe.res != -ETIME)
			st_fail("timer %u: %d", i, cqe.res);
		nr_fired++;
		if (st_now_ns() < timers[i].due_ns)
			st_fail("timer %u is early by %lld ns", i,
				(long long)(timers[i].due_ns - st_now_ns()));
	}
}

static void step(struct st_rng *r)
{
	uint32_t i = st_below(r, NR_TIMERS);
	uint64_t ns = st_one_in(r, 8) ? 1000000000000ULL :
					st_below(r, 3000000);
	struct io_uring_sqe *sqe;
	uint64_t due_ns;

	if (!timers[i].armed) {
		timers[i].ts = (struct au_timespec){
			.tv_sec = (int64_t)(ns / 1000000000),
			.tv_nsec = (long long)(ns % 1000000000),
		};
		timers[i].due_ns = st_now_ns() + ns;
		timers[i].armed = true;
		nr_armed++;
		timers[i].user_data = nr_started++ * NR_TIMERS + i;
		st_prep(&ring, IORING_OP_TIMEOUT, -1, &timers[i].ts, 1, 0,
			timers[i].user_data);
	} else if (st_one_in(r, 2)) {
		st_prep(&ring, IORING_OP_TIMEOUT_REMOVE, -1,
			(void *)(uintptr_t)timers[i].user_data, 0, 0, OWN);
	} else {
		timers[i].ts = (struct au_timespec){ .tv_nsec = (long long)
							     (ns % 3000000) };
		/* It may also fire at its old time, before it is moved. */
		due_ns = st_now_ns() + ns % 3000000;
		if (due_ns < timers[i].due_ns)
			timers[i].due_ns = due_ns;
		sqe = st_prep(&ring, IORING_OP_TIMEOUT_REMOVE, -1,
			      (void *)(uintptr_t)timers[i].user_data, 0,
			      (uintptr_t)&timers[i].ts, OWN);
		sqe->timeout_flags = IORING_TIMEOUT_UPDATE;
		nr_moved++;
	}
	ST_CHECK(st_enter(&ring, 0, 0) == 1);
	take();
}

static void *armer(void *arg)
{
	struct st_rng r = st_rng((uintptr_t)arg);

	while (st_going()) {
		pthread_mutex_lock(&mutex);
		step(&r);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *waiter(void *arg)
{
	while (st_going()) {
		struct au_timespec ts = { .tv_nsec = 100000000 };
		struct io_uring_getevents_arg a = { .ts = (uintptr_t)&ts };

		(void)anyuring_enter((unsigned int)ring.fd, 0, 1,
				     IORING_ENTER_GETEVENTS |
					     IORING_ENTER_EXT_ARG,
				     &a, sizeof(a));
		pthread_mutex_lock(&mutex);
		take();
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[3];
	struct io_uring_params p = { .flags = IORING_SETUP_CQSIZE,
				     .cq_entries = 4096 };

	st_begin("stress-timers", 60);
	ST_CHECK(st_ring_try(&ring, 64, &p) == 0);
	ST_CHECK(!pthread_create(&t[0], NULL, armer, (void *)1));
	ST_CHECK(!pthread_create(&t[1], NULL, armer, (void *)2));
	ST_CHECK(!pthread_create(&t[2], NULL, waiter, NULL));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (int round = 0; nr_armed; round++) {
		if (round == 1000)
			st_fail("%u timers never end", nr_armed);
		for (uint32_t i = 0; i < NR_TIMERS; i++) {
			if (!timers[i].armed)
				continue;
			st_prep(&ring, IORING_OP_TIMEOUT_REMOVE, -1,
				(void *)(uintptr_t)timers[i].user_data, 0, 0, OWN);
			ST_CHECK(st_enter(&ring, 0, 0) == 1);
			take();
		}
		(void)st_enter(&ring, 1, 1);
		take();
	}
	printf("%u fired, %u removed, %u moved\n", nr_fired, nr_removed,
	       nr_moved);
	st_ring_exit(&ring);
	return 0;
}

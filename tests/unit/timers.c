/* SPDX-License-Identifier: MIT */
/*
 * Description: timeouts under a clock that goes only when told: nothing here
 * waits for real time, and hours pass in no time.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "fake_clock.h"
#include "stress.h"
#include "sys/clock.h"

#define HOUR_NS (3600 * AU_NSEC_PER_SEC)

static struct st_ring ring;

static int ring_up(void **state)
{
	st_ring_init(&ring, 64, 0);
	return 0;
}

static int ring_down(void **state)
{
	st_ring_exit(&ring);
	return 0;
}

static struct au_timespec ts_of(uint64_t ns)
{
	return (struct au_timespec){
		.tv_sec = (int64_t)(ns / AU_NSEC_PER_SEC),
		.tv_nsec = (long long)(ns % AU_NSEC_PER_SEC),
	};
}

static void arm(uint64_t user_data, uint64_t ns, uint32_t flags, uint32_t count)
{
	struct au_timespec ts = ts_of(ns);

	st_prep(&ring, IORING_OP_TIMEOUT, -1, &ts, 1, count, user_data)
		->timeout_flags = flags;
	assert_int_equal(st_enter(&ring, 0, 0), 1);
}

static void run(void)
{
	(void)anyuring_enter((unsigned int)ring.fd, 0, 0,
			     IORING_ENTER_GETEVENTS, NULL, 0);
}

static void advance(uint64_t ns)
{
	fake_clock_advance(ns);
	run();
}

static void expect(uint64_t user_data, int res)
{
	struct io_uring_cqe cqe = { 0 };

	assert_true(st_cqe(&ring, &cqe));
	assert_int_equal(cqe.user_data, user_data);
	assert_int_equal(cqe.res, res);
}

static void expect_nothing(void)
{
	struct io_uring_cqe cqe;

	assert_false(st_cqe(&ring, &cqe));
}

static void test_fires_at_its_time_and_not_before(void **state)
{
	arm(1, HOUR_NS, 0, 0);
	advance(HOUR_NS - 1);
	expect_nothing();
	advance(1);
	expect(1, -ETIME);
	advance(HOUR_NS);
	expect_nothing();
}

static void test_order_is_that_of_deadlines(void **state)
{
	uint64_t rng = 7, last = 0;
	bool seen[32] = { 0 };

	for (uint64_t i = 0; i < 32; i++) {
		uint64_t ms = unit_random(&rng) % 10000;

		arm(i << 32 | ms, ms * AU_NSEC_PER_MSEC, 0, 0);
	}
	advance(HOUR_NS);
	for (int i = 0; i < 32; i++) {
		struct io_uring_cqe cqe;

		assert_true(st_cqe(&ring, &cqe));
		assert_false(seen[cqe.user_data >> 32]);
		seen[cqe.user_data >> 32] = true;
		assert_true((uint32_t)cqe.user_data >= last);
		last = (uint32_t)cqe.user_data;
	}
}

static void test_absolute_times_on_three_clocks(void **state)
{
	arm(1, au_clock_ns(CLOCK_MONOTONIC) + 30, IORING_TIMEOUT_ABS, 0);
	arm(2, au_clock_ns(CLOCK_BOOTTIME) + 20,
	    IORING_TIMEOUT_ABS | IORING_TIMEOUT_BOOTTIME, 0);
	arm(3, au_clock_ns(CLOCK_REALTIME) + 10,
	    IORING_TIMEOUT_ABS | IORING_TIMEOUT_REALTIME, 0);
	advance(9);
	expect_nothing();
	advance(1);
	expect(3, -ETIME);
	advance(10);
	expect(2, -ETIME);
	advance(10);
	expect(1, -ETIME);
}

static void test_a_clock_that_jumps_takes_its_timers_along(void **state)
{
	arm(1, 2 * HOUR_NS, IORING_TIMEOUT_BOOTTIME, 0);
	arm(2, 2 * HOUR_NS, 0, 0);
	arm(3, au_clock_ns(CLOCK_REALTIME) + 2 * HOUR_NS,
	    IORING_TIMEOUT_ABS | IORING_TIMEOUT_REALTIME, 0);
	fake_clock_shift(CLOCK_BOOTTIME, 2 * (int64_t)HOUR_NS); /* suspended */
	run();
	expect(1, -ETIME);
	expect_nothing();
	fake_clock_shift(CLOCK_REALTIME, -(int64_t)HOUR_NS); /* set back */
	advance(2 * HOUR_NS);
	expect(2, -ETIME);
	expect_nothing();
	advance(HOUR_NS);
	expect(3, -ETIME);
}

static void test_multishot_does_not_drift(void **state)
{
	struct io_uring_cqe cqe;

	arm(1, 100, IORING_TIMEOUT_MULTISHOT, 3);
	advance(150); /* late */
	assert_true(st_cqe(&ring, &cqe));
	assert_int_equal(cqe.res, -ETIME);
	assert_true(cqe.flags & IORING_CQE_F_MORE);
	advance(49);
	expect_nothing();
	advance(1); /* at 200, not at 250 */
	assert_true(st_cqe(&ring, &cqe));
	assert_true(cqe.flags & IORING_CQE_F_MORE);
	advance(100);
	assert_true(st_cqe(&ring, &cqe));
	assert_false(cqe.flags & IORING_CQE_F_MORE);
	advance(1000);
	expect_nothing();
}

static void test_count_ends_it_before_its_time(void **state)
{
	arm(1, HOUR_NS, 0, 2);
	for (uint64_t i = 0; i < 2; i++) {
		expect_nothing();
		st_prep(&ring, IORING_OP_NOP, -1, NULL, 0, 0, 10 + i);
		assert_int_equal(st_enter(&ring, 0, 0), 1);
		expect(10 + i, 0);
	}
	expect(1, 0);
	advance(2 * HOUR_NS);
	expect_nothing();
}

static void test_update_moves_and_remove_ends(void **state)
{
	struct au_timespec ts = ts_of(10 * HOUR_NS);

	arm(1, HOUR_NS, 0, 0);
	arm(2, HOUR_NS, 0, 0);
	st_prep(&ring, IORING_OP_TIMEOUT_REMOVE, -1,
		(void *)(uintptr_t)1, 0, (uintptr_t)&ts, 3)
		->timeout_flags = IORING_TIMEOUT_UPDATE;
	st_prep(&ring, IORING_OP_TIMEOUT_REMOVE, -1,
		(void *)(uintptr_t)2, 0, 0, 4);
	st_prep(&ring, IORING_OP_TIMEOUT_REMOVE, -1,
		(void *)(uintptr_t)2, 0, 0, 5);
	assert_int_equal(st_enter(&ring, 0, 0), 3);
	expect(3, 0);
	expect(4, 0);
	expect(5, -ENOENT);
	expect(2, -ECANCELED);
	advance(9 * HOUR_NS);
	expect_nothing();
	advance(HOUR_NS);
	expect(1, -ETIME);
}

static void test_link_timeout_cancels_its_target(void **state)
{
	struct au_timespec ts = ts_of(HOUR_NS);
	int p[2];
	char c;

	assert_int_equal(pipe(p), 0);
	st_prep(&ring, IORING_OP_READ, p[0], &c, 1, (uint64_t)-1, 1)->flags =
		IOSQE_IO_LINK;
	st_prep(&ring, IORING_OP_LINK_TIMEOUT, -1, &ts, 1, 0, 2);
	assert_int_equal(st_enter(&ring, 0, 0), 2);
	advance(HOUR_NS - 1);
	expect_nothing();
	advance(1);
	for (int i = 0; i < 2; i++) {
		struct io_uring_cqe cqe;

		assert_true(st_cqe(&ring, &cqe));
		assert_int_equal(cqe.res,
				 cqe.user_data == 1 ? -ECANCELED : -ETIME);
	}
	close(p[0]);
	close(p[1]);
}

static void test_for_ever_never_comes(void **state)
{
	struct au_timespec ts = { .tv_sec = INT64_MAX };
	struct io_uring_cqe cqe;

	st_prep(&ring, IORING_OP_TIMEOUT, -1, &ts, 1, 0, 1);
	assert_int_equal(st_enter(&ring, 0, 0), 1);
	advance(1000000 * HOUR_NS);
	expect_nothing();
	st_prep(&ring, IORING_OP_TIMEOUT_REMOVE, -1, (void *)(uintptr_t)1, 0, 0,
		2);
	assert_int_equal(st_enter(&ring, 0, 0), 1);
	while (st_cqe(&ring, &cqe))
		;
}

int main(void)
{
#define TIMERS_TEST(f) cmocka_unit_test_setup_teardown(f, ring_up, ring_down)
	const struct CMUnitTest tests[] = {
		TIMERS_TEST(test_fires_at_its_time_and_not_before),
		TIMERS_TEST(test_order_is_that_of_deadlines),
		TIMERS_TEST(test_absolute_times_on_three_clocks),
		TIMERS_TEST(test_a_clock_that_jumps_takes_its_timers_along),
		TIMERS_TEST(test_multishot_does_not_drift),
		TIMERS_TEST(test_count_ends_it_before_its_time),
		TIMERS_TEST(test_update_moves_and_remove_ends),
		TIMERS_TEST(test_link_timeout_cancels_its_target),
		TIMERS_TEST(test_for_ever_never_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Of the core: what can be asked without a ring. */
#include "unit.h"

#include <sched.h>
#include <stdlib.h>
#include "core/spin.h"

static void skip_with_one_processor(void)
{
	cpu_set_t cpus;

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	if (CPU_COUNT(&cpus) < 2 || getenv("ANYURING_SPIN"))
		skip();
}

/* How many of `waits` spin, if all of those end so. */
static int spins(struct au_spin *s, int waits, bool hit)
{
	int n = 0;

	for (int i = 0; i < waits; i++) {
		if (!au_spin_pays(s))
			continue;
		au_spin_learn(s, hit);
		n++;
	}
	return n;
}

static void test_spin_goes_on_while_it_pays(void **state)
{
	struct au_spin s = { 0 };

	skip_with_one_processor();
	assert_int_equal(spins(&s, 10000, true), 10000);
	/* One in five ends otherwise. */
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(spins(&s, 4, true), 4);
		assert_int_equal(spins(&s, 1, false), 1);
	}
}

static void test_spin_ends_when_it_does_not(void **state)
{
	struct au_spin s = { 0 };
	int first;

	skip_with_one_processor();
	first = spins(&s, 63, false);
	assert_in_range(first, 3, 10);
	/* Now and then it tries. */
	assert_in_range(spins(&s, 64 * 100, false), 99, 101);
	/* Things change: one try finds out. */
	assert_true(spins(&s, 64 + 100, true) >= 100);
	/* And back. */
	assert_in_range(spins(&s, 63, false), 1, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spin_goes_on_while_it_pays),
		cmocka_unit_test(test_spin_ends_when_it_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

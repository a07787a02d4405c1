/* SPDX-License-Identifier: MIT */
/* Description: a lock biased towards one thread, which others take away. */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include "base/biased.h"
#include "sys/futex.h"
#include "sys/membarrier.h"

static struct au_biased lock;

static bool owned(void)
{
	return lock.owner == (uintptr_t)au_biased_self;
}

/* Takes and gives it until it is this thread's; false if it cannot be. */
static bool earn(void)
{
	for (int i = 0; i < 1 << 16; i++) {
		au_biased_lock(&lock);
		au_biased_unlock(&lock);
		if (owned())
			return true;
	}
	return false;
}

static void *in_thread(void *(*fn)(void *))
{
	pthread_t t;
	void *r;

	assert_int_equal(pthread_create(&t, NULL, fn, NULL), 0);
	pthread_join(t, &r);
	return r;
}

static void *lock_and_unlock(void *arg)
{
	au_biased_lock(&lock);
	au_biased_unlock(&lock);
	return NULL;
}

static void *trylock(void *arg)
{
	if (!au_biased_trylock(&lock))
		return NULL;
	au_biased_unlock(&lock);
	return &lock;
}

static int setup(void **state)
{
	memset(&lock, 0, sizeof(lock));
	au_membarrier_begin();
	return 0;
}

static void test_is_earned_lost_and_earned_later(void **state)
{
	uint8_t patience;

	if (!earn())
		skip();
	patience = lock.patience;
	assert_null(in_thread(lock_and_unlock));
	assert_false(owned());
	assert_int_equal(lock.patience, patience + 1);
	assert_true(earn());
	assert_false(au_biased_held(&lock));
}

static void test_has_an_owner_only_between_two(void **state)
{
	if (!earn())
		skip();
	au_biased_lock(&lock);
	assert_ptr_equal(au_biased_self->inside, &lock);
	assert_true(au_biased_held(&lock));
	/* Another thread's trylock takes the bias, not the lock. */
	assert_null(in_thread(trylock));
	assert_false(owned());
	assert_true(au_biased_held(&lock));
	/* Nor does a handler's of the same thread. */
	assert_false(au_biased_trylock(&lock));
	au_biased_unlock(&lock);
	assert_ptr_equal(in_thread(trylock), &lock);
	assert_false(au_biased_held(&lock));
}

static void test_a_handler_finds_it_held(void **state)
{
	if (!earn())
		skip();
	au_biased_lock(&lock);
	assert_false(au_biased_trylock(&lock));
	au_biased_unlock(&lock);
	assert_true(au_biased_trylock(&lock));
	au_biased_unlock(&lock);
}

/* A thread owns two, and is in both. */
static void test_second_one_is_taken_by_its_mutex(void **state)
{
	struct au_biased first = { 0 };

	if (!earn())
		skip();
	first = lock;
	au_biased_lock(&first);
	assert_ptr_equal(au_biased_self->inside, &first);
	au_biased_lock(&lock);
	assert_true(lock.by_mutex);
	au_biased_unlock(&lock);
	assert_ptr_equal(au_biased_self->inside, &first);
	au_biased_unlock(&first);
	assert_null(au_biased_self->inside);
	assert_false(au_biased_held(&lock) || au_biased_held(&first));
}

/* One runs, others get in its way; nobody is ever in with another one. */

#define OWNER_TURNS 1000000
#define OTHERS      2

static unsigned long counter, others_counted;
static uint32_t over;

/* Left to itself it would soon be owned no more. Held; by the mutex? */
static void keep_impatient(void)
{
	if (lock.by_mutex)
		lock.patience = 2;
}

static void *other(void *arg)
{
	unsigned long mine = 0;

	while (!au_load_relaxed(&over)) {
		if (mine % 3 == 0 || !au_biased_trylock(&lock))
			au_biased_lock(&lock);
		counter++;
		au_biased_unlock(&lock);
		mine++;
		/* So that it is earned again now and then. */
		for (int i = 0; i < 2000; i++)
			au_cpu_relax();
	}
	au_fetch_add(&others_counted, mine);
	return NULL;
}

static void test_excludes(void **state)
{
	pthread_t t[OTHERS];

	counter = others_counted = over = 0;
	for (int i = 0; i < OTHERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, other, NULL), 0);
	for (int i = 0; i < OWNER_TURNS; i++) {
		au_biased_lock(&lock);
		counter++;
		keep_impatient();
		au_biased_unlock(&lock);
	}
	au_store_relaxed(&over, 1);
	for (int i = 0; i < OTHERS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(counter, OWNER_TURNS + others_counted);
	assert_false(au_biased_held(&lock));
}

/*
 * Who finds it held leaves a letter and goes; the holder looks for letters
 * when it has given it up. No letter stays.
 */

#define LETTERS 20000

static uint32_t letter; /* futex: there is one */

static void letter_take(void)
{
	au_store_release(&letter, 0);
	au_futex_wake(&letter, 1);
}

static void letter_look(void)
{
	while (au_load_acquire(&letter) && au_biased_trylock(&lock)) {
		letter_take();
		au_biased_unlock(&lock);
	}
}

static void *write_letters(void *arg)
{
	for (int i = 0; i < LETTERS; i++) {
		(void)au_xchg(&letter, 1);
		letter_look();
		while (au_load_acquire(&letter))
			au_futex_wait(&letter, 1, NULL);
	}
	au_store_relaxed(&over, 1);
	return NULL;
}

/* Without anything that this thread does. */
static bool letter_goes(void)
{
	for (int i = 0; i < 1000000; i++) {
		if (!au_load_acquire(&letter))
			return true;
		sched_yield();
	}
	return false;
}

static void test_no_letter_stays(void **state)
{
	pthread_t t;

	over = 0;
	assert_int_equal(pthread_create(&t, NULL, write_letters, NULL), 0);
	while (!au_load_relaxed(&over)) {
		/* Each time it comes by: the letters come between two turns. */
		for (int i = 0; i < 8; i++) {
			au_biased_lock(&lock);
			keep_impatient();
			for (int k = 0; k < 50; k++)
				au_cpu_relax();
			au_biased_unlock(&lock);
			letter_look();
		}
		/* The last one to have it must have looked, not the next. */
		assert_true(letter_goes());
	}
	pthread_join(t, NULL);
	assert_int_equal(letter, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_is_earned_lost_and_earned_later,
				       setup),
		cmocka_unit_test_setup(test_has_an_owner_only_between_two,
				       setup),
		cmocka_unit_test_setup(test_a_handler_finds_it_held, setup),
		cmocka_unit_test_setup(test_second_one_is_taken_by_its_mutex,
				       setup),
		cmocka_unit_test_setup(test_excludes, setup),
		cmocka_unit_test_setup(test_no_letter_stays, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Description: the containers of src/base, and its lock under contention. */
#include "unit.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/mpscq.h"

/* Heap: the smallest key and the count agree with a plain array, always. */

#define HEAP_NODES 300
#define HEAP_STEPS 20000

struct timer {
	struct au_heap_node node;
	uint64_t key;
	bool queued;
};

static uint64_t smallest(const struct timer *t)
{
	uint64_t min = UINT64_MAX;

	for (int i = 0; i < HEAP_NODES; i++) {
		if (t[i].queued && t[i].key < min)
			min = t[i].key;
	}
	return min;
}

static void test_heap_agrees_with_a_plain_array(void **state)
{
	static struct timer t[HEAP_NODES];
	struct au_heap h = { 0 };
	uint64_t rng = 1;
	uint32_t nr = 0;

	for (int step = 0; step < HEAP_STEPS; step++) {
		struct timer *x = &t[unit_random(&rng) % HEAP_NODES];

		if (x->queued) {
			au_heap_remove(&h, &x->node);
			assert_int_equal(x->node.index, 0);
			nr--;
		} else {
			/* Few values, so that keys are often equal. */
			x->key = unit_random(&rng) % 64;
			assert_int_equal(au_heap_reserve(&h), 0);
			au_heap_push(&h, &x->node, x->key);
			nr++;
		}
		x->queued = !x->queued;
		assert_int_equal(h.nr, nr);
		assert_int_equal(au_heap_empty(&h), nr == 0);
		if (nr)
			assert_int_equal(au_heap_first_key(&h), smallest(t));
	}
	au_heap_free(&h);
}

static void test_heap_gives_keys_in_order(void **state)
{
	static struct timer t[1000];
	struct au_heap h = { 0 };
	uint64_t rng = 2, last = 0;

	for (int i = 0; i < 1000; i++) {
		t[i].key = unit_random(&rng);
		assert_int_equal(au_heap_reserve(&h), 0);
		au_heap_push(&h, &t[i].node, t[i].key);
	}
	while (!au_heap_empty(&h)) {
		assert_true(au_heap_first_key(&h) >= last);
		last = au_heap_first_key(&h);
		au_heap_remove(&h, au_heap_first(&h));
	}
	au_heap_free(&h);
}

/* Hash: keys need not be unique; it grows without losing anything. */

struct entry {
	struct au_hash_node node;
	uint64_t key;
};

static uint64_t entry_key(const struct au_hash_node *n)
{
	return au_container_of(n, struct entry, node)->key;
}

static uint32_t count_key(const struct au_hash *h, uint64_t key)
{
	struct au_hash_node *n = h->buckets[au_hash_bucket(h, key)];
	uint32_t nr = 0;

	for (; n; n = n->next)
		nr += entry_key(n) == key;
	return nr;
}

static void assert_newest_first(const struct au_hash *h, uint64_t key)
{
	struct au_hash_node *n = h->buckets[au_hash_bucket(h, key)];
	uintptr_t last = UINTPTR_MAX;

	for (; n; n = n->next) {
		if (entry_key(n) != key)
			continue;
		assert_true((uintptr_t)n < last);
		last = (uintptr_t)n;
	}
}

static void test_hash_grows_and_keeps_equal_keys(void **state)
{
	static struct entry e[2000];
	struct au_hash h = { 0 };
	uint64_t rng = 3;

	for (int i = 0; i < 2000; i++) {
		e[i].key = i % 2 ? 7 : (uint64_t)i << 32;
		assert_int_equal(au_hash_reserve(&h, entry_key), 0);
		au_hash_add(&h, &e[i].node, e[i].key);
	}
	assert_int_equal(h.nr, 2000);
	assert_int_equal(count_key(&h, 7), 1000);
	assert_newest_first(&h, 7);
	for (int i = 0; i < 2000; i += 2)
		assert_int_equal(count_key(&h, e[i].key), 1);
	/* In any order. */
	for (uint32_t left = 2000; left;) {
		struct entry *x = &e[unit_random(&rng) % 2000];

		if (!x->node.pprev)
			continue;
		au_hash_del(&h, &x->node);
		assert_null(x->node.pprev);
		assert_int_equal(h.nr, --left);
	}
	for (uint32_t b = 0; b < 1U << h.bits; b++)
		assert_null(h.buckets[b]);
	au_hash_free(&h);
	assert_int_equal(h.bits, 0);
}

static uint32_t longest_chain(const struct au_hash *h)
{
	uint32_t longest = 0;

	for (uint32_t b = 0; b < 1U << h->bits; b++) {
		uint32_t nr = 0;

		for (struct au_hash_node *n = h->buckets[b]; n; n = n->next)
			nr++;
		longest = nr > longest ? nr : longest;
	}
	return longest;
}

/* Counters, pointers of any alignment, numbers with a tag above or below. */
static void test_hash_spreads_what_programs_use_as_keys(void **state)
{
	static struct entry e[5000];

	for (int shift = 0; shift < 60; shift++) {
		for (uint64_t odd = 1; odd < 8; odd += 2) {
			struct au_hash h = { 0 };

			for (uint64_t i = 0; i < 5000; i++) {
				e[i].key = 0x7f1234560000 + (i * odd << shift);
				if (shift > 40) /* what is left must differ */
					e[i].key = i % 16 << shift | i / 16;
				assert_int_equal(au_hash_reserve(&h, entry_key),
						 0);
				au_hash_add(&h, &e[i].node, e[i].key);
			}
			if (longest_chain(&h) > 16)
				print_message("shift %d by %d: %u\n", shift,
					      (int)odd, longest_chain(&h));
			assert_true(longest_chain(&h) <= 16);
			au_hash_free(&h);
		}
	}
}

/* Lists. */

static void test_list_order_splice_and_double_delete(void **state)
{
	struct au_list from, to, n[4], *pos, *tmp;
	int i = 0;

	au_list_init(&from);
	assert_true(au_list_empty(&from));
	au_list_splice(&from, &to);
	assert_true(au_list_empty(&to));
	for (i = 0; i < 4; i++)
		au_list_add_tail(&from, &n[i]);
	au_list_splice(&from, &to);
	assert_true(au_list_empty(&from));
	au_list_del(&n[1]);
	au_list_del(&n[1]);
	i = 0;
	au_list_for_each_safe(pos, tmp, &to) {
		const int want[] = { 0, 2, 3 };

		assert_ptr_equal(pos, &n[want[i++]]);
		au_list_del(pos);
	}
	assert_int_equal(i, 3);
	assert_true(au_list_empty(&to));
}

static void test_slist_is_a_fifo_that_can_be_emptied(void **state)
{
	struct au_slist l;
	struct au_slist_node n[3];

	au_slist_init(&l);
	assert_null(au_slist_pop(&l));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 3; i++)
			au_slist_push(&l, &n[i]);
		for (int i = 0; i < 3; i++)
			assert_ptr_equal(au_slist_pop(&l), &n[i]);
		assert_true(au_slist_empty(&l));
	}
}

/* MPSC queue: nothing is lost, and each producer's order is kept. */

#define PRODUCERS    3
#define PER_PRODUCER 20000

struct item {
	struct au_slist_node node;
	int producer, seq;
};

static struct au_mpscq queue;
static struct item items[PRODUCERS][PER_PRODUCER];
static uint32_t nr_first; /* pushes that found it empty */

static void *produce(void *arg)
{
	struct item *mine = arg;

	for (int i = 0; i < PER_PRODUCER; i++) {
		if (au_mpscq_push(&queue, &mine[i].node))
			au_fetch_add(&nr_first, 1);
	}
	return NULL;
}

static void test_mpscq_keeps_every_producers_order(void **state)
{
	pthread_t t[PRODUCERS];
	int next[PRODUCERS] = { 0 }, got = 0;
	uint32_t takes = 0;

	for (int p = 0; p < PRODUCERS; p++) {
		for (int i = 0; i < PER_PRODUCER; i++) {
			items[p][i].producer = p;
			items[p][i].seq = i;
		}
		assert_int_equal(pthread_create(&t[p], NULL, produce, items[p]),
				 0);
	}
	while (got < PRODUCERS * PER_PRODUCER) {
		struct au_slist_node *n = au_mpscq_take(&queue);

		takes += n != NULL;
		for (; n; n = n->next, got++) {
			struct item *x = au_container_of(n, struct item, node);

			assert_int_equal(x->seq, next[x->producer]++);
		}
	}
	for (int p = 0; p < PRODUCERS; p++)
		pthread_join(t[p], NULL);
	assert_true(au_mpscq_empty(&queue));
	/* Whoever fills it does the waking: once for each time it is taken. */
	assert_int_equal(nr_first, takes);
}

/* Lock. */

static struct au_lock lock;
static unsigned long counter, tried;

static void *count(void *arg)
{
	for (int i = 0; i < 50000; i++) {
		if (arg && i % 3 == 0) {
			if (!au_trylock(&lock))
				continue;
			tried++;
		} else {
			au_lock(&lock);
		}
		counter++;
		au_unlock(&lock);
	}
	return NULL;
}

static void test_lock_excludes_and_wakes(void **state)
{
	pthread_t t[4];

	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, count,
						i ? NULL : &lock),
				 0);
	for (size_t i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(counter, 3 * 50000 + 50000 - 16667 + tried);
	assert_int_equal(lock.word, 0);
	assert_true(au_trylock(&lock));
	assert_false(au_trylock(&lock));
	au_unlock(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heap_agrees_with_a_plain_array),
		cmocka_unit_test(test_heap_gives_keys_in_order),
		cmocka_unit_test(test_hash_grows_and_keeps_equal_keys),
		cmocka_unit_test(test_hash_spreads_what_programs_use_as_keys),
		cmocka_unit_test(test_list_order_splice_and_double_delete),
		cmocka_unit_test(test_slist_is_a_fifo_that_can_be_emptied),
		cmocka_unit_test(test_mpscq_keeps_every_producers_order),
		cmocka_unit_test(test_lock_excludes_and_wakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

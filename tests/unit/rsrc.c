/* SPDX-License-Identifier: MIT */
/* Description: tables of registered resources and their allocation range. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include "rsrc/rsrc.h"

static void put(struct au_rsrc_table *t, int slot)
{
	t->nodes[slot] = au_rsrc_file(-1, 0);
	assert_non_null(t->nodes[slot]);
}

static void drop(struct au_rsrc_table *t, int slot)
{
	free(t->nodes[slot]);
	t->nodes[slot] = NULL;
}

static void table_end(struct au_rsrc_table *t)
{
	for (uint32_t i = 0; i < t->nr; i++)
		free(t->nodes[i]);
	au_rsrc_table_free(t);
	assert_false(t->registered);
	assert_null(au_rsrc_lookup(t, 0));
}

static void test_lookup_is_bounded(void **state)
{
	struct au_rsrc_table t = { 0 };

	assert_null(au_rsrc_lookup(&t, 0));
	assert_int_equal(au_rsrc_table_alloc(&t, 4), 0);
	assert_true(t.registered);
	for (uint32_t i = 0; i < 4; i++)
		assert_null(au_rsrc_lookup(&t, i));
	put(&t, 3);
	assert_ptr_equal(au_rsrc_lookup(&t, 3), t.nodes[3]);
	assert_null(au_rsrc_lookup(&t, 4));
	assert_null(au_rsrc_lookup(&t, UINT32_MAX));
	assert_int_equal(t.nodes[3]->refs, 1);
	assert_int_equal(t.nodes[3]->kind, AU_RSRC_FILE);
	table_end(&t);
}

static void test_free_slots_go_round(void **state)
{
	struct au_rsrc_table t = { 0 };

	assert_int_equal(au_rsrc_table_alloc(&t, 3), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(au_rsrc_find_free(&t), i);
		put(&t, i);
	}
	assert_int_equal(au_rsrc_find_free(&t), -ENFILE);
	drop(&t, 1);
	assert_int_equal(au_rsrc_find_free(&t), 1);
	put(&t, 1);
	/* The search goes on behind the last one found, and comes round. */
	drop(&t, 0);
	drop(&t, 2);
	assert_int_equal(au_rsrc_find_free(&t), 2);
	put(&t, 2);
	assert_int_equal(au_rsrc_find_free(&t), 0);
	table_end(&t);
}

static void test_allocation_keeps_to_its_range(void **state)
{
	struct au_rsrc_table t = { 0 };

	assert_int_equal(au_rsrc_table_alloc(&t, 8), 0);
	t.alloc_start = t.alloc_hint = 2;
	t.alloc_end = 5;
	for (int i = 2; i < 5; i++) {
		assert_int_equal(au_rsrc_find_free(&t), i);
		put(&t, i);
	}
	assert_int_equal(au_rsrc_find_free(&t), -ENFILE);
	/* A hint from outside the range is no reason to leave it. */
	drop(&t, 4);
	t.alloc_hint = 7;
	assert_int_equal(au_rsrc_find_free(&t), 4);
	t.alloc_hint = 0;
	assert_int_equal(au_rsrc_find_free(&t), 4);
	/* An empty range has no slot. */
	t.alloc_start = t.alloc_end = 6;
	assert_int_equal(au_rsrc_find_free(&t), -ENFILE);
	t.alloc_start = t.alloc_end = 8;
	assert_int_equal(au_rsrc_find_free(&t), -ENFILE);
	table_end(&t);
}

/* The same against a plain reading of the rule, at random. */
static void test_allocation_at_random(void **state)
{
	struct au_rsrc_table t = { 0 };
	uint64_t rng = 5;

	assert_int_equal(au_rsrc_table_alloc(&t, 40), 0);
	for (int step = 0; step < 20000; step++) {
		int slot = (int)(unit_random(&rng) % 40), free_slots = 0, got;

		switch (unit_random(&rng) % 8) {
		case 0:
			t.alloc_start = unit_random(&rng) % 41;
			t.alloc_end = t.alloc_start +
				      unit_random(&rng) % (41 - t.alloc_start);
			t.alloc_hint = t.alloc_start;
			break;
		case 1:
		case 2:
		case 3:
			if (t.nodes[slot])
				drop(&t, slot);
			break;
		default:
			for (uint32_t i = t.alloc_start; i < t.alloc_end; i++)
				free_slots += !t.nodes[i];
			got = au_rsrc_find_free(&t);
			if (!free_slots) {
				assert_int_equal(got, -ENFILE);
				break;
			}
			assert_in_range(got, t.alloc_start, t.alloc_end - 1);
			assert_null(t.nodes[got]);
			put(&t, got);
		}
	}
	table_end(&t);
}

static void test_buffer_nodes(void **state)
{
	struct au_rsrc_node *n = au_rsrc_buffer(4096, 100, 7);

	assert_non_null(n);
	assert_int_equal(n->kind, AU_RSRC_BUFFER);
	assert_int_equal(n->fd, -1);
	assert_true(n->addr == 4096 && n->len == 100 && n->tag == 7);
	free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup_is_bounded),
		cmocka_unit_test(test_free_slots_go_round),
		cmocka_unit_test(test_allocation_keeps_to_its_range),
		cmocka_unit_test(test_allocation_at_random),
		cmocka_unit_test(test_buffer_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

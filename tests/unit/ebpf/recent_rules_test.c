// SPDX-License-Identifier: Apache-2.0
/* The tables of recent rules, in maps of the kernel. */
#include "recent_rules.h"

#include "sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <string.h>
#include <unistd.h>

enum { CPUS = 5 };

/* The table of @cpu, as the kernel side finds it; the caller's to close. */
static int table_of(int outer, uint32_t cpu)
{
	uint32_t id = 0;
	int fd;

	assert_int_equal(bpf_map_lookup_elem(outer, &cpu, &id), 0);
	fd = bpf_map_get_fd_by_id(id);
	assert_true(fd >= 0);
	return fd;
}

static void write_word(int outer, uint32_t cpu, uint64_t word)
{
	static uint8_t bytes[UNWIND_SLAB_BYTES];
	uint32_t zero = 0;
	int fd = table_of(outer, cpu);

	memcpy(bytes + 800, &word, sizeof(word));
	assert_int_equal(bpf_map_update_elem(fd, &zero, bytes, BPF_ANY), 0);
	close(fd);
}

static uint64_t read_word(int outer, uint32_t cpu)
{
	static uint8_t bytes[UNWIND_SLAB_BYTES];
	uint32_t zero = 0;
	uint64_t word;
	int fd = table_of(outer, cpu);

	assert_int_equal(bpf_map_lookup_elem(fd, &zero, bytes), 0);
	close(fd);
	memcpy(&word, bytes + 800, sizeof(word));
	return word;
}

static int make_outer(void)
{
	int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "inner", sizeof(uint32_t), UNWIND_SLAB_BYTES,
				   1, NULL);
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = (uint32_t)inner);
	int outer;

	if (inner < 0)
		return -1;
	outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "outer", sizeof(uint32_t),
			       sizeof(uint32_t), CPUS, &options);
	close(inner);
	return outer;
}

static void new_tables_are_empty_and_where_the_old_ones_were(void **state)
{
	const uint32_t cpus[] = { 0, 1, 3 };
	struct recent_rules rules;
	uint32_t id;
	int outer = make_outer();

	(void)state;
	if (outer < 0) {
		print_message("skipped: no maps can be made here\n");
		skip();
	}
	assert_int_equal(recent_rules_init(&rules, outer, CPUS), 0);
	assert_null(recent_rules_make(&rules, cpus, 3));
	assert_int_equal(rules.bytes, 3 * UNWIND_SLAB_BYTES);
	for (size_t i = 0; i < 3; i++)
		write_word(outer, cpus[i], 4711 + i);
	// What is there stays.
	assert_null(recent_rules_make(&rules, cpus, 3));
	assert_int_equal(read_word(outer, 3), 4713);
	assert_null(recent_rules_renew(&rules));
	assert_int_equal(rules.bytes, 3 * UNWIND_SLAB_BYTES);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(read_word(outer, cpus[i]), 0);
	id = 2;
	assert_int_not_equal(bpf_map_lookup_elem(outer, &id, &id), 0);
	recent_rules_deinit(&rules);
	close(outer);
}

static void where_no_new_ones_can_be_made_the_old_ones_stay(void **state)
{
	const uint32_t cpu = 1;
	struct recent_rules rules;
	struct profcol_error *error;
	int outer = make_outer();

	(void)state;
	if (outer < 0) {
		print_message("skipped: no maps can be made here\n");
		skip();
	}
	assert_int_equal(recent_rules_init(&rules, outer, CPUS), 0);
	assert_null(recent_rules_make(&rules, &cpu, 1));
	write_word(outer, cpu, 4711);
	rules.outer_fd = -1;
	error = recent_rules_renew(&rules);
	assert_non_null(error);
	profcol_error_destroy(error);
	rules.outer_fd = outer;
	assert_int_equal(rules.bytes, UNWIND_SLAB_BYTES);
	assert_int_equal(read_word(outer, cpu), 4711);
	assert_null(recent_rules_renew(&rules));
	assert_int_equal(read_word(outer, cpu), 0);
	recent_rules_deinit(&rules);
	close(outer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_tables_are_empty_and_where_the_old_ones_were),
		cmocka_unit_test(where_no_new_ones_can_be_made_the_old_ones_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

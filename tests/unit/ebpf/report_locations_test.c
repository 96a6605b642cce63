// SPDX-License-Identifier: Apache-2.0
/* Frames as locations: file, address, name, kind and build. */
#include "report_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

static void addresses_are_those_of_the_file_not_of_the_process(void **state)
{
	static const __u64 frames[] = { KERNEL_START + 0x10, 0x400800 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 1, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_location location;
	const uint32_t *stack;
	uint32_t count;

	(void)state;
	fixture_append(&record);
	batch = fixture_build();
	stack = profcol_batch_stack(batch, profcol_batch_sample(batch, 0).stack, &count);
	assert_int_equal(count, 2);
	location = profcol_batch_location(batch, stack[0]);
	assert_int_equal(location.address, 0x10);
	location = profcol_batch_location(batch, stack[1]);
	assert_int_equal(location.address, 0x800 + 0x1000 + 0x10000);
	assert_int_equal(profcol_batch_mapping(batch, location.mapping).memory_start, 0x11000);
}

static void code_outside_files_has_a_mapping_only_when_its_build_is_known(void **state)
{
	static const __u64 frames[] = { KERNEL_START + 0x10, VDSO_START + 0x20, JIT_START + 0x2f };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 1, 2);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_location location;
	struct profcol_mapping mapping;
	const uint32_t *stack;
	uint32_t count;

	(void)state;
	fixture_append(&record);
	batch = fixture_build();
	stack = profcol_batch_stack(batch, profcol_batch_sample(batch, 0).stack, &count);
	assert_int_equal(count, 3);
	location = profcol_batch_location(batch, stack[0]);
	mapping = profcol_batch_mapping(batch, location.mapping);
	assert_string_equal(profcol_batch_string(batch, mapping.filename).bytes, "vmlinux");
	assert_string_equal(
		fixture_attribute(batch, mapping.attributes, "process.executable.build_id.htlhash"),
		"98");
	location = profcol_batch_location(batch, stack[1]);
	mapping = profcol_batch_mapping(batch, location.mapping);
	assert_int_equal(location.address, 0x20);
	assert_string_equal(profcol_batch_string(batch, mapping.filename).bytes, "linux-vdso.1.so");
	assert_string_equal(
		fixture_attribute(batch, mapping.attributes, "process.executable.build_id.htlhash"),
		"7d51");
	location = profcol_batch_location(batch, stack[2]);
	assert_int_equal(location.mapping, 0);
	assert_int_equal(location.address, JIT_START + 0x2f);
}

static void frames_say_what_kind_of_code_they_are(void **state)
{
	// Kernel, Go, C++ behind cgo, a Go file's code without a symbol, and a library in C of that
	// process.
	static const __u64 frames[] = { KERNEL_START + 0x10, 0x700100, 0x700901, 0x702001, 0x402001,
					VDSO_START + 0x21 };
	static const char *const types[] = { "kernel", "go", "native", "go", "native", "native" };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 1, 5);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	const uint32_t *stack;
	uint32_t count;

	(void)state;
	fixture_append(&record);
	batch = fixture_build();
	stack = profcol_batch_stack(batch, profcol_batch_sample(batch, 0).stack, &count);
	assert_int_equal(count, 6);
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_location location = profcol_batch_location(batch, stack[i]);
		struct profcol_mapping mapping = profcol_batch_mapping(batch, location.mapping);
		const char *id = fixture_attribute(batch, mapping.attributes,
						   "process.executable.build_id.go");

		assert_string_equal(
			fixture_attribute(batch, location.attributes, "profile.frame.type"),
			types[i]);
		if (i >= 1 && i <= 3)
			assert_string_equal(id, "Xk3/q7");
		else
			assert_null(id);
	}
}

static const char *build_id(const struct profcol_batch *batch, struct profcol_location location,
			    const char *kind)
{
	struct profcol_mapping mapping = profcol_batch_mapping(batch, location.mapping);
	char key[64];

	snprintf(key, sizeof(key), "process.executable.build_id.%s", kind);
	return fixture_attribute(batch, mapping.attributes, key);
}

static void a_place_in_a_file_is_one_location_for_all_processes(void **state)
{
	const __u64 frames[] = { sample_record_place(PROGRAM_FILE, 0x1800),
				 sample_record_place(GO_FILE, 0x1800) };
	struct sample_record one = sample_record_make(7, 7, 1500, frames, 0, 2);
	struct sample_record other = sample_record_make(9, 9, 1600, frames, 0, 2);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_location location;

	(void)state;
	fixture_append(&one);
	fixture_append(&other);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 2);
	assert_int_equal(profcol_batch_sample(batch, 0).stack,
			 profcol_batch_sample(batch, 1).stack);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_LOCATIONS), 1 + 2);
	location = fixture_location(batch, 0, 0);
	assert_int_equal(location.address, 0x11800);
	assert_string_equal(fixture_function(batch, location), "serve");
	assert_string_equal(build_id(batch, location, "gnu"), "abcd");
	location = fixture_location(batch, 0, 1);
	assert_int_equal(location.address, 0x11800);
	assert_string_equal(build_id(batch, location, "go"), "Xk3/q7");
}

/* Whether the kernel side told the file or only the address. */
static void a_place_in_a_file_is_found_by_its_address_too(void **state)
{
	const __u64 places[] = { sample_record_place(PROGRAM_FILE, 0x1800) };
	static const __u64 addresses[] = { PROGRAM_START + 0x800 };
	struct sample_record by_place = sample_record_make(7, 7, 1500, places, 0, 1);
	struct sample_record by_address = sample_record_make(7, 7, 1500, addresses, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	fixture_append(&by_place);
	fixture_append(&by_address);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 1);
	assert_int_equal(profcol_batch_events(batch), 2);
}

static void a_file_that_no_worker_has_read_is_known_by_its_hash(void **state)
{
	const __u64 frames[] = { sample_record_place(GONE_FILE, 0x1800) };
	struct sample_record record = sample_record_make(7, 7, 1500, frames, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_location location;
	struct profcol_mapping mapping;

	(void)state;
	fixture_append(&record);
	batch = fixture_build();
	location = fixture_location(batch, 0, 0);
	assert_int_equal(location.address, 0x1800);
	assert_null(fixture_function(batch, location));
	mapping = profcol_batch_mapping(batch, location.mapping);
	assert_string_equal(profcol_batch_string(batch, mapping.filename).bytes, "/opt/gone");
	assert_string_equal(build_id(batch, location, "htlhash"),
			    "0123456789abcdef0123456789abcdef");
	assert_null(build_id(batch, location, "gnu"));
	assert_null(build_id(batch, location, "go"));
}

static void a_file_of_which_nothing_is_known_is_no_mapping(void **state)
{
	// Between others, whose mapping is not to be taken for its own.
	const __u64 frames[] = { sample_record_place(GO_FILE, 0x1800),
				 sample_record_place(LOST_FILE, 0x1800),
				 sample_record_place(PROGRAM_FILE, 0x1800) };
	struct sample_record record = sample_record_make(7, 7, 1500, frames, 0, 3);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_location location;

	(void)state;
	fixture_append(&record);
	batch = fixture_build();
	assert_int_equal(fixture_stack_count(batch, 0), 3);
	location = fixture_location(batch, 0, 1);
	assert_int_equal(location.mapping, 0);
	assert_int_equal(location.address, 0x1800);
	assert_null(fixture_function(batch, location));
	assert_string_equal(fixture_attribute(batch, location.attributes, "profile.frame.type"),
			    "native");
	assert_string_equal(build_id(batch, fixture_location(batch, 0, 2), "gnu"), "abcd");
	assert_int_equal(profcol_batch_count(batch, PROFCOL_MAPPINGS), 1 + 2);
}

/* What stands for the function of @location; NULL. */
static const char *label(const struct profcol_batch *batch, struct profcol_location location)
{
	return fixture_attribute(batch, location.attributes, PROFCOL_FRAME_LABEL);
}

static void functions_without_a_name_are_told_apart_by_their_place(void **state)
{
	// Two addresses of one function, one of another one, code without an entry, and code that
	// was compiled while the program ran.
	const __u64 frames[] = { sample_record_place(PROGRAM_FILE, 0x2001),
				 sample_record_place(PROGRAM_FILE, 0x20ff),
				 sample_record_place(PROGRAM_FILE, 0x2100),
				 sample_record_place(PROGRAM_FILE, 0x3000), JIT_START + 0x2f };
	static const char *const labels[] = { "library.so+0x12000", "library.so+0x12000",
					      "library.so+0x12100", NULL, "[JIT server]" };
	struct sample_record record = sample_record_make(7, 7, 1500, frames, 0, 5);

	(void)state;
	for (int mode = UNNAMED_LABEL; mode <= UNNAMED_NOTHING; mode++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

		fixture_config.unnamed_functions = mode;
		if (mode == UNNAMED_LABEL)
			fixture_append(&record);
		batch = fixture_build();
		for (uint32_t i = 0; i < 5; i++) {
			struct profcol_location location = fixture_location(batch, 0, i);
			const char *shown = label(batch, location);
			const char *called = fixture_function(batch, location);
			const char *wanted = labels[i];

			assert_string_equal(
				fixture_attribute(batch, location.attributes, "profile.frame.type"),
				"native");
			if (mode == UNNAMED_LABEL && wanted)
				assert_string_equal(shown, wanted);
			else
				assert_null(shown);
			if (mode == UNNAMED_FUNCTION && wanted)
				assert_string_equal(called, wanted);
			else
				assert_null(called);
		}
	}
}

static uint32_t first_location(const struct profcol_batch *batch, uint32_t sample)
{
	uint32_t count;

	return profcol_batch_stack(batch, profcol_batch_sample(batch, sample).stack, &count)[0];
}

/* Tables in which similar rows lie beside each other take less room when they are compressed. */
static void locations_come_in_the_order_of_their_addresses(void **state)
{
	static const __u64 frames[] = {
		KERNEL_START + 0x20, KERNEL_START + 0x10, 0x700901, 0x700100, 0x402001, 0x700500
	};
	uint32_t ids[6];
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		struct sample_record record =
			sample_record_make(7, 8, 1500 + i, &frames[i], i < 2, i >= 2);

		fixture_append(&record);
	}
	batch = fixture_build();
	for (uint32_t i = 0; i < 6; i++)
		ids[i] = first_location(batch, i);
	assert_true(ids[1] < ids[0]);                    // the kernel
	assert_true(ids[3] < ids[5] && ids[5] < ids[2]); // a file
	assert_true(ids[4] < ids[3] || ids[4] > ids[2]); // another one is not among them
}

/* Stacks take less when what most of them have has a number of one byte. */
static void what_many_stacks_have_comes_first(void **state)
{
	enum { SAMPLES = 200 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	uint32_t smallest = UINT32_MAX;

	(void)state;
	for (uint32_t i = 0; i < SAMPLES; i++) {
		// Leaf first: the kernel's, a file's, code that was made, and the file's again: the
		// root, at the highest address there.
		const __u64 frames[] = { KERNEL_START + 0x10 * (i % 50 + 1), 0x700100 + i * 4,
					 JIT_START + 0x2f + i % 3, 0x703f00 };
		struct sample_record record = sample_record_make(7, 8, 1500 + i, frames, 1, 3);

		fixture_append(&record);
	}
	batch = fixture_build();
	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct profcol_location location = fixture_location(batch, i, 1);
		uint32_t count;
		const uint32_t *stack =
			profcol_batch_stack(batch, profcol_batch_sample(batch, i).stack, &count);

		assert_int_equal(count, 4);
		assert_int_equal(location.address, 0x700100 + i * 4 - 0x700000 + 0x11000);
		assert_int_equal(fixture_location(batch, i, 0).address, 0x10 * (i % 50 + 1));
		assert_true(stack[3] < 127);
		if (stack[1] < smallest)
			smallest = stack[1];
		assert_true(stack[3] < smallest);
	}
}

static void system_names_may_be_left_out(void **state)
{
	static const __u64 frames[] = { 0x700901 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 1);

	(void)state;
	fixture_append(&record);
	for (int told = 0; told < 2; told++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
		struct profcol_function function;
		struct profcol_location location;

		fixture_config.system_names = told;
		batch = fixture_build();
		location = profcol_batch_location(batch, first_location(batch, 0));
		function = profcol_batch_function(batch, location.lines[0].function);
		assert_string_equal(profcol_batch_string(batch, function.name).bytes, "serve");
		assert_string_equal(profcol_batch_string(batch, function.system_name).bytes,
				    told ? "_Z5servev" : "");
		assert_string_equal(
			fixture_attribute(batch, location.attributes, "profile.frame.type"),
			"native"); // by that name
	}
}

/* With the lines of all functions in them; one whose name is not known says why. */
static void frames_of_runtimes_are_called_what_the_process_said(void **state)
{
	const __u64 frames[] = {
		UNWIND_FRAME_RUNTIME | 0x7f0011223344,
		1ull << 32 | 77,
		PROGRAM_START + 0x800,
		UNWIND_FRAME_RUNTIME | 0x7f0011223344,
		2ull << 32 | 77,
		UNWIND_FRAME_RUNTIME | 0x7f0011223344,
		78,
	};
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 7);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_location location;
	struct profcol_function function;

	(void)state;
	for (size_t i = 0; i < 7; i++)
		if (unwind_frame_is_wide(frames[i]))
			record.frames[i++] |= 1ull << UNWIND_FRAME_NUMBER_SHIFT;
	fixture_append(&record);
	batch = fixture_build();
	assert_int_equal(fixture_stack_count(batch, 0), 4);
	location = fixture_location(batch, 0, 0);
	assert_int_equal(location.mapping, 0);
	assert_int_equal(location.address, 0);
	assert_int_equal(location.line_count, 2);
	assert_int_equal(location.lines[0].line, 12);
	assert_int_equal(location.lines[0].column, 3);
	assert_string_equal(fixture_function(batch, location), "inner");
	function = profcol_batch_function(batch, location.lines[0].function);
	assert_string_equal(profcol_batch_string(batch, function.filename).bytes, "/srv/inner.x");
	assert_int_equal(function.start_line, 10);
	assert_int_equal(location.lines[1].line, 77);
	function = profcol_batch_function(batch, location.lines[1].function);
	assert_string_equal(profcol_batch_string(batch, function.name).bytes, "outer");
	assert_int_equal(function.filename, 0);
	assert_int_equal(fixture_location(batch, 0, 1).address, 0x800 + 0x1000 + 0x10000);
	assert_string_equal(fixture_function(batch, fixture_location(batch, 0, 2)),
			    "[name gone before it was read]");
	assert_string_equal(fixture_function(batch, fixture_location(batch, 0, 3)),
			    "[name not read in time]");
}

/* They keep their mapping and address, which frames of interpreters do not have. */
static void frames_of_files_have_the_lines_that_a_runtime_knows(void **state)
{
	const __u64 frames[] = { GO_START + 0xc10 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_location location;
	struct profcol_function function;

	(void)state;
	fixture_append(&record);
	batch = fixture_build();
	location = fixture_location(batch, 0, 0);
	assert_int_not_equal(location.mapping, 0);
	assert_int_equal(location.address, 0xc10 + 0x1000 + 0x10000);
	assert_string_equal(fixture_attribute(batch, location.attributes, "profile.frame.type"),
			    "go");
	assert_int_equal(location.line_count, 2);
	assert_int_equal(location.lines[0].line, 7);
	assert_string_equal(fixture_function(batch, location), "main.inlined");
	function = profcol_batch_function(batch, location.lines[0].function);
	assert_string_equal(profcol_batch_string(batch, function.filename).bytes,
			    "/srv/inlined.go");
	assert_int_equal(function.start_line, 5);
	function = profcol_batch_function(batch, location.lines[1].function);
	assert_string_equal(profcol_batch_string(batch, function.name).bytes, "main.outer");
	assert_int_equal(function.filename, 0);
}

#define WITH_CAPTURE(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			functions_without_a_name_are_told_apart_by_their_place, fixture_set_up,
			fixture_tear_down),
		WITH_CAPTURE(addresses_are_those_of_the_file_not_of_the_process),
		WITH_CAPTURE(code_outside_files_has_a_mapping_only_when_its_build_is_known),
		WITH_CAPTURE(frames_say_what_kind_of_code_they_are),
		WITH_CAPTURE(a_place_in_a_file_is_one_location_for_all_processes),
		WITH_CAPTURE(a_place_in_a_file_is_found_by_its_address_too),
		WITH_CAPTURE(a_file_that_no_worker_has_read_is_known_by_its_hash),
		WITH_CAPTURE(a_file_of_which_nothing_is_known_is_no_mapping),
		WITH_CAPTURE(locations_come_in_the_order_of_their_addresses),
		WITH_CAPTURE(what_many_stacks_have_comes_first),
		WITH_CAPTURE(system_names_may_be_left_out),
		WITH_CAPTURE(frames_of_runtimes_are_called_what_the_process_said),
		WITH_CAPTURE(frames_of_files_have_the_lines_that_a_runtime_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

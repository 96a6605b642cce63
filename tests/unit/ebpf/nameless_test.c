// SPDX-License-Identifier: Apache-2.0
/* What the reader is told of samples without a name. */
#include "nameless.h"

#include "sample_record.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define SECOND 1000000000ull

enum { NAMED = 1, LIBC, GZIP, ALIEN, FOREIGN, UNREAD };

/* ---- made up ---- */

struct owner processes_file_owner(struct processes *processes, uint32_t file)
{
	(void)processes;
	(void)file;
	return OWNER_UNKNOWN;
}

struct processes_files processes_files(struct processes *processes)
{
	(void)processes;
	return (struct processes_files){ 0 };
}

char *processes_file_path(struct processes *processes, uint32_t file)
{
	static const char *const paths[] = {
		[NAMED] = "/usr/bin/named",     [LIBC] = "/usr/lib/libc.so.6",
		[GZIP] = "/usr/bin/gzip",       [ALIEN] = "/opt/a\033[31m\xff",
		[FOREIGN] = "/usr/bin/foreign", [UNREAD] = "/usr/bin/unread",
	};

	(void)processes;
	return strdup(paths[file]);
}

int processes_find_package(struct processes *processes, uint32_t file, struct process_package *ret)
{
	(void)processes;
	*ret = (struct process_package){ .manager = PACKAGES_DPKG };
	if (file == LIBC)
		strcpy(ret->name, "libc6");
	else if (file == GZIP)
		strcpy(ret->name, "gzip");
	else if (file == FOREIGN)
		ret->manager = PACKAGES_RPM;
	else
		return -2;
	return 0;
}

bool symbols_file(struct symbols *symbols, uint32_t file, struct symbol_file *ret)
{
	(void)symbols;
	*ret = (struct symbol_file){ .build_id_gnu = file == ALIEN ? "abcd" : "",
				     .build_id_go = "",
				     .htlhash = "ef" };
	return file != UNREAD;
}

/* ---- */

static char line[2048];
static size_t line_count;

static void keep_line(const struct profcol_logger *logger, enum profcol_level level,
		      const char *format, va_list arguments)
{
	(void)logger;
	assert_int_equal(level, PROFCOL_WARN);
	vsnprintf(line, sizeof(line), format, arguments);
	line_count++;
}

static const struct profcol_logger logger = { .size = sizeof(logger),
					      .level = PROFCOL_WARN,
					      .write = keep_line };
static const struct profcol_host host = { .size = sizeof(host), .logger = &logger };

struct fixture {
	struct nameless *nameless;
	struct capture capture;
	struct locations locations;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->nameless = nameless_create(&host, NULL, NULL);
	capture_init(&fixture->capture, 1 << 20);
	capture_clear(&fixture->capture, 1000);
	line[0] = '\0';
	line_count = 0;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	nameless_destroy(fixture->nameless);
	capture_deinit(&fixture->capture);
	VECTOR_DEINIT(&fixture->locations.frames);
	free(fixture);
	return 0;
}

/* @count samples whose leaf lies in @file. */
static void sample(struct fixture *fixture, uint32_t file, size_t count)
{
	const __u64 frames[] = { sample_record_place(file, 0x1000),
				 sample_record_place(NAMED, 0x2000) };
	struct sample_record record = sample_record_make(7, 7, 1500, frames, 0, 2);
	uint32_t process;

	for (size_t i = 0; i < count; i++)
		assert_int_equal(capture_append(&fixture->capture, &record,
						sample_record_length(&record), &process),
				 0);
}

/* All frames are placed, and those of NAMED have a name. */
static void count(struct fixture *fixture)
{
	struct locations *locations = &fixture->locations;
	size_t frames = fixture->capture.frames.count;

	locations->frames.count = 0;
	assert_true(VECTOR_RESERVE(&locations->frames, frames));
	for (size_t i = 0; i < frames; i++) {
		uint32_t file = fixture->capture.frames.items[i].file;

		locations->frames.items[locations->frames.count++] = (struct located_frame){
			.uses = 1, .file = file, .has_name = file == NAMED
		};
	}
	nameless_count(fixture->nameless, &fixture->capture, locations);
	capture_clear(&fixture->capture, 1000);
}

static void the_files_and_their_remedies_are_told(void **state)
{
	struct fixture *fixture = *state;

	sample(fixture, NAMED, 40);
	sample(fixture, LIBC, 30);
	sample(fixture, GZIP, 20);
	sample(fixture, ALIEN, 10);
	count(fixture);
	nameless_tell(fixture->nameless, clock_monotonic_ns(), true);
	assert_string_equal(line,
			    "60 % of samples have no name: libc.so.6 (install libc6-dbg), gzip "
			    "(install gzip-dbgsym), a?[31m? (stripped, build id abcd)");
}

static void other_package_managers_and_files_that_were_not_read(void **state)
{
	struct fixture *fixture = *state;

	sample(fixture, FOREIGN, 40);
	sample(fixture, UNREAD, 30);
	sample(fixture, LIBC, 1);
	count(fixture);
	nameless_tell(fixture->nameless, clock_monotonic_ns(), true);
	assert_string_equal(line,
			    "100 % of samples have no name: foreign (install the debuginfo of its "
			    "package: rpm -qf /usr/bin/foreign), unread (not read), and 1 more");
}

static void a_fifth_is_no_matter(void **state)
{
	struct fixture *fixture = *state;

	sample(fixture, NAMED, 80);
	sample(fixture, LIBC, 20);
	count(fixture);
	nameless_tell(fixture->nameless, clock_monotonic_ns(), true);
	assert_int_equal(line_count, 0);
}

static void once_after_a_minute_then_every_hour(void **state)
{
	struct fixture *fixture = *state;
	uint64_t begin = clock_monotonic_ns();

	sample(fixture, LIBC, 100);
	count(fixture);
	nameless_tell(fixture->nameless, begin + 50 * SECOND, false);
	assert_int_equal(line_count, 0);
	nameless_tell(fixture->nameless, begin + 61 * SECOND, false);
	assert_int_equal(line_count, 1);
	sample(fixture, LIBC, 100);
	count(fixture);
	nameless_tell(fixture->nameless, begin + 3600 * SECOND, false);
	assert_int_equal(line_count, 1);
	nameless_tell(fixture->nameless, begin + 3662 * SECOND, false);
	assert_int_equal(line_count, 2);
	// At the end it has been said.
	sample(fixture, LIBC, 100);
	count(fixture);
	nameless_tell(fixture->nameless, begin + 3700 * SECOND, true);
	assert_int_equal(line_count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_files_and_their_remedies_are_told, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(other_package_managers_and_files_that_were_not_read,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_fifth_is_no_matter, set_up, tear_down),
		cmocka_unit_test_setup_teardown(once_after_a_minute_then_every_hour, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

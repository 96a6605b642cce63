// SPDX-License-Identifier: Apache-2.0
/* Addresses to names, through real workers; only `processes` is made up. */
#include "elf_files.h"
#include "fake_host.h"

#include "receiver/ebpf/symbols/symbols.h"
#include "receiver/ebpf/worker/worker.h"
#include "tests/unit/ebpf/passed_time.h"
#include "tests/unit/ebpf/unwind/made_elf.h"
#include "tests/unit/ebpf/unwind/made_pclntab.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define MS 1000000ull

/* A lookup may take SLOW_MS on a busy machine; what waits for an hour hangs. */
enum { MAX_FILES = 64, MAX_DEBUG = 4, SLOW_MS = 120000, FOR_EVER_MS = 3600000 };

/* Stands in for the real one: file ids are places in a table of paths. */
struct processes {
	char paths[MAX_FILES][128]; /* "": cannot be opened */
	unsigned int opened[MAX_FILES];
	const pid_t *stops;     /* a worker that is stopped when a debug file is opened; or NULL */
	bool shared[MAX_FILES]; /* by processes of several roots */
	bool stale[MAX_FILES];  /* written to since they were met */
	struct debug_place {
		uint32_t file;
		const char *path;
		bool by_link, in_own_root;
	} debug[MAX_DEBUG];
};

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

struct origin processes_file_origin(struct processes *processes, uint32_t file, bool own)
{
	(void)processes;
	(void)file;
	(void)own;
	return (struct origin){ .owner = OWNER_MACHINE };
}

int processes_open_file(struct processes *processes, uint32_t file)
{
	int fd;

	assert_true(file < MAX_FILES);
	processes->opened[file]++;
	if (!processes->paths[file][0])
		return -ENOENT;
	fd = open(processes->paths[file], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

bool processes_file_is_stale(struct processes *processes, uint32_t file)
{
	return processes->stale[file];
}

/* Debug files: places in a table of paths, tried in that order. */
int processes_open_debug(struct processes *processes, uint32_t file,
			 const struct process_debug_query *query, size_t *candidate,
			 struct process_debug_file *ret)
{
	(void)query;
	while (*candidate < MAX_DEBUG) {
		const struct debug_place *place = &processes->debug[(*candidate)++];

		if (!place->path || place->file != file)
			continue;
		*ret = (struct process_debug_file){
			.fd = open(place->path, O_RDONLY | O_CLOEXEC),
			.by_link = place->by_link,
			.in_own_root = place->in_own_root,
			.root = { 1, 2, 3 },
		};
		assert_true(ret->fd >= 0);
		if (processes->stops)
			kill(*processes->stops, SIGSTOP);
		return 0;
	}
	return -ENOENT;
}

bool processes_is_of_root(struct processes *processes, uint32_t file,
			  const struct process_root *root)
{
	assert_int_equal(root->mount, 1);
	return !processes->shared[file];
}

struct fixture {
	struct fake_host fake;
	struct processes processes;
	struct symbols *symbols;
};

static int setup_with(void **state, uint64_t memory_bytes)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct profcol_error *error;

	fake_host_init(&fixture->fake);
	fixture->symbols =
		symbols_create(&fixture->fake.host, &fixture->processes,
			       &(struct symbols_settings){ .memory_bytes = memory_bytes });
	assert_non_null(fixture->symbols);
	error = symbols_start(fixture->symbols);
	if (error)
		fail_msg("%s", profcol_error_message(error));
	*state = fixture;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, 64 << 20);
}

static int setup_small(void **state)
{
	return setup_with(state, 1 << 20);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	symbols_destroy(fixture->symbols);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	free(fixture);
	return 0;
}

static void place(struct fixture *fixture, uint32_t file, const char *path)
{
	snprintf(fixture->processes.paths[file], sizeof(fixture->processes.paths[file]), "%s",
		 path);
}

static void lookup(struct fixture *fixture, struct symbol_query *queries, size_t count, uint64_t ms)
{
	symbols_lookup(fixture->symbols, queries, count, clock_monotonic_ns() + ms * MS);
}

/* The file offset of @name, from nm; text is at equal offsets and addresses in full.so. */
struct wanted {
	const char *name;
	uint64_t address;
};

static void find_wanted(void *context, uint64_t address, char type, const char *name)
{
	struct wanted *wanted = context;

	(void)type;
	if (!strcmp(name, wanted->name))
		wanted->address = address;
}

static uint64_t address_in(const char *nm, const char *name)
{
	struct wanted wanted = { .name = name };

	nm_read(nm, find_wanted, &wanted);
	assert_true(wanted.address);
	return wanted.address;
}

static uint64_t address_of(const char *name)
{
	return address_in(SYMBOLS_FILES "/full.so.nm", name);
}

static void test_names_of_several_files_at_once(void **state)
{
	struct fixture *fixture = *state;
	uint64_t plain = address_of("fixture_plain");
	uint64_t method = address_of("_ZN3net6SocketIiE4readEPvm");
	uint64_t local = address_of("fixture_local");
	struct symbol_query queries[] = {
		{ .file = 3, .file_offset = plain + 2 },
		{ .file = 1, .file_offset = method },
		{ .file = PROCESS_NO_FILE, .file_offset = 0x1234 },
		{ .file = 3, .file_offset = local },
		{ .file = 2, .file_offset = plain },
		{ .file = 3, .file_offset = plain },
		{ .file = 1, .file_offset = local },
		{ .file = 3, .file_offset = 1ull << 40 },
	};

	place(fixture, 1, SYMBOLS_FILES "/stripped.so");
	place(fixture, 3, SYMBOLS_FILES "/full.so");
	lookup(fixture, queries, 8, SLOW_MS);
	assert_string_equal(queries[0].name, "fixture_plain");
	assert_null(queries[0].system_name);
	assert_int_equal(queries[0].elf_address, plain + 2);
	assert_string_equal(queries[1].name, "net::Socket<int>::read");
	assert_string_equal(queries[1].system_name, "_ZN3net6SocketIiE4readEPvm");
	assert_null(queries[2].name);
	assert_int_equal(queries[2].elf_address, 0x1234);
	assert_string_equal(queries[3].name, "fixture_local");
	assert_null(queries[4].name); // no such file
	assert_int_equal(queries[4].elf_address, plain);
	assert_string_equal(queries[5].name, "fixture_plain");
	assert_ptr_equal(queries[5].name, queries[0].name);
	assert_null(queries[6].name); // stripped
	assert_null(queries[7].name);
	assert_int_equal(fake_host_metric(&fixture->fake, "symbol_files_unopened", ""), 1);
}

enum { GO_TEXT = 0x401000, GO_TABLE = 0x500000, GO_BYTES = 64 };

/* A Go program of one function, with code behind it that is none; returns its text's offset. */
static uint64_t write_go_program(char path[])
{
	static const struct made_source source = {
		.start_line = 10,
		.files = { { GO_BYTES, 0 } },
		.lines = { { 32, 11 }, { GO_BYTES, 12 } },
	};
	static const struct made_function function = {
		"main.work", GO_TEXT, 0, { { GO_BYTES, 8 } }, &source
	};
	static uint8_t table[MADE_PCLNTAB_BYTES], text[2 * GO_BYTES];
	static struct made_elf elf;
	uint64_t function_data;
	size_t length =
		made_pclntab_write_sources(table, PCLNTAB_120, &function, 1, GO_TEXT + GO_BYTES,
					   GO_TEXT, GO_TABLE, &function_data);
	int fd = mkstemp(path);

	made_elf_begin(&elf, (uint16_t)worker_machine());
	made_elf_add(&elf, ".text", GO_TEXT, text, sizeof(text), 4 /* SHF_EXECINSTR */);
	made_elf_add(&elf, ".gopclntab", GO_TABLE, table, length, 0);
	made_elf_finish(&elf, true);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, elf.bytes, elf.size), elf.size);
	close(fd);
	return elf.view.segments[0].file_offset;
}

static void test_lines_are_those_of_the_file(void **state)
{
	struct fixture *fixture = *state;
	char path[] = "/tmp/profcol-go-XXXXXX";
	uint64_t text = write_go_program(path);
	struct symbol_query queries[] = {
		{ .file = 1, .file_offset = text },
		{ .file = 1, .file_offset = text + 40 },
		{ .file = 1, .file_offset = text + GO_BYTES + 8 },
	};

	place(fixture, 1, path);
	for (unsigned int round = 0; round < 3; round++) {
		lookup(fixture, queries, 3, SLOW_MS);
		assert_int_equal(queries[0].line_count, 1);
		assert_string_equal(queries[0].name, "main.work");
		assert_string_equal(queries[0].lines[0].function, "main.work");
		assert_string_equal(queries[0].lines[0].file, made_files[0]);
		assert_int_equal(queries[0].lines[0].line, 11);
		assert_int_equal(queries[0].lines[0].start_line, 10);
		assert_int_equal(queries[0].elf_address, GO_TEXT);
		assert_int_equal(queries[1].lines[0].line, 12);
		// Code that the table does not know.
		assert_int_equal(queries[2].line_count, 0);
		assert_null(queries[2].name);
		symbols_forget(fixture->symbols);
	}
	assert_int_equal(fixture->processes.opened[1], 2); // for its index, and for lines
	unlink(path);
}

static void test_what_is_known_is_not_asked_again(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_query query = { .file = 1, .file_offset = address_of("fixture_plain") };
	struct symbol_query gap = { .file = 1, .file_offset = address_of("fixture_after") - 32 };

	place(fixture, 1, SYMBOLS_FILES "/full.so");
	for (unsigned int round = 0; round < 10; round++) {
		struct symbol_query missing = { .file = 2 };

		lookup(fixture, &query, 1, SLOW_MS);
		assert_string_equal(query.name, "fixture_plain");
		lookup(fixture, &gap, 1, SLOW_MS);
		assert_null(gap.name);
		lookup(fixture, &missing, 1, SLOW_MS);
		symbols_forget(fixture->symbols);
	}
	assert_int_equal(fixture->processes.opened[1], 1); // for its index
	assert_int_equal(fixture->processes.opened[2], 1);
}

static void test_facts_and_segments(void **state)
{
	struct fixture *fixture = *state;
	uint64_t plain = address_of("fixture_plain"), start, limit, offset;
	struct symbol_query query = { .file = 1, .file_offset = plain };
	struct symbol_file file;

	place(fixture, 1, SYMBOLS_FILES "/full.so");
	assert_false(symbols_file(fixture->symbols, 1, &file));
	lookup(fixture, &query, 1, SLOW_MS);
	assert_true(symbols_file(fixture->symbols, 1, &file));
	assert_string_equal(file.build_id_gnu, "0123456789abcdef");
	assert_string_equal(file.build_id_go, "");
	assert_int_equal(strlen(file.htlhash), 32);
	assert_true(symbols_file_segment(fixture->symbols, 1, plain, &start, &limit, &offset));
	assert_true(start <= plain && plain < limit);
	assert_int_equal(start - offset, 0);
	assert_false(symbols_file_segment(fixture->symbols, 1, 1 << 30, &start, &limit, &offset));
	assert_false(symbols_file_segment(fixture->symbols, 2, 0, &start, &limit, &offset));
}

static void test_a_late_answer_is_there_the_next_time(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_query query = { .file = 1, .file_offset = address_of("fixture_plain") };
	uint64_t began_ns = clock_monotonic_ns();

	place(fixture, 1, SYMBOLS_FILES "/full.so");
	kill(fixture->fake.helpers[0], SIGSTOP);
	lookup(fixture, &query, 1, 100);
	assert_null(query.name);
	assert_true(clock_monotonic_ns() - began_ns >= 99 * MS);
	kill(fixture->fake.helpers[0], SIGCONT);
	lookup(fixture, &query, 1, SLOW_MS);
	assert_string_equal(query.name, "fixture_plain");
	assert_int_equal(fixture->processes.opened[1], 1);
}

static void test_a_slow_file_leaves_the_others_their_names(void **state)
{
	struct fixture *fixture = *state;
	uint64_t plain = address_of("fixture_plain");
	struct symbol_query slow = { .file = 1, .file_offset = plain };
	struct symbol_query queries[20];

	for (uint32_t i = 0; i < 20; i++) {
		place(fixture, i + 1, SYMBOLS_FILES "/full.so");
		queries[i] = (struct symbol_query){ .file = i + 1, .file_offset = plain };
	}
	kill(fixture->fake.helpers[0], SIGSTOP);
	lookup(fixture, &slow, 1, 1);
	lookup(fixture, queries, 20, 300);
	assert_null(queries[0].name);
	// A lookup without the slow file does not wait for it: no time passes that would end that.
	time_stands();
	lookup(fixture, queries + 1, 19, FOR_EVER_MS);
	time_goes_on();
	for (size_t i = 1; i < 20; i++)
		assert_string_equal(queries[i].name, "fixture_plain");
}

static void test_a_crash_costs_the_names_of_one_file(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_query query = { .file = 1, .file_offset = address_of("fixture_plain") };

	place(fixture, 1, SYMBOLS_FILES "/full.so");
	place(fixture, 2, SYMBOLS_FILES "/full.so");
	kill(fixture->fake.helpers[0], SIGSTOP);
	lookup(fixture, &query, 1, 10);
	kill(fixture->fake.helpers[0], SIGKILL);
	lookup(fixture, &query, 1, SLOW_MS);
	lookup(fixture, &query, 1, SLOW_MS);
	assert_null(query.name);
	assert_int_equal(fixture->processes.opened[1], 1);
	assert_int_equal(fake_host_metric(&fixture->fake, "symbol_files_given_up", "cause=crash"),
			 1);
	query.file = 2;
	lookup(fixture, &query, 1, SLOW_MS);
	assert_string_equal(query.name, "fixture_plain");
}

/* The worker has read what somebody else may have put there meanwhile. */
static void test_names_of_a_file_that_was_written_to_are_dropped(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_query query = { .file = 1, .file_offset = address_of("fixture_plain") };

	place(fixture, 1, SYMBOLS_FILES "/full.so");
	fixture->processes.stale[1] = true;
	lookup(fixture, &query, 1, SLOW_MS);
	assert_null(query.name);
}

static void test_a_fifo_does_not_block(void **state)
{
	struct fixture *fixture = *state;
	char path[] = "/tmp/profcol-fifo-XXXXXX";
	struct symbol_query query = { .file = 1, .file_offset = 64 };

	assert_non_null(mkdtemp(path));
	rmdir(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	place(fixture, 1, path);
	lookup(fixture, &query, 1, FOR_EVER_MS);
	unlink(path);
	assert_null(query.name);
	assert_int_equal(
		fake_host_metric(&fixture->fake, "symbol_files_given_up", "cause=unreadable"), 1);
}

static void test_more_queries_than_fit_in_a_request(void **state)
{
	enum { COUNT = 20000 };
	struct fixture *fixture = *state;
	CLEANUP_FREE struct symbol_query *queries = calloc(COUNT, sizeof(*queries));
	uint64_t plain = address_of("fixture_plain");
	size_t named = 0;

	place(fixture, 1, SYMBOLS_FILES "/static_pie");
	place(fixture, 2, SYMBOLS_FILES "/full.so");
	for (size_t i = 0; i < COUNT; i++)
		queries[i] =
			(struct symbol_query){ .file = 1, .file_offset = i * 7919 % COUNT * 37 };
	queries[COUNT / 2] = (struct symbol_query){ .file = 2, .file_offset = plain };
	lookup(fixture, queries, COUNT, SLOW_MS);
	for (size_t i = 0; i < COUNT; i++)
		named += queries[i].name != NULL;
	assert_true(named > COUNT / 4); // libc's functions
	assert_string_equal(queries[COUNT / 2].name, "fixture_plain");
}

static int64_t files_by(struct fixture *fixture, const char *source)
{
	return fake_host_metric(&fixture->fake, "symbol_sources", source);
}

static void test_a_debug_file_has_the_names(void **state)
{
	struct fixture *fixture = *state;
	uint64_t local = address_of("fixture_local");
	struct symbol_query queries[] = {
		{ .file = 1, .file_offset = local },
		{ .file = 2, .file_offset = local },
		{ .file = 3, .file_offset = local },
	};

	for (uint32_t file = 1; file <= 3; file++)
		place(fixture, file, SYMBOLS_FILES "/stripped.so");
	place(fixture, 2, SYMBOLS_FILES "/linked.so");
	// The first one tried is of another build.
	fixture->processes.debug[0] =
		(struct debug_place){ .file = 1, .path = SYMBOLS_FILES "/other.debug" };
	fixture->processes.debug[1] =
		(struct debug_place){ .file = 1, .path = SYMBOLS_FILES "/full.debug" };
	fixture->processes.debug[2] = (struct debug_place){ .file = 2,
							    .path = SYMBOLS_FILES "/linked.debug",
							    .by_link = true };
	lookup(fixture, queries, 3, SLOW_MS);
	assert_string_equal(queries[0].name, "fixture_local");
	assert_string_equal(queries[1].name, "fixture_local");
	assert_null(queries[2].name);
	assert_true(queries[2].unnamed);
	assert_int_equal(queries[2].entry, local);
	assert_int_equal(files_by(fixture, "source=build_id"), 1);
	assert_int_equal(files_by(fixture, "source=debuglink"), 1);
	assert_int_equal(files_by(fixture, "source=dynsym"), 1);
	assert_int_equal(fake_host_metric(&fixture->fake, "symbol_debug_files_refused", ""), 1);
}

/* What lies in a container's root names files that this container alone has. */
static void test_a_debug_file_of_a_root_is_for_its_own_files(void **state)
{
	struct fixture *fixture = *state;
	uint64_t local = address_of("fixture_local");
	struct symbol_query query = { .file = 1, .file_offset = local };

	place(fixture, 1, SYMBOLS_FILES "/stripped.so");
	fixture->processes.debug[0] = (struct debug_place){ .file = 1,
							    .path = SYMBOLS_FILES "/full.debug",
							    .in_own_root = true };
	lookup(fixture, &query, 1, SLOW_MS);
	assert_string_equal(query.name, "fixture_local");
	symbols_forget(fixture->symbols);
	// A process of another root maps the file, too: its samples do not believe that.
	fixture->processes.shared[1] = true;
	fixture->processes.debug[0].path = NULL;
	lookup(fixture, &query, 1, SLOW_MS);
	assert_null(query.name);
	assert_true(query.unnamed);
	query.file_offset = address_of("fixture_plain");
	lookup(fixture, &query, 1, SLOW_MS);
	assert_string_equal(query.name, "fixture_plain");
}

/* A debug file on which a worker fails. */
static void test_a_bad_debug_file_costs_no_other_name(void **state)
{
	char path[] = "/tmp/profcol-debug-XXXXXX";
	struct fixture *fixture = *state;
	struct symbol_query query = { .file = 1, .file_offset = address_of("fixture_plain") };
	CLEANUP_FD int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 3ll << 30), 0); // more than a worker maps
	place(fixture, 1, SYMBOLS_FILES "/stripped.so");
	fixture->processes.debug[0] = (struct debug_place){ .file = 1, .path = path };
	lookup(fixture, &query, 1, SLOW_MS);
	unlink(path);
	assert_string_equal(query.name, "fixture_plain");
	assert_int_equal(files_by(fixture, "source=dynsym"), 1);
	assert_int_equal(fake_host_metric(&fixture->fake, "symbol_debug_files_refused", ""), 1);
	assert_int_equal(fake_host_metric(&fixture->fake, "worker_crashes", "purpose=symbols"), 0);
}

static void test_a_worker_that_dies_of_a_debug_file_costs_no_other_name(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_query query = { .file = 1, .file_offset = address_of("fixture_plain") };

	place(fixture, 1, SYMBOLS_FILES "/stripped.so");
	fixture->processes.debug[0] =
		(struct debug_place){ .file = 1, .path = SYMBOLS_FILES "/full.debug" };
	fixture->processes.stops = fixture->fake.helpers;
	while (fake_host_metric(&fixture->fake, "worker_requests", "purpose=symbols") < 2)
		lookup(fixture, &query, 1, 10);
	kill(fixture->fake.helpers[0], SIGKILL);
	lookup(fixture, &query, 1, SLOW_MS);
	assert_string_equal(query.name, "fixture_plain");
	assert_int_equal(fake_host_metric(&fixture->fake, "symbol_debug_files_given_up", ""), 1);
	assert_int_equal(fake_host_metric(&fixture->fake, "symbol_files_given_up", "cause=crash"),
			 0);
}

/* Where there is no room for all indexes, those not used for longest go, and come again. */
static void test_indexes_stay_within_their_memory(void **state)
{
	enum { FILES = 60 };
	const char *const nm = SYMBOLS_FILES "/static_pie.nm";
	uint64_t plain = address_in(nm, "fixture_plain"), local = address_in(nm, "fixture_local");
	struct fixture *fixture = *state;
	int64_t kept;

	for (uint32_t file = 1; file <= FILES; file++)
		place(fixture, file, SYMBOLS_FILES "/static_pie");
	for (uint32_t round = 0; round < 2; round++) {
		passed_ns += 31000 * MS; // before, none is made again
		for (uint32_t file = 1; file <= FILES; file++) {
			struct symbol_query query = { .file = file,
						      .file_offset = round ? local : plain };

			lookup(fixture, &query, 1, SLOW_MS);
			assert_string_equal(query.name, round ? "fixture_local" : "fixture_plain");
			symbols_forget(fixture->symbols);
		}
	}
	kept = fake_host_metric(&fixture->fake, "symbol_indexes", "");
	assert_in_range(kept, 2, FILES - 1);
	assert_in_range(fake_host_metric(&fixture->fake, "symbol_index_bytes", ""), kept * 4096,
			(1 << 20) / 4 * 3);
	assert_int_equal(fake_host_metric(&fixture->fake, "symbol_index_evictions", "") + kept,
			 2 * FILES);
	assert_int_equal(fixture->processes.opened[1], 2);
}

/* Tend until the metric is @wanted; false after some seconds. */
static bool tend_until(struct fixture *fixture, const char *name, const char *label, int64_t wanted)
{
	for (int i = 0; i < 2000; i++) {
		symbols_tend(fixture->symbols);
		if (fake_host_metric(&fixture->fake, name, label) == wanted)
			return true;
		poll(NULL, 0, 10);
	}
	return false;
}

static void test_what_comes_between_lookups_is_taken_in(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_query query = { .file = 1, .file_offset = address_of("fixture_plain") };
	struct symbol_file file;

	place(fixture, 1, SYMBOLS_FILES "/full.so");
	kill(fixture->fake.helpers[0], SIGSTOP);
	lookup(fixture, &query, 1, 1);
	symbols_tend(fixture->symbols); // does not wait for it
	assert_false(symbols_file(fixture->symbols, 1, &file));
	kill(fixture->fake.helpers[0], SIGCONT);
	for (int i = 0; i < 2000 && !symbols_file(fixture->symbols, 1, &file); i++) {
		poll(NULL, 0, 10);
		symbols_tend(fixture->symbols);
	}
	assert_true(symbols_file(fixture->symbols, 1, &file));
	assert_string_equal(file.build_id_gnu, "0123456789abcdef");
}

/* One after the other, also those that nobody was asked for before the end of the lookup. */
static void test_what_a_lookup_had_no_time_for_is_read_after_it(void **state)
{
	enum { FILES = 20 };
	struct fixture *fixture = *state;
	struct symbol_query queries[FILES];
	struct symbol_file file;

	for (uint32_t i = 0; i < FILES; i++) {
		place(fixture, i + 1, SYMBOLS_FILES "/full.so");
		queries[i] = (struct symbol_query){ .file = i + 1,
						    .file_offset = address_of("fixture_plain") };
	}
	kill(fixture->fake.helpers[0], SIGSTOP);
	lookup(fixture, queries, FILES, 1);
	symbols_forget(fixture->symbols);
	kill(fixture->fake.helpers[0], SIGCONT);
	for (int i = 0; i < 2000 && symbols_tend(fixture->symbols); i++)
		poll(NULL, 0, 10);
	assert_int_equal(symbols_tend(fixture->symbols), 0);
	for (uint32_t i = 0; i < FILES; i++)
		assert_true(symbols_file(fixture->symbols, i + 1, &file));
	lookup(fixture, queries, FILES, 0);
	for (size_t i = 0; i < FILES; i++)
		assert_string_equal(queries[i].name, "fixture_plain");
}

/* The processes are not kept for the next batch, which may be long in coming. */
static void test_workers_that_hang_or_idle_end_without_a_lookup(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_query query = { .file = 1, .file_offset = address_of("fixture_plain") };

	place(fixture, 1, SYMBOLS_FILES "/full.so");
	kill(fixture->fake.helpers[0], SIGSTOP);
	lookup(fixture, &query, 1, 1);
	symbols_tend(fixture->symbols);
	assert_int_equal(fake_host_metric(&fixture->fake, "workers", "purpose=symbols"), 1);
	passed_ns += 6000 * MS;
	assert_true(tend_until(fixture, "workers", "purpose=symbols", 0));
	assert_int_equal(fake_host_metric(&fixture->fake, "worker_timeouts", "purpose=symbols"), 1);
	assert_int_equal(fake_host_metric(&fixture->fake, "symbol_files_given_up", "cause=timeout"),
			 1);
	query.file = 2;
	place(fixture, 2, SYMBOLS_FILES "/full.so");
	lookup(fixture, &query, 1, SLOW_MS);
	assert_string_equal(query.name, "fixture_plain");
	symbols_tend(fixture->symbols);
	assert_int_equal(fake_host_metric(&fixture->fake, "workers", "purpose=symbols"), 1);
	passed_ns += 31000 * MS;
	assert_true(tend_until(fixture, "workers", "purpose=symbols", 0));
	assert_int_equal(fake_host_metric(&fixture->fake, "worker_timeouts", "purpose=symbols"), 1);
	// What is known stays.
	query.name = NULL;
	lookup(fixture, &query, 1, 0);
	assert_string_equal(query.name, "fixture_plain");
}

static void test_a_kernel_function_has_its_name(void **state)
{
	struct fixture *fixture = *state;
	struct kernel_symbol symbol;

	assert_false(symbols_kernel(fixture->symbols, 0x1000, &symbol));
	symbols_forget(fixture->symbols);
}

static void test_without_workers_lookups_return_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct symbol_query query = { .file = 1, .file_offset = 64 };
	siginfo_t info;

	place(fixture, 1, SYMBOLS_FILES "/full.so");
	fixture->fake.spawn_fails = true;
	kill(fixture->fake.helpers[0], SIGKILL);
	waitid(P_PID, (id_t)fixture->fake.helpers[0], &info, WEXITED | WNOWAIT);
	lookup(fixture, &query, 1, FOR_EVER_MS);
	assert_null(query.name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names_of_several_files_at_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_lines_are_those_of_the_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_known_is_not_asked_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_facts_and_segments, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_late_answer_is_there_the_next_time, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_slow_file_leaves_the_others_their_names,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_crash_costs_the_names_of_one_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_names_of_a_file_that_was_written_to_are_dropped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_fifo_does_not_block, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more_queries_than_fit_in_a_request, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_debug_file_has_the_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_debug_file_of_a_root_is_for_its_own_files,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_bad_debug_file_costs_no_other_name, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_a_worker_that_dies_of_a_debug_file_costs_no_other_name, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_indexes_stay_within_their_memory, setup_small,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_comes_between_lookups_is_taken_in, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_a_lookup_had_no_time_for_is_read_after_it,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_workers_that_hang_or_idle_end_without_a_lookup,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_kernel_function_has_its_name, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_without_workers_lookups_return_at_once, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

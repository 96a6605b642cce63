// SPDX-License-Identifier: Apache-2.0
/*
 * What is told of the running kernel's processes, what code they have, and the hashes of their
 * files. Needs root; without it every test is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "live.h"

#include "htlhash.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CODES_MAX = 1008 };

/* Of the kernel, at a fixed place: it is in maps, but nobody is told that it appears. */
static const uint64_t VSYSCALL = 0xffffffffff600000;

/* An executable line of maps; neighbours that continue each other are one. */
struct line {
	uint64_t start, limit, file_offset, inode;
	bool vdso;
};

static bool continues(const struct line *last, const struct line *line)
{
	return last->limit == line->start && last->inode == line->inode &&
	       last->vdso == line->vdso &&
	       (!line->inode || line->file_offset == last->file_offset + line->start - last->start);
}

static size_t read_lines(pid_t pid, struct line lines[CODES_MAX])
{
	CLEANUP_FREE char *maps = NULL;
	size_t count = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &maps, NULL), 0);
	for (char *text = maps, *end; *text; text = end + 1) {
		unsigned long long start, limit, offset, inode;
		struct line line;
		char rights[8];

		end = strchr(text, '\n');
		*end = '\0';
		assert_int_equal(sscanf(text, "%llx-%llx %7s %llx %*s %llu", &start, &limit, rights,
					&offset, &inode),
				 5);
		if (rights[2] != 'x' || start == VSYSCALL)
			continue;
		line = (struct line){ start, limit, inode ? offset : 0, inode,
				      strstr(text, "[vdso]") != NULL };
		if (count && continues(&lines[count - 1], &line)) {
			lines[count - 1].limit = limit;
			continue;
		}
		assert_true(count < CODES_MAX);
		lines[count++] = line;
	}
	return count;
}

static void assert_code_as_in_maps(struct fixture *fixture, const struct process_key *key)
{
	struct line lines[CODES_MAX];
	struct process_code codes[CODES_MAX];
	size_t line_count = read_lines((pid_t)key->pid, lines);
	size_t count = processes_code(fixture->processes, key, codes, CODES_MAX);

	if (count && codes[count - 1].start == VSYSCALL)
		count--;
	assert_int_equal(count, line_count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(codes[i].start, lines[i].start);
		assert_int_equal(codes[i].limit, lines[i].limit);
		assert_int_equal(codes[i].file_offset, lines[i].file_offset);
		assert_int_equal(codes[i].file == PROCESS_NO_FILE, !lines[i].inode);
		assert_int_equal(codes[i].vdso, lines[i].vdso);
	}
}

static bool is_key(const struct process_key *a, const struct process_key *b)
{
	return a->pid == b->pid && a->exec_id == b->exec_id &&
	       a->start_boottime_ns == b->start_boottime_ns;
}

/* What has been told of @key: "+" for each time it runs and has changed, "-" for the end. */
static const char *told_of(struct fixture *fixture, const struct process_key *key)
{
	static char text[256];
	size_t length = 0;

	pthread_mutex_lock(&fixture->changes_lock);
	for (size_t i = 0; i < fixture->changes.count; i++) {
		const struct live_change *change = &fixture->changes.items[i];

		if (is_key(&change->key, key) && length < sizeof(text) - 1)
			text[length++] = change->alive ? '+' : '-';
	}
	pthread_mutex_unlock(&fixture->changes_lock);
	text[length] = '\0';
	return text;
}

static void a_program_is_told_of_and_its_code_had(void **state)
{
	struct fixture *fixture = live_or_skip(state);
	struct child child = live_start(fixture, "wait", NULL);
	struct target_says says = live_hear(&child);
	struct process_key other = child.key;
	struct process_code code;

	assert_int_equal(processes_code(fixture->processes, &child.key, &code, 1), 0);
	assert_string_equal(told_of(fixture, &child.key), "");
	live_note(fixture, &child.key, says.after_ns);
	assert_string_equal(told_of(fixture, &child.key), "+");
	assert_code_as_in_maps(fixture, &child.key);
	live_note(fixture, &child.key, clock_monotonic_ns());
	assert_string_equal(told_of(fixture, &child.key), "+");
	// Another program of the same process is not this one.
	other.exec_id++;
	assert_int_equal(processes_code(fixture->processes, &other, &code, 1), 0);
	live_end(&child);
	live_catch_up(fixture);
	assert_string_equal(told_of(fixture, &child.key), "+-");
	assert_int_equal(processes_code(fixture->processes, &child.key, &code, 1), 0);
}

/* The key that @pid's program was told of by; it is waited for. */
static struct process_key await_told(struct fixture *fixture, pid_t pid)
{
	struct timespec deadline = clock_timespec(clock_monotonic_ns() + LIVE_PATIENCE_NS);
	struct process_key key = { 0 };
	int status = 0;

	pthread_mutex_lock(&fixture->changes_lock);
	for (size_t next = 0; !key.pid && !status;) {
		for (; next < fixture->changes.count; next++)
			if (fixture->changes.items[next].key.pid == (uint32_t)pid)
				key = fixture->changes.items[next].key;
		if (!key.pid)
			status = pthread_cond_clockwait(&fixture->changes_grown,
							&fixture->changes_lock, CLOCK_MONOTONIC,
							&deadline);
	}
	pthread_mutex_unlock(&fixture->changes_lock);
	assert_int_equal(key.pid, pid);
	return key;
}

static void an_exec_is_told_of_without_a_sample(void **state)
{
	struct fixture *fixture = live_or_skip(state);
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct target_says says;
	struct process_key key;
	struct child child;

	// As what is built and run at once: where the machine is idle, it is met in the same tick.
	assert_int_equal(chmod(fixture->target, 0755), 0);
	child = live_start(fixture, "wait", NULL);
	says = live_hear(&child);
	// Its files are met.
	live_note(fixture, &child.key, says.after_ns);
	live_end(&child);
	error = processes_follow_execs(fixture->processes);
	assert_null(error);
	child = live_start(fixture, "wait", NULL);
	live_hear(&child);
	key = await_told(fixture, child.pid);
	live_catch_up(fixture);
	assert_code_as_in_maps(fixture, &key);
	assert_int_equal(processes_last_sample(fixture->processes, &key), 0);
	// Samples will have this very key: what is told of them is no other program.
	live_note(fixture, &key, clock_monotonic_ns());
	assert_true(processes_last_sample(fixture->processes, &key) > 0);
	assert_null(strchr(told_of(fixture, &key), '-'));
	live_end(&child);
	live_catch_up(fixture);
	assert_non_null(strchr(told_of(fixture, &key), '-'));
}

static void a_fork_has_the_code_of_its_parent(void **state)
{
	struct fixture *fixture = live_or_skip(state);
	struct process_key self = live_key_of(getpid()), forked;
	pid_t pid = fork();
	int status;
	void *code;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	forked = live_key_of(pid);
	live_note(fixture, &forked, clock_monotonic_ns());
	live_note(fixture, &self, clock_monotonic_ns());
	assert_string_equal(told_of(fixture, &forked), "+");
	assert_string_equal(told_of(fixture, &self), "+");
	assert_code_as_in_maps(fixture, &forked);
	code = mmap(NULL, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	live_catch_up(fixture);
	assert_string_equal(told_of(fixture, &forked), "+");
	assert_string_equal(told_of(fixture, &self), "++");
	assert_code_as_in_maps(fixture, &forked);
	assert_code_as_in_maps(fixture, &self);
	munmap(code, 1 << 20);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	live_catch_up(fixture);
	assert_string_equal(told_of(fixture, &forked), "+-");
}

static void assert_hash(struct fixture *fixture, uint32_t file, const char *original)
{
	CLEANUP_FD int fd = open(original, O_RDONLY | O_CLOEXEC);
	char text[HTLHASH_HEX], found[HTLHASH_HEX] = "";
	uint8_t hash[HTLHASH_BYTES];
	struct stat stat;

	assert_true(fd >= 0 && !fstat(fd, &stat));
	assert_int_equal(htlhash_of_file(fd, (uint64_t)stat.st_size, hash), 0);
	strings_hex(text, hash, sizeof(hash));
	assert_true(processes_file_htlhash(fixture->processes, file, found));
	assert_string_equal(found, text);
}

static uint32_t file_at(struct fixture *fixture, const struct process_key *key, uint64_t time_ns,
			uint64_t address)
{
	struct process_mapping mapping = { .file = PROCESS_NO_FILE };

	assert_true(processes_find_mapping(fixture->processes, key, time_ns, address, &mapping));
	return mapping.file;
}

static void a_file_deleted_once_mapped_has_its_hash(void **state)
{
	struct fixture *fixture = live_or_skip(state);
	struct child child = live_start(fixture, "wait", NULL);
	struct target_says says = live_hear(&child);
	char ignored[HTLHASH_HEX];

	assert_int_equal(unlink(fixture->target), 0);
	assert_int_equal(unlink(fixture->plugin), 0);
	live_note(fixture, &child.key, says.after_ns);
	live_end(&child);
	live_catch_up(fixture);
	assert_hash(fixture, file_at(fixture, &child.key, says.after_ns, says.code),
		    PROCESSES_TARGET);
	assert_hash(fixture, file_at(fixture, &child.key, says.after_ns, says.plugin),
		    PROCESSES_TARGET);
	assert_false(processes_file_htlhash(fixture->processes, 4711, ignored));
}

/* The program itself without a name in any file system, as container runtimes start. */
static void run_from_memory(const struct fixture *fixture)
{
	char plugin[sizeof(fixture->plugin)];
	char *const arguments[] = { "prog", plugin, "wait", NULL };
	int fd = memfd_create("prog", 0), from = open(fixture->target, O_RDONLY);
	char bytes[4096];
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) > 0)
		if (write(fd, bytes, (size_t)got) != got)
			_exit(8);
	strcpy(plugin, fixture->plugin);
	fexecve(fd, arguments, environ);
	_exit(9);
}

static void a_program_in_memory_has_a_hash(void **state)
{
	struct fixture *fixture = live_or_skip(state);
	struct child child = live_start(fixture, "wait", run_from_memory);
	struct target_says says = live_hear(&child);

	live_note(fixture, &child.key, says.after_ns);
	live_end(&child);
	assert_hash(fixture, file_at(fixture, &child.key, says.after_ns, says.code),
		    PROCESSES_TARGET);
}

/* Threads as the receiver has them, all at once. */
struct storm {
	struct fixture *fixture;
	struct process_key self;
	atomic_bool over;
	_Atomic size_t listed;
	atomic_bool wrong;
};

/* A runtime that makes code all the time, as fast as that is taken in. */
static void *storm_map(void *context)
{
	enum { AT_ONCE = 32 };
	struct storm *storm = context;

	for (size_t i = 1; !atomic_load(&storm->over); i++) {
		void *code = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (code == MAP_FAILED || mprotect(code, 1 << 15, PROT_READ | PROT_EXEC) ||
		    mprotect(code, 1 << 16, PROT_READ | PROT_EXEC) || munmap(code, 1 << 16))
			atomic_store(&storm->wrong, true);
		if (i % AT_ONCE == 0)
			live_catch_up(storm->fixture);
	}
	return NULL;
}

static void check_code(struct storm *storm, const struct process_key *key)
{
	struct process_code codes[CODES_MAX];
	size_t count = processes_code(storm->fixture->processes, key, codes, CODES_MAX);
	char hash[HTLHASH_HEX];
	uint64_t limit = 0;

	count = count < CODES_MAX ? count : CODES_MAX;
	for (size_t i = 0; i < count; i++) {
		if (codes[i].start < limit || codes[i].limit <= codes[i].start)
			atomic_store(&storm->wrong, true);
		limit = codes[i].limit;
		if (codes[i].file != PROCESS_NO_FILE)
			processes_file_htlhash(storm->fixture->processes, codes[i].file, hash);
	}
	atomic_fetch_add(&storm->listed, count);
}

/* Whoever is told of, its code is listed. */
static void *storm_list(void *context)
{
	struct storm *storm = context;
	struct fixture *fixture = storm->fixture;
	struct live_change change;

	for (size_t next = 0; !atomic_load(&storm->over); next++) {
		struct timespec deadline = clock_timespec(clock_monotonic_ns() + LIVE_PATIENCE_NS);
		int status = 0;

		pthread_mutex_lock(&fixture->changes_lock);
		while (next >= fixture->changes.count && !atomic_load(&storm->over) && !status)
			status = pthread_cond_clockwait(&fixture->changes_grown,
							&fixture->changes_lock, CLOCK_MONOTONIC,
							&deadline);
		change.key = next < fixture->changes.count ? fixture->changes.items[next].key
							   : storm->self;
		pthread_mutex_unlock(&fixture->changes_lock);
		check_code(storm, &change.key);
		check_code(storm, &storm->self);
	}
	return NULL;
}

/* A report follows as soon as all is known. */
static void *storm_report(void *context)
{
	struct storm *storm = context;
	struct processes *processes = storm->fixture->processes;

	while (!atomic_load(&storm->over)) {
		struct process_description about;
		uint64_t now = clock_monotonic_ns();

		processes_describe(processes, &storm->self, now, &about);
		for (uint32_t file = 0; file < 8; file++) {
			int fd = processes_open_file(processes, file);

			if (fd >= 0)
				close(fd);
		}
		processes_forget(processes, now - 50000000);
		live_catch_up(storm->fixture);
	}
	return NULL;
}

/* An end is told of what was begun, and nothing after it. */
static void assert_ends_follow(const struct fixture *fixture)
{
	for (size_t i = 0; i < fixture->changes.count; i++) {
		const struct live_change *change = &fixture->changes.items[i];
		const struct live_change *before = NULL;

		for (size_t j = 0; j < i; j++)
			if (is_key(&fixture->changes.items[j].key, &change->key))
				before = &fixture->changes.items[j];
		assert_true(before ? before->alive : change->alive);
	}
}

/* Programs whose beginning has been told, but not their end. */
static size_t count_running(const struct fixture *fixture)
{
	size_t count = 0;

	for (size_t i = 0; i < fixture->changes.count; i++) {
		const struct live_change *change = &fixture->changes.items[i];
		bool last = true;

		for (size_t j = i + 1; j < fixture->changes.count && last; j++)
			last = !is_key(&fixture->changes.items[j].key, &change->key);
		count += last && change->alive;
	}
	return count;
}

/* An end that the kernel had no room to tell is found within some time. */
static void wait_for_ends(struct fixture *fixture)
{
	struct timespec deadline = clock_timespec(clock_monotonic_ns() + LIVE_PATIENCE_NS);
	int status = 0;

	pthread_mutex_lock(&fixture->changes_lock);
	while (count_running(fixture) > 1 && !status)
		status = pthread_cond_clockwait(&fixture->changes_grown, &fixture->changes_lock,
						CLOCK_MONOTONIC, &deadline);
	pthread_mutex_unlock(&fixture->changes_lock);
}

static void it_stands_a_storm(void **state)
{
	enum { PROGRAMS = 32 };
	struct fixture *fixture = live_or_skip(state);
	struct storm storm = { .fixture = fixture, .self = live_key_of(getpid()) };
	void *(*const functions[])(void *) = { storm_map, storm_list, storm_report };
	size_t ended = 0;
	pthread_t threads[3];

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, functions[i], &storm), 0);
	for (size_t i = 0; i < PROGRAMS; i++) {
		// Those that do not wait may have ended before anybody could be told of them.
		struct child child = live_start(fixture, i % 2 ? "wait" : NULL, NULL);
		struct target_says says = live_hear(&child);

		processes_note_sample(fixture->processes, &storm.self, clock_monotonic_ns());
		live_note(fixture, &child.key, says.after_ns);
		says = live_hear(&child);
		live_end(&child);
	}
	wait_for_ends(fixture);
	pthread_mutex_lock(&fixture->changes_lock);
	atomic_store(&storm.over, true);
	pthread_cond_broadcast(&fixture->changes_grown);
	pthread_mutex_unlock(&fixture->changes_lock);
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	processes_stop(fixture->processes);
	assert_false(atomic_load(&storm.wrong));
	assert_true(atomic_load(&storm.listed) > 0);
	assert_ends_follow(fixture);
	assert_int_equal(count_running(fixture), 1); // this one
	for (size_t i = 0; i < fixture->changes.count; i++)
		ended += !fixture->changes.items[i].alive;
	assert_in_range(ended, PROGRAMS / 2, PROGRAMS);
}

int main(void)
{
#define LIVE_TEST(test) cmocka_unit_test_setup_teardown(test, live_set_up, live_tear_down)
	const struct CMUnitTest tests[] = {
		LIVE_TEST(a_program_is_told_of_and_its_code_had),
		LIVE_TEST(an_exec_is_told_of_without_a_sample),
		LIVE_TEST(a_fork_has_the_code_of_its_parent),
		LIVE_TEST(a_file_deleted_once_mapped_has_its_hash),
		LIVE_TEST(a_program_in_memory_has_a_hash),
		LIVE_TEST(it_stands_a_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

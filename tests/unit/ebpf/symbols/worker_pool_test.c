// SPDX-License-Identifier: Apache-2.0
/* The pool against real, sandboxed worker processes. */
#include "fake_host.h"

#include "receiver/ebpf/symbols/file_index.h"
#include "receiver/ebpf/worker/protocol.h"
#include "receiver/ebpf/worker/worker.h"
#include "tests/unit/ebpf/passed_time.h"

#include "base/base.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#define MS 1000000ull

static const struct origin machine = { .owner = { 0, 0 } };

enum { MAX_FILES = 64, PATIENCE_MS = 120000 };

struct fixture {
	struct fake_host fake;
	struct worker_pool *pool;
	struct {
		bool answered;
		enum worker_outcome outcome;
		size_t segments, ranges;
		uint64_t index_bytes;
		char first_name[64];
	} files[MAX_FILES];
};

static void take_answer(void *context, const struct worker_answer *answer)
{
	struct fixture *fixture = context;

	assert_true(answer->file < MAX_FILES);
	assert_false(fixture->files[answer->file].answered);
	fixture->files[answer->file].answered = true;
	fixture->files[answer->file].outcome = answer->outcome;
	fixture->files[answer->file].segments = answer->segment_count;
	fixture->files[answer->file].ranges = answer->range_count;
	fixture->files[answer->file].index_bytes = answer->index.bytes;
	if (answer->range_count)
		snprintf(fixture->files[answer->file].first_name,
			 sizeof(fixture->files[answer->file].first_name), "%s",
			 answer->text + answer->ranges[0].name);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fake_host_init(&fixture->fake);
	fixture->pool = worker_pool_create(&fixture->fake.host, "purpose=test", WORKER_UID,
					   take_answer, fixture);
	*state = fixture;
	time_stands(); // no worker is slow unless a test makes it so
	return fixture->pool ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	time_goes_on();
	worker_pool_destroy(fixture->pool);
	// Nobody is left behind, not even as a zombie.
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	free(fixture);
	return 0;
}

static void start(struct fixture *fixture)
{
	struct profcol_error *error = worker_pool_start(fixture->pool);

	if (error)
		fail_msg("%s", profcol_error_message(error));
}

/* Have an index made. */
static void ask_path(struct fixture *fixture, uint32_t file, const char *path)
{
	const struct worker_index_files files = {
		.file = open(path, O_RDONLY | O_CLOEXEC),
		.index = file_index_begin(),
		.debug = -1,
	};

	assert_true(files.file >= 0);
	assert_true(files.index >= 0);
	assert_true(worker_pool_ask_index(fixture->pool, file, machine, &files));
}

static void ask(struct fixture *fixture, uint32_t file)
{
	ask_path(fixture, file, SYMBOLS_FILES "/full.so");
}

/* The last helper, which has nothing to do, is dead when this returns. */
static void kill_idle(struct fixture *fixture)
{
	pid_t last = fixture->fake.helpers[fixture->fake.helper_count - 1];
	siginfo_t info;

	kill(last, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)last, &info, WEXITED | WNOWAIT), 0);
}

/* Run until @file is answered; false after @ms. */
static bool run_until(struct fixture *fixture, uint32_t file, uint64_t ms)
{
	uint64_t deadline_ns = clock_monotonic_ns() + ms * MS;

	while (!fixture->files[file].answered && clock_monotonic_ns() < deadline_ns)
		worker_pool_run(fixture->pool, deadline_ns);
	return fixture->files[file].answered;
}

/* Let the pool do what there is to do, without waiting. */
static void turn(struct fixture *fixture)
{
	worker_pool_run(fixture->pool, 0);
}

static void expect_answer(struct fixture *fixture, uint32_t file)
{
	assert_true(run_until(fixture, file, PATIENCE_MS));
	assert_int_equal(fixture->files[file].outcome, WORKER_ANSWERED);
	assert_true(fixture->files[file].segments > 0);
}

static void test_a_file_is_answered(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	ask(fixture, 0);
	expect_answer(fixture, 0);
	assert_int_equal(fixture->fake.helper_count, 1);
	assert_false(worker_pool_is_busy(fixture->pool));
}

static void test_functions_are_found_by_the_index(void **state)
{
	const struct worker_index_files files = {
		.file = open(SYMBOLS_FILES "/full.so", O_RDONLY | O_CLOEXEC),
		.index = file_index_begin(),
		.debug = -1,
	};
	struct fixture *fixture = *state;
	CLEANUP_FD int index = dup(files.index);
	uint64_t offset = 0x1000;

	start(fixture);
	assert_true(worker_pool_ask_index(fixture->pool, 0, machine, &files));
	expect_answer(fixture, 0);
	assert_int_equal(fixture->files[0].ranges, 0);
	assert_int_equal(file_index_finish(index, fixture->files[0].index_bytes), 0);
	for (uint32_t file = 1; file < 4; file++) {
		assert_true(worker_pool_ask(fixture->pool, file, machine, dup(index), &offset, 1));
		expect_answer(fixture, file);
		assert_int_equal(fixture->files[file].ranges, 1);
	}
	// Nobody can write to it any more, and what is no index is none.
	assert_int_equal(write(index, "", 1), -1);
	assert_true(worker_pool_ask(fixture->pool, 4, machine,
				    open(SYMBOLS_FILES "/full.so", O_RDONLY | O_CLOEXEC), &offset,
				    1));
	assert_true(run_until(fixture, 4, PATIENCE_MS));
	assert_int_equal(fixture->files[4].outcome, WORKER_UNREADABLE);
}

static void test_many_files_need_one_worker(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	for (uint32_t file = 0; file < 12; file++)
		ask(fixture, file);
	for (uint32_t file = 0; file < 12; file++)
		expect_answer(fixture, file);
	assert_int_equal(fixture->fake.helper_count, 1);
}

static void test_the_queue_is_bounded(void **state)
{
	struct fixture *fixture = *state;
	uint64_t offset = 0;
	uint32_t asked = 0;

	while (worker_pool_has_room(fixture->pool, OWNER_MACHINE)) {
		assert_true(worker_pool_ask(fixture->pool, asked % MAX_FILES, machine,
					    open("/dev/null", O_RDONLY), &offset, 1));
		assert_true(++asked < 1000);
	}
	assert_false(worker_pool_ask(fixture->pool, 0, machine, open("/dev/null", O_RDONLY),
				     &offset, 1));
}

static void ask_on(struct fixture *fixture, uint32_t file, uint32_t uid, uint64_t device)
{
	const struct worker_index_files files = {
		.file = open(SYMBOLS_FILES "/full.so", O_RDONLY | O_CLOEXEC),
		.index = file_index_begin(),
		.debug = -1,
	};
	const struct origin origin = { .owner = { uid, 0 }, .device = device };

	fixture->files[file].answered = false;
	assert_true(worker_pool_ask_index(fixture->pool, file, origin, &files));
}

static void ask_of(struct fixture *fixture, uint32_t file, uint32_t uid)
{
	ask_on(fixture, file, uid, 0);
}

/* How many processes have been started, of which the last one has read a file for user @uid. */
static size_t started_for(struct fixture *fixture, uint32_t file, uint32_t uid)
{
	passed_ns += MS;
	ask_of(fixture, file, uid);
	expect_answer(fixture, file);
	return fixture->fake.helper_count;
}

static void test_a_worker_reads_for_one_owner(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	assert_int_equal(started_for(fixture, 0, 1000), 1); // it had read nobody's
	assert_int_equal(started_for(fixture, 0, 1000), 1);
	assert_int_equal(started_for(fixture, 1, 1001), 2);
	// Both are kept.
	assert_int_equal(started_for(fixture, 0, 1000), 2);
	assert_int_equal(started_for(fixture, 1, 1001), 2);
}

/* With a worker for each of as many owners as there are places, the one longest idle goes. */
static void test_workers_of_those_longest_idle_end(void **state)
{
	enum { PLACES = 8 };
	struct fixture *fixture = *state;

	start(fixture);
	for (uint32_t i = 0; i < PLACES; i++)
		assert_int_equal(started_for(fixture, i, 1000 + i), 1 + i);
	assert_int_equal(started_for(fixture, 0, 1000), PLACES);
	assert_int_equal(started_for(fixture, PLACES, 2000), PLACES + 1);
	assert_int_equal(started_for(fixture, 0, 1000), PLACES + 1);
	assert_int_equal(started_for(fixture, 1, 1001), PLACES + 2);
}

static void test_an_owner_leaves_room_for_others(void **state)
{
	struct fixture *fixture = *state;
	const struct owner greedy = { 1000, 0 }, other = { 1001, 0 };
	uint32_t asked = 0;

	while (worker_pool_has_room(fixture->pool, greedy))
		ask_of(fixture, asked++, greedy.uid);
	assert_in_range(asked, 8, 31);
	assert_true(worker_pool_has_room(fixture->pool, other));
	ask_of(fixture, asked, other.uid);
	expect_answer(fixture, asked);
}

/* A process beside which @pid does not quite end when it is killed: its tracer hears of it first.
 */
static pid_t hold(pid_t pid)
{
	int ready[2];
	pid_t tracer;
	char byte;

	assert_int_equal(pipe(ready), 0);
	tracer = fork();
	if (!tracer) {
		if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return tracer;
}

/* The time that a request may take, and the moment for which one that is late is waited for. */
static void pass_limit(struct fixture *fixture)
{
	passed_ns += 5000 * MS;
	turn(fixture);
	passed_ns += 500 * MS;
}

/* The last helper, which has nothing to do, hangs on a file of @device. Returns what holds it. */
static pid_t hang(struct fixture *fixture, uint32_t file, uint32_t uid, uint64_t device)
{
	pid_t last = fixture->fake.helpers[fixture->fake.helper_count - 1], tracer = hold(last);

	kill(last, SIGSTOP);
	ask_on(fixture, file, uid, device);
	turn(fixture);
	pass_limit(fixture);
	assert_true(run_until(fixture, file, PATIENCE_MS));
	assert_int_equal(fixture->files[file].outcome, WORKER_TIMED_OUT);
	return tracer;
}

static void test_where_workers_hang_no_others_go(void **state)
{
	enum { ALICE = 1000, BOB, CAROL, TAPE = 7, DISK };
	struct fixture *fixture = *state;
	pid_t tracers[2];

	if (geteuid() != 0) {
		print_message("workers can be traced by root only\n");
		skip();
	}
	start(fixture);
	tracers[0] = hang(fixture, 0, ALICE, TAPE);
	assert_int_equal(started_for(fixture, 1, BOB), 2);
	tracers[1] = hang(fixture, 0, BOB, TAPE);
	passed_ns += 1000 * MS;
	ask_on(fixture, 2, CAROL, TAPE);
	assert_true(run_until(fixture, 2, PATIENCE_MS));
	assert_int_equal(fixture->files[2].outcome, WORKER_MISSING);
	assert_int_equal(fake_host_metric(&fixture->fake, "worker_put_off", "purpose=test"), 1);
	ask_on(fixture, 3, CAROL, DISK);
	expect_answer(fixture, 3);
	for (size_t i = 0; i < 2; i++) {
		kill(tracers[i], SIGKILL);
		assert_int_equal(waitpid(tracers[i], NULL, 0), tracers[i]);
	}
	// They end as soon as nobody holds them.
	do {
		ask_on(fixture, 4, CAROL, TAPE);
		assert_true(run_until(fixture, 4, PATIENCE_MS));
	} while (fixture->files[4].outcome == WORKER_MISSING);
	assert_int_equal(fixture->files[4].outcome, WORKER_ANSWERED);
}

static void test_what_is_no_file_is_unreadable(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	ask_path(fixture, 0, "/dev/null");
	assert_true(run_until(fixture, 0, PATIENCE_MS));
	// A character device has no bytes: it reads as an empty file, or not at all.
	assert_int_equal(fixture->files[0].segments, 0);
	ask_path(fixture, 1, "/");
	assert_true(run_until(fixture, 1, PATIENCE_MS));
	assert_int_equal(fixture->files[1].outcome, WORKER_UNREADABLE);
	ask(fixture, 2);
	expect_answer(fixture, 2);
	assert_int_equal(fixture->fake.helper_count, 1);
}

static void test_large_files_are_read_up_to_a_limit(void **state)
{
	char path[] = "/tmp/profcol-large-XXXXXX";
	struct fixture *fixture = *state;
	CLEANUP_FD int fd = mkstemp(path);

	assert_true(fd >= 0);
	start(fixture);
	assert_int_equal(ftruncate(fd, 2000ll << 20), 0);
	ask_path(fixture, 0, path);
	ask_path(fixture, 1, path); // the first has to make room
	assert_true(run_until(fixture, 0, PATIENCE_MS));
	assert_true(run_until(fixture, 1, PATIENCE_MS));
	assert_int_equal(fixture->files[0].outcome, WORKER_ANSWERED);
	assert_int_equal(fixture->files[1].outcome, WORKER_ANSWERED);
	assert_int_equal(ftruncate(fd, 2050ll << 20), 0);
	ask_path(fixture, 2, path);
	assert_true(run_until(fixture, 2, PATIENCE_MS));
	assert_int_equal(fixture->files[2].outcome, WORKER_UNREADABLE);
	unlink(path);
	assert_int_equal(fixture->fake.helper_count, 1);
}

static void test_a_slow_file_holds_up_nobody(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	kill(fixture->fake.helpers[0], SIGSTOP);
	ask(fixture, 0);
	ask(fixture, 1);
	ask(fixture, 2);
	turn(fixture);
	passed_ns += 99 * MS;
	turn(fixture);
	assert_int_equal(fixture->fake.helper_count, 1);
	passed_ns += MS;
	expect_answer(fixture, 1);
	expect_answer(fixture, 2);
	assert_false(fixture->files[0].answered);
	assert_int_equal(fixture->fake.helper_count, 2);
	// It may come late.
	kill(fixture->fake.helpers[0], SIGCONT);
	expect_answer(fixture, 0);
}

static void test_a_hang_ends_after_five_seconds(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	kill(fixture->fake.helpers[0], SIGSTOP);
	ask(fixture, 0);
	turn(fixture);
	passed_ns += 4999 * MS;
	turn(fixture);
	assert_false(fixture->files[0].answered);
	passed_ns += MS;
	turn(fixture);
	passed_ns += 499 * MS;
	turn(fixture);
	assert_false(fixture->files[0].answered);
	passed_ns += MS;
	assert_true(run_until(fixture, 0, PATIENCE_MS));
	assert_int_equal(fixture->files[0].outcome, WORKER_TIMED_OUT);
	assert_int_equal(fake_host_metric(&fixture->fake, "worker_timeouts", "purpose=test"), 1);
	ask(fixture, 1);
	expect_answer(fixture, 1);
}

/* As a virtual machine that gets no CPU: nobody ran, and no file is at fault. */
static void test_where_all_stood_still_nobody_is_given_up(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	for (uint32_t file = 0; file < 2; file++) {
		kill(fixture->fake.helpers[0], SIGSTOP);
		ask(fixture, file);
		turn(fixture);
		passed_ns += 60000 * MS;
		turn(fixture);
		assert_false(fixture->files[file].answered);
		kill(fixture->fake.helpers[0], SIGCONT);
		expect_answer(fixture, file);
	}
	assert_int_equal(fixture->fake.helper_count, 1);
}

static void test_killed_in_the_middle_the_next_file_works(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	for (uint32_t file = 0; file < 10; file += 2) {
		size_t last = fixture->fake.helper_count - 1;

		kill(fixture->fake.helpers[last], SIGSTOP);
		ask(fixture, file);
		turn(fixture);
		assert_false(fixture->files[file].answered);
		kill(fixture->fake.helpers[last], SIGKILL);
		assert_true(run_until(fixture, file, PATIENCE_MS));
		assert_int_equal(fixture->files[file].outcome, WORKER_CRASHED);
		ask(fixture, file + 1);
		expect_answer(fixture, file + 1);
		assert_int_equal(fixture->fake.helper_count, last + 2);
	}
	assert_int_equal(fake_host_metric(&fixture->fake, "worker_crashes", "purpose=test"), 5);
}

static void test_killed_while_idle_nothing_is_lost(void **state)
{
	struct fixture *fixture = *state;

	start(fixture);
	kill_idle(fixture);
	ask(fixture, 0);
	expect_answer(fixture, 0);
	assert_int_equal(fixture->fake.helper_count, 2);
}

static void test_restarts_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	uint64_t began_ns = clock_monotonic_ns(), elapsed_ns = 0;
	size_t count = 1;

	time_goes_on();
	start(fixture);
	while (count < 8 || elapsed_ns < 1000 * MS) {
		kill_idle(fixture);
		fixture->files[0].answered = false;
		ask(fixture, 0);
		// 8 at once, that is without waiting, however slow the machine is.
		worker_pool_run(fixture->pool, 0);
		if (count < 8)
			assert_int_equal(fixture->fake.helper_count, count + 1);
		expect_answer(fixture, 0);
		count = fixture->fake.helper_count;
		elapsed_ns = clock_monotonic_ns() - began_ns;
		// Then two a second, of which the first is at once.
		assert_true(count <= 9 + elapsed_ns / (500 * MS));
	}
}

/* All pages of a file that has always the same content. */
static void ask_pages(struct fixture *fixture, uint32_t file, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(worker_pool_ask_pages(fixture->pool, file, machine, 77, fd, NULL, 0));
}

/* The file shrinks after the worker has mapped it. */
static void test_a_truncated_file_costs_one_worker(void **state)
{
	char path[] = "/tmp/profcol-truncated-XXXXXX";
	struct fixture *fixture = *state;
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP_FD int fd = mkstemp(path);
	size_t size;

	assert_true(fd >= 0);
	assert_int_equal(file_read(AT_FDCWD, SYMBOLS_FILES "/full.so", 1 << 20, &bytes, &size), 0);
	assert_int_equal(write(fd, bytes, size), size);
	start(fixture);
	ask_pages(fixture, 0, path);
	expect_answer(fixture, 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	ask_pages(fixture, 1, path); // it is mapped still
	assert_true(run_until(fixture, 1, PATIENCE_MS));
	unlink(path);
	assert_int_equal(fixture->files[1].outcome, WORKER_CRASHED);
	ask(fixture, 2);
	expect_answer(fixture, 2);
}

/* Is @pid gone within @ms? */
static bool has_ended(int pidfd, int ms)
{
	struct pollfd polled = { .fd = pidfd, .events = POLLIN };

	return poll(&polled, 1, ms) == 1;
}

static void expect_end_with_parent(bool stopped)
{
	CLEANUP_FD int pidfd = -1;
	int report[2];
	pid_t parent, worker;

	assert_int_equal(pipe(report), 0);
	parent = fork();
	if (!parent) {
		struct fixture fixture = { 0 };

		fake_host_init(&fixture.fake);
		fixture.pool = worker_pool_create(&fixture.fake.host, "purpose=test", WORKER_UID,
						  take_answer, &fixture);
		if (worker_pool_start(fixture.pool))
			_exit(1);
		if (write(report[1], &fixture.fake.helpers[0], sizeof(pid_t)) != sizeof(pid_t))
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(report[0], &worker, sizeof(worker)), sizeof(worker));
	pidfd = (int)syscall(SYS_pidfd_open, worker, 0);
	assert_true(pidfd >= 0);
	if (stopped)
		kill(worker, SIGSTOP);
	assert_false(has_ended(pidfd, 10));
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	assert_true(has_ended(pidfd, PATIENCE_MS));
	close(report[0]);
	close(report[1]);
}

static void test_workers_end_with_their_parent(void **state)
{
	(void)state;
	expect_end_with_parent(false);
	expect_end_with_parent(true);
}

static int dumb_body(int socket)
{
	(void)socket;
	return 1;
}

static int killed_body(int socket)
{
	(void)socket;
	return raise(SIGKILL);
}

static int babbling_body(int socket)
{
	char noise[4096];

	memset(noise, 0x5a, sizeof(noise));
	while (send(socket, noise, sizeof(noise), MSG_NOSIGNAL) > 0)
		;
	return 0;
}

static int complaining_body(int socket)
{
	static const char text[] = "install system call filter: \033[31mno";
	const struct protocol_header header = { .magic = PROTOCOL_MAGIC,
						.status = 1,
						.body_bytes = sizeof(text) - 1 };

	(void)!write(socket, &header, sizeof(header));
	(void)!write(socket, text, sizeof(text) - 1);
	return 1;
}

/* Ready, and then a well-formed answer whose content is noise. */
static int lying_body(int socket)
{
	struct protocol_header header = { .magic = PROTOCOL_MAGIC };
	char noise[64] = { 1 };
	struct protocol_request request;
	struct protocol_hello hello;

	(void)!recv(socket, &hello, sizeof(hello), MSG_WAITALL);
	(void)!write(socket, &header, sizeof(header));
	if (recv(socket, &request, sizeof(request), MSG_WAITALL) != sizeof(request))
		return 1;
	header.id = request.id;
	header.body_bytes = sizeof(noise);
	(void)!write(socket, &header, sizeof(header));
	(void)!write(socket, noise, sizeof(noise));
	pause();
	return 0;
}

static void expect_start_error(struct fixture *fixture, const char *text)
{
	struct profcol_error *error = worker_pool_start(fixture->pool);

	assert_non_null(error);
	if (!strstr(profcol_error_message(error), text))
		fail_msg("'%s' lacks '%s'", profcol_error_message(error), text);
	profcol_error_destroy(error);
}

static void test_a_worker_that_cannot_start_says_why(void **state)
{
	struct fixture *fixture = *state;

	fixture->fake.body = complaining_body;
	expect_start_error(fixture, "cannot start the process that reads files of programs: "
				    "install system call filter: ");
	fixture->fake.body = dumb_body;
	expect_start_error(fixture, "ended before it was ready, with exit code 1");
	fixture->fake.body = killed_body;
	expect_start_error(fixture, "ended before it was ready, killed by SIGKILL");
	fixture->fake.body = babbling_body;
	expect_start_error(fixture, "its first words make no sense");
	fixture->fake.spawn_fails = true;
	expect_start_error(fixture, "no process today");
	// Nobody waits for what cannot be had.
	ask(fixture, 0);
	assert_true(run_until(fixture, 0, 500));
	assert_int_equal(fixture->files[0].outcome, WORKER_MISSING);
}

static void test_a_lying_worker_is_replaced(void **state)
{
	struct fixture *fixture = *state;

	fixture->fake.body = lying_body;
	start(fixture);
	fixture->fake.body = worker_helper;
	ask(fixture, 0);
	assert_true(run_until(fixture, 0, PATIENCE_MS));
	assert_int_equal(fixture->files[0].outcome, WORKER_MISBEHAVED);
	assert_int_equal(fake_host_metric(&fixture->fake, "worker_bad_answers", "purpose=test"), 1);
	ask(fixture, 1);
	expect_answer(fixture, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_file_is_answered, setup, teardown),
		cmocka_unit_test_setup_teardown(test_functions_are_found_by_the_index, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_many_files_need_one_worker, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_queue_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_no_file_is_unreadable, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_large_files_are_read_up_to_a_limit, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_worker_reads_for_one_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_workers_of_those_longest_idle_end, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_an_owner_leaves_room_for_others, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_where_workers_hang_no_others_go, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_slow_file_holds_up_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(test_where_all_stood_still_nobody_is_given_up,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_hang_ends_after_five_seconds, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_killed_in_the_middle_the_next_file_works,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed_while_idle_nothing_is_lost, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_restarts_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_truncated_file_costs_one_worker, setup,
						teardown),
		cmocka_unit_test(test_workers_end_with_their_parent),
		cmocka_unit_test_setup_teardown(test_a_worker_that_cannot_start_says_why, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_lying_worker_is_replaced, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* Runs a service of fake components in a child process and sends it signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/service.h"

#include "fake_components.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 30000 };

struct running {
	pid_t pid;
	int log_fd;
	char log[16384];
	size_t length;
};

static const struct service_settings settings = {
	.version = "0.0.0-test",
	.grace_ns = 5 * PROFCOL_SECOND,
};

static uint64_t drain_ns = 5 * PROFCOL_SECOND;

static const char *const warnings[] = { "test.yaml:9:3: exporters::debug: not used" };

/* r -> e, as the child's whole life; prints an error as the program does. */
static _Noreturn void live(int log_fd, const struct service_settings *given,
			   const struct fake_options *receiver, const struct fake_options *exporter)
{
	const struct config_component components[] = {
		FAKE_COMPONENT(fake_receiver, "r", receiver),
		FAKE_COMPONENT(fake_exporter, "e", exporter),
	};
	const struct config_pipeline pipeline = {
		.id = "profiles",
		.receivers = FAKE_POSITIONS(0),
		.receiver_count = 1,
		.exporters = FAKE_POSITIONS(1),
		.exporter_count = 1,
	};
	struct config config = { .components = components,
				 .component_count = 2,
				 .pipelines = &pipeline,
				 .pipeline_count = 1,
				 .service = { .shutdown_timeout_ns = drain_ns,
					      .logs = { .level = PROFCOL_INFO,
							.disable_caller = true } },
				 .warnings = warnings,
				 .warning_count = 1 };
	struct service_settings mine = *given;
	struct profcol_error *error;

	prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that fails leaves nobody behind
	mine.log_fd = log_fd;
	error = service_run(&mine, &config);
	if (error)
		dprintf(log_fd, "Error: %s\n", profcol_error_message(error));
	exit(error ? 3 : 0);
}

static void start(struct running *running, const struct service_settings *given,
		  const struct fake_options *receiver, const struct fake_options *exporter)
{
	int pipe_fds[2];

	*running = (struct running){ 0 };
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	running->pid = fork();
	assert_true(running->pid >= 0);
	if (running->pid == 0)
		live(pipe_fds[1], given, receiver, exporter);
	close(pipe_fds[1]);
	running->log_fd = pipe_fds[0];
}

/* Read until @text is in the log; NULL reads to its end. */
static void await(struct running *running, const char *text)
{
	while (!text || !strstr(running->log, text)) {
		struct pollfd log = { .fd = running->log_fd, .events = POLLIN };
		ssize_t length;

		if (poll(&log, 1, PATIENCE_MS) != 1)
			fail_msg("'%s' did not come after:\n%s", text ? text : "the end",
				 running->log);
		length = read(running->log_fd, running->log + running->length,
			      sizeof(running->log) - 1 - running->length);
		assert_true(length >= 0);
		if (length == 0 && text)
			fail_msg("'%s' did not come in:\n%s", text, running->log);
		if (length == 0)
			return;
		running->length += (size_t)length;
	}
}

/* Read the rest of the log and return the exit code. */
static int finish(struct running *running)
{
	int status;

	await(running, NULL);
	close(running->log_fd);
	assert_int_equal(waitpid(running->pid, &status, 0), running->pid);
	if (!WIFEXITED(status))
		fail_msg("ended by signal %d:\n%s", WTERMSIG(status), running->log);
	return WEXITSTATUS(status);
}

static void expect_line(const struct running *running, const char *text)
{
	if (!strstr(running->log, text))
		fail_msg("no '%s' in:\n%s", text, running->log);
}

static void a_signal_drains_and_ends_with_the_exit_line(void **state)
{
	static const struct fake_options receiver = { .takes = 40, .loses = 3 }, exporter;
	static const int numbers[] = { SIGINT, SIGTERM };
	static const char *const names[] = { "interrupt", "terminated" };
	struct running running;
	char line[64];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		start(&running, &settings, &receiver, &exporter);
		await(&running, "\tEverything is ready. "
				"Begin running and processing data.\t");
		kill(running.pid, numbers[i]);
		assert_int_equal(finish(&running), 0);
		snprintf(line, sizeof(line), "\"signal\": \"%s\"}", names[i]);
		expect_line(&running, "\tReceived signal from OS\t");
		expect_line(&running, line);
		expect_line(&running, "\tStarting profcol...\t");
		expect_line(&running, ", \"Version\": \"0.0.0-test\", \"NumCPU\": ");
		expect_line(&running, "\ttest.yaml:9:3: exporters::debug: not used\t");
		expect_line(&running, "\tStarting shutdown...\t");
		expect_line(&running, "\tShutdown complete.\t");
		// The batch that the receiver pushed when it was shut down has arrived.
		expect_line(&running, "\tsamples: taken=40 exported=37 filtered=0 "
				      "lost=3 (ring_buffer_full=3)\t");
	}
}

/* A component that cannot let the process go on; what it has is drained all the same. */
static void a_fatal_error_ends_the_run_in_order(void **state)
{
	static const struct fake_options receiver = { .takes = 4, .fatal = true }, exporter;
	struct running running;

	(void)state;
	start(&running, &settings, &receiver, &exporter);
	assert_int_equal(finish(&running), 3);
	expect_line(&running, "\tcannot go on: the test says so\t");
	expect_line(&running, "\tAsynchronous error received, terminating process: "
			      "receiver 'r': the test says so\t");
	expect_line(&running, "\tShutdown complete.\t");
	expect_line(&running, "samples: taken=4 exported=4 filtered=0 lost=0\t");
	expect_line(&running, "Error: receiver 'r': the test says so\n");
}

static void a_second_signal_ends_at_once(void **state)
{
	static atomic_bool hangs = true;
	static const struct fake_options plain, hanging = { .hangs = &hangs };
	struct running running;

	(void)state;
	drain_ns = 3600 * (uint64_t)PROFCOL_SECOND;
	start(&running, &settings, &plain, &hanging);
	await(&running, "Everything is ready");
	kill(running.pid, SIGTERM);
	await(&running, "Starting shutdown...");
	kill(running.pid, SIGINT);
	assert_int_equal(finish(&running), 1);
	assert_null(strstr(running.log, "Shutdown complete"));
}

/* As timeout(1) does: it signals its child, then the group that both are in. */
static void one_request_may_come_twice(void **state)
{
	static const struct fake_options plain;
	struct running running;

	(void)state;
	start(&running, &settings, &plain, &plain);
	await(&running, "Everything is ready");
	kill(running.pid, SIGSTOP);
	kill(running.pid, SIGTERM);
	kill(running.pid, SIGCONT);
	kill(running.pid, SIGTERM);
	assert_int_equal(finish(&running), 0);
}

/* The exporter, which is started first. The receiver is not started any more. */
static void a_start_that_waits_can_be_ended(void **state)
{
	static const struct fake_options exporter = { .waits = true };
	static const struct fake_options receiver = { .start_fails = PROFCOL_SYSTEM };
	struct running running;

	(void)state;
	start(&running, &settings, &receiver, &exporter);
	await(&running, "\tStarting profcol...\t");
	kill(running.pid, SIGTERM);
	assert_int_equal(finish(&running), 0);
	expect_line(&running, "\tReceived signal from OS\t");
	expect_line(&running, "samples: taken=0 exported=0 filtered=0 lost=0\t");
	assert_null(strstr(running.log, "Everything is ready"));
}

/* A component that is started meanwhile may give up: who waits is told as well. */
static void a_start_that_waits_is_ended_by_a_fatal_error(void **state)
{
	static const struct fake_options exporter = { .waits = true, .fatal = true }, receiver;
	struct running running;

	(void)state;
	start(&running, &settings, &receiver, &exporter);
	assert_int_equal(finish(&running), 3);
	expect_line(&running, "Error: exporter 'e': the test says so\n");
	assert_null(strstr(running.log, "Everything is ready"));
}

static void a_component_that_hangs_cannot_hold_the_process(void **state)
{
	static atomic_bool hangs = true;
	static const struct fake_options receiver = { .takes = 5 }, hanging = { .hangs = &hangs };
	struct service_settings hasty = settings;
	struct running running;

	(void)state;
	drain_ns = 50 * PROFCOL_MILLISECOND;
	hasty.grace_ns = 50 * PROFCOL_MILLISECOND;
	start(&running, &hasty, &receiver, &hanging);
	await(&running, "Everything is ready");
	kill(running.pid, SIGTERM);
	assert_int_equal(finish(&running), 1);
	expect_line(&running, "\texporter 'e' has not shut down in time, "
			      "ending without it\t");
	expect_line(&running, "samples: taken=5 exported=5 filtered=0 lost=0\t");
}

static void a_failed_start_ends_with_its_reason(void **state)
{
	static const struct fake_options plain;
	static const struct fake_options failing = { .start_fails = PROFCOL_UNSUPPORTED };
	struct running running;

	(void)state;
	start(&running, &settings, &failing, &plain);
	assert_int_equal(finish(&running), 3);
	expect_line(&running, "Error: cannot start pipelines: receiver 'r': start refused by the "
			      "test\n");
	assert_null(strstr(running.log, "Everything is ready"));
}

static void a_failed_shutdown_is_an_error_after_the_exit_line(void **state)
{
	static const struct fake_options plain;
	static const struct fake_options failing = { .shutdown_fails = PROFCOL_SYSTEM };
	struct running running;

	(void)state;
	start(&running, &settings, &plain, &failing);
	await(&running, "Everything is ready");
	kill(running.pid, SIGTERM);
	assert_int_equal(finish(&running), 3);
	expect_line(&running, "samples: taken=0 exported=0 filtered=0 lost=0\t");
	expect_line(&running, "Error: failed to shutdown pipelines: exporter 'e': shutdown refused "
			      "by the test\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_drains_and_ends_with_the_exit_line),
		cmocka_unit_test(a_fatal_error_ends_the_run_in_order),
		cmocka_unit_test(a_second_signal_ends_at_once),
		cmocka_unit_test(one_request_may_come_twice),
		cmocka_unit_test(a_start_that_waits_can_be_ended),
		cmocka_unit_test(a_start_that_waits_is_ended_by_a_fatal_error),
		cmocka_unit_test(a_component_that_hangs_cannot_hold_the_process),
		cmocka_unit_test(a_failed_start_ends_with_its_reason),
		cmocka_unit_test(a_failed_shutdown_is_an_error_after_the_exit_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/*
 * `record`: the pipelines of a service with a configuration of its own, from the start to the end
 * of what is recorded, into one file.
 */
#include "command.h"
#include "own_config.h"
#include "profile_file.h"
#include "profile_page.h"
#include "record_config.h"
#include "record_output.h"
#include "record_program.h"

#include "base/base.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

enum {
	PROGRESS_MS = 500,
	NO_END_MS = 1000 * 1000 * 1000,
	HOTTEST = 10, /* functions that are shown at the end */
};

/* That a program gets to end after it was asked to. */
static const uint64_t program_end_ns = 5 * PROFCOL_SECOND;

struct recording {
	const struct record_options *options; /* borrowed */
	struct record_output output;
	struct record_program program; /* pid 0 = there is none */
	int target_fd;                 /* owned; of the process that --pid names; -1 = none */
	int stop_fd;                   /* owned: the follower is to end */
	bool shows_progress;

	/* Of the follower, from `started` to `ending`. */
	struct service *service; /* borrowed */
	pthread_t follower;
	bool follows;
	uint64_t most_processes;
	int signal;         /* that has ended the recording; 0: none has */
	bool ended_program; /* it was us */
};

static void recording_deinit(struct recording *recording)
{
	record_program_deinit(&recording->program);
	record_output_deinit(&recording->output);
	if (recording->target_fd >= 0)
		close(recording->target_fd);
	if (recording->stop_fd >= 0)
		close(recording->stop_fd);
}

/* ---- following ---- */

/* The cursor stays at the begin of the line, so that a log line takes its place. */
static void show_progress(const struct recording *recording, const struct service_samples *samples,
			  uint64_t since_ns)
{
	uint64_t seconds = (clock_monotonic_ns() - since_ns) / PROFCOL_SECOND;

	if (recording->shows_progress)
		fprintf(stderr,
			"%02" PRIu64 ":%02" PRIu64 "  %" PRIu64 " samples, %" PRIu64 " %s, %" PRIu64
			" lost; Ctrl-C ends\033[K\r",
			seconds / 60, seconds % 60,
			samples->taken - samples->filtered - samples->lost,
			recording->most_processes,
			recording->most_processes == 1 ? "process" : "processes", samples->lost);
}

/* Is only a part of the machine recorded? */
static bool selects(const struct recording *recording)
{
	return recording->program.pid || own_config_is_part(recording->options);
}

/* Until it is told to stop, or what is recorded is over, which it tells the service. */
static void *follow(void *argument)
{
	struct recording *recording = argument;
	uint64_t start_ns = clock_monotonic_ns();
	uint64_t seconds = recording->options->seconds ? recording->options->seconds : NO_END_MS;
	uint64_t end_ns = start_ns + seconds * PROFCOL_SECOND;
	struct pollfd fds[] = {
		{ .fd = recording->stop_fd, .events = POLLIN },
		{ .fd = recording->program.pid ? recording->program.pid_fd : recording->target_fd,
		  .events = POLLIN },
	};

	while (clock_monotonic_ns() < end_ns) {
		struct service_samples samples = service_count(recording->service);
		uint64_t processes = selects(recording) ? samples.selected : samples.processes;

		if (processes > recording->most_processes)
			recording->most_processes = processes;
		show_progress(recording, &samples, start_ns);
		poll(fds, 2, own_config_time_left_ms(end_ns, PROGRESS_MS));
		if (fds[0].revents)
			return NULL;
		if (fds[1].revents)
			break;
	}
	service_end(recording->service);
	return NULL;
}

static void started(struct service *service, void *context)
{
	struct recording *recording = context;

	recording->service = service;
	recording->follows = !pthread_create(&recording->follower, NULL, follow, recording);
	if (!recording->follows) {
		fputs("Error: no thread to follow the recording\n", stderr);
		service_end(service);
	} else if (recording->program.pid) {
		record_program_go(&recording->program);
	}
}

static void ending(void *context)
{
	struct recording *recording = context;
	struct record_program *program = &recording->program;

	if (recording->follows) {
		(void)eventfd_write(recording->stop_fd, 1);
		pthread_join(recording->follower, NULL);
	}
	recording->follows = false;
	if (program->pid && program->go_fd < 0 && !record_program_has_ended(program)) {
		recording->ended_program = true;
		kill(program->pid, SIGTERM);
	}
	if (recording->shows_progress)
		fprintf(stderr, "writing '%s'\033[K\r", recording->options->file);
}

/* ---- from begin to end ---- */

static struct profcol_error *prepare(struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct profcol_error *error = record_output_init(&recording->output, options->file);

	if (!error && options->words)
		error = record_program_start(options->words, &recording->program);
	if (error)
		return error;
	if (options->pid)
		error = own_config_open_process(options->pid, "record", &recording->target_fd);
	if (error)
		return error;
	recording->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (recording->stop_fd < 0)
		return profcol_error_errno(errno, "record");
	return NULL;
}

static struct profcol_error *run(struct recording *recording, const struct command_line *line,
				 const struct program *program, struct service_samples *samples)
{
	int32_t pid =
		recording->program.pid ? (int32_t)recording->program.pid : recording->options->pid;
	CLEANUP_FREE char *source = record_config(recording->options, pid, &recording->output);
	const struct service_companion companion = { started, ending, recording };
	struct service_settings settings = {
		.companion = &companion,
		.samples = samples,
		.signal = &recording->signal,
	};

	return own_config_run(line, program, program->builtin, source, &settings);
}

static void print_result(const struct recording *recording, const struct service_samples *samples,
			 uint64_t size)
{
	static const char *const ways[] = {
		[RECORD_PPROF] = "go tool pprof -http=: ",
		[RECORD_FOLDED] = "speedscope, or flamegraph.pl ",
		[RECORD_OTLP] = "profcol view ",
		[RECORD_HTML] = "any browser: ",
		[RECORD_SVG] = "any browser: ",
	};
	uint64_t lost = samples->lost;

	fprintf(stderr,
		"%" PRIu64 " samples, %" PRIu64 " lost, %" PRIu64
		" KiB in '%s'; open it with: %s%s\n",
		samples->exported, lost, (size + 1023) / 1024, recording->options->file,
		ways[recording->output.form], recording->options->file);
}

/* Where the time went, in ten lines; with --serve also in the browser, until a signal comes. */
static struct profcol_error *show(struct recording *recording, struct flame *flame)
{
	struct profcol_error *error = profile_print_hottest(flame, HOTTEST, stderr);

	if (!error && recording->options->serve)
		error = profile_page_serve(flame, false, stderr);
	return error;
}

/* What has been recorded, to its place. */
static struct profcol_error *finish(struct recording *recording,
				    const struct service_samples *samples)
{
	static const char *const nothing[] = {
		[RECORD_CPU] = "what was recorded has used too little CPU time for --frequency",
		[RECORD_OFF_CPU] = "what was recorded has not waited for 0.1 s",
		[RECORD_WALL] = "what was recorded has used no CPU time, nor waited for 0.1 s",
		[RECORD_PAGE_FAULTS] = "what was recorded has had no page faults",
		[RECORD_MEMORY_GROWTH] = "what was recorded has taken next to no memory",
		[RECORD_WAKERS] = "what was recorded has woken no thread",
	};
	// Of a file without such attributes it is one group of all, which the page leaves out.
	const struct flame_settings settings = {
		.group = record_form_is_otlp(recording->output.form) ? "process.executable.name"
								     : NULL,
	};
	FLAME_CLEANUP struct flame *flame = flame_create(&settings);
	PROFCOL_CLEANUP_ERROR struct profcol_error *unread = NULL;
	struct profcol_error *error;
	uint64_t size;

	if (!flame)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	error = record_output_draw(&recording->output, flame);
	if (!error && !flame_total(flame, FLAME_NOW))
		unread = record_output_read(&recording->output, flame);
	if (!error)
		error = record_output_publish(&recording->output, &size);
	if (error)
		return error;
	if (!size && samples->lost)
		return profcol_error_create(PROFCOL_SYSTEM,
					    "all %" PRIu64
					    " samples were lost, '%s' is not written; "
					    "the log lines above say why",
					    samples->lost, recording->options->file);
	if (size) {
		print_result(recording, samples, size);
		return unread ? TAKE(unread) : show(recording, flame);
	}
	fprintf(stderr, "no samples were taken, '%s' is not written: %s\n",
		recording->options->file, nothing[recording->options->event]);
	return NULL;
}

/* Of a program that has been run. */
static int program_code(struct recording *recording)
{
	struct record_program *program = &recording->program;

	if (!record_program_wait(program, clock_monotonic_ns() + program_end_ns)) {
		fprintf(stderr, "'%s' has not ended yet and goes on as process %d\n", program->name,
			(int)program->pid);
		return EXIT_SUCCESS;
	}
	// A terminal sends Ctrl-C to both; either may be the first to act on it.
	if (recording->ended_program || record_program_was_ended_by(program, recording->signal))
		return EXIT_SUCCESS;
	return record_program_code(program);
}

int command_record(const struct command_line *line, const struct program *program)
{
	CLEANUP(recording_deinit)
	struct recording recording = {
		.options = &line->record,
		.target_fd = -1,
		.stop_fd = -1,
		.shows_progress = isatty(STDERR_FILENO),
	};
	struct record_program *child = &recording.program;
	struct service_samples samples = { 0 };
	struct profcol_error *error = record_output_form(line->record.file, &recording.output.form);
	bool has_run;

	if (error)
		return commands_refuse(error);
	error = prepare(&recording);
	if (!error)
		error = run(&recording, line, program, &samples);
	// Whatever is said now stands in a line of its own.
	if (recording.shows_progress)
		fputs("\033[K", stderr);
	has_run = child->pid && child->go_fd < 0;
	if (!error && has_run && record_program_has_ended(child)) {
		error = record_program_failure(child);
		if (error) {
			fprintf(stderr, "Error: %s\n", profcol_error_message(error));
			profcol_error_destroy(error);
			return record_program_code(child);
		}
	}
	if (!error)
		error = finish(&recording, &samples);
	if (error)
		return command_fail(error);
	return has_run ? program_code(&recording) : EXIT_SUCCESS;
}

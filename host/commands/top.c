// SPDX-License-Identifier: Apache-2.0
/*
 * `top`: the hottest functions of the last seconds, on a terminal again and again, elsewhere once
 * at the end.
 */
#include "command.h"
#include "own_config.h"
#include "own_exporter.h"
#include "profile_file.h"
#include "top_screen.h"
#include "top_window.h"

#include "base/base.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>

enum {
	SPAN_S = 10, /* that the table is of */
	REFRESH_MS = 1000,
	HOTTEST = 20, /* functions, where there is no terminal */
};

struct watching {
	const struct record_options *options; /* borrowed */
	struct top_window *window;            /* owned */
	int target_fd; /* owned; of the process that --pid names; -1 = none */
	int stop_fd;   /* owned: the follower is to end */
	bool live;     /* stdout is a terminal */

	/* Of the follower, from `started` to `ending`. */
	struct service *service; /* borrowed */
	pthread_t follower;
	bool follows;
	struct profcol_error *error; /* owned: that has ended it; NULL = none has */
};

static void watching_deinit(struct watching *watching)
{
	top_window_destroy(watching->window);
	profcol_error_destroy(watching->error);
	if (watching->target_fd >= 0)
		close(watching->target_fd);
	if (watching->stop_fd >= 0)
		close(watching->stop_fd);
}

static struct profcol_error *take(void *context, unsigned int side, struct profcol_batch *batch)
{
	struct watching *watching = context;

	(void)side;
	top_window_add(watching->window, batch, clock_monotonic_ns());
	return NULL;
}

/* ---- following ---- */

/* All that is in the window, as a tree, which is the caller's, also with an error. */
static struct profcol_error *sum(const struct watching *watching, struct flame **ret)
{
	const struct flame_settings settings = { 0 };

	*ret = flame_create(&settings);
	if (!*ret)
		return profcol_error_errno(ENOMEM, "show the functions");
	return top_window_sum(watching->window, clock_monotonic_ns(), *ret);
}

static struct profcol_error *draw(const struct watching *watching)
{
	struct service_samples samples = service_count(watching->service);
	FLAME_CLEANUP struct flame *flame = NULL;
	struct profcol_error *error = sum(watching, &flame);
	char head[160];

	if (error)
		return error;
	snprintf(head, sizeof(head),
		 "%" PRId64 " samples in %d s, %" PRIu64 " processes; %" PRIu64
		 " since the start, %" PRIu64 " lost; Ctrl-C ends",
		 flame_total(flame, FLAME_NOW), SPAN_S,
		 own_config_is_part(watching->options) ? samples.selected : samples.processes,
		 samples.taken - samples.filtered - samples.lost, samples.lost);
	return top_screen_draw(flame, head, top_size_of(STDOUT_FILENO), stdout);
}

/* Until it is told to stop, or the time or the process is over, which it tells the service. */
static void *follow(void *argument)
{
	struct watching *watching = argument;
	uint64_t seconds = watching->options->seconds, end_ns = UINT64_MAX;
	struct pollfd fds[] = {
		{ .fd = watching->stop_fd, .events = POLLIN },
		{ .fd = watching->target_fd, .events = POLLIN },
	};

	if (seconds)
		end_ns = clock_monotonic_ns() + seconds * PROFCOL_SECOND;
	while (clock_monotonic_ns() < end_ns) {
		poll(fds, 2, own_config_time_left_ms(end_ns, REFRESH_MS));
		if (fds[0].revents)
			return NULL;
		if (watching->live)
			watching->error = draw(watching);
		if (watching->error || fds[1].revents)
			break;
	}
	service_end(watching->service);
	return NULL;
}

static void started(struct service *service, void *context)
{
	struct watching *watching = context;

	watching->service = service;
	if (watching->live)
		fputs("\033[H\033[Jsampling\n", stdout);
	fflush(stdout);
	watching->follows = !pthread_create(&watching->follower, NULL, follow, watching);
	if (!watching->follows) {
		watching->error = profcol_error_errno(EAGAIN, "follow the samples");
		service_end(service);
	}
}

static void ending(void *context)
{
	struct watching *watching = context;

	if (!watching->follows)
		return;
	(void)eventfd_write(watching->stop_fd, 1);
	pthread_join(watching->follower, NULL);
}

/* ---- from begin to end ---- */

/* Without times, and with the names of each second at its end. */
static char *configuration(const struct record_options *options)
{
	json_t *receiver =
		json_pack("{s:i, s:s, s:i, s:b, s:s}", "samples_per_second",
			  options->frequency ? (int)options->frequency : OWN_CONFIG_FREQUENCY,
			  "reporter_interval", "1s", "reporter_jitter", 0, "timestamps", 0,
			  "hold_new_containers", "0s");
	json_t *service =
		json_pack("{s:{s:{s:s}, s:{s:s}}, s:{s:{s:[s], s:[s]}}}", "telemetry", "logs",
			  "level", "error", "metrics", "level", "none", "pipelines", "profiles",
			  "receivers", "profiling", "exporters", "top");

	receiver = own_config_select(receiver, options->pid, options->comm, options->cgroup);
	return own_config_source(json_pack("{s:{s:o}, s:{s:{}}, s:o}", "receivers", "profiling",
					   receiver, "exporters", "top", "service", service));
}

static struct profcol_error *prepare(struct watching *watching)
{
	int32_t pid = watching->options->pid;

	watching->window = top_window_create(SPAN_S * PROFCOL_SECOND);
	watching->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (!watching->window || watching->stop_fd < 0)
		return profcol_error_errno(watching->window ? errno : ENOMEM, "watch");
	return pid ? own_config_open_process(pid, "watch", &watching->target_fd) : NULL;
}

static struct profcol_error *run(struct watching *watching, const struct command_line *line,
				 const struct program *program)
{
	CLEANUP_FREE char *source = configuration(watching->options);
	const struct own_exporter_type type = own_exporter_type("top", take, watching);
	struct component_registry registry;
	CLEANUP_FREE const struct profcol_component **components =
		own_exporter_register(program->builtin, &type, &registry);
	const struct service_companion companion = { started, ending, watching };
	struct service_settings settings = { .companion = &companion };

	if (!components)
		return profcol_error_errno(ENOMEM, "watch");
	return own_config_run(line, program, &registry, source, &settings);
}

/* Where there is no terminal, at the end. */
static struct profcol_error *print(const struct watching *watching)
{
	FLAME_CLEANUP struct flame *flame = NULL;
	struct profcol_error *error = sum(watching, &flame);

	if (!error && !flame_total(flame, FLAME_NOW))
		fputs("no samples were taken: what is watched has used no CPU time, or too little "
		      "for --frequency\n",
		      stderr);
	return error ? error : profile_print_hottest(flame, HOTTEST, stdout);
}

int command_top(const struct command_line *line, const struct program *program)
{
	CLEANUP(watching_deinit)
	struct watching watching = {
		.options = &line->record,
		.target_fd = -1,
		.stop_fd = -1,
		.live = isatty(STDOUT_FILENO),
	};
	struct profcol_error *error = prepare(&watching);

	if (!error)
		error = run(&watching, line, program);
	if (!error)
		error = TAKE(watching.error);
	if (!error && !watching.live)
		error = print(&watching);
	return error ? command_fail(error) : command_finish(EXIT_SUCCESS);
}

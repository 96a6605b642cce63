// SPDX-License-Identifier: Apache-2.0
/*
 * `shadow`: our own receiver beside another profiler that sends us its OTLP, and what both have
 * seen in the same time.
 */
#include "command.h"
#include "own_config.h"
#include "own_exporter.h"
#include "shadow/config.h"
#include "shadow/profiler_cost.h"
#include "shadow/report.h"
#include "shadow/sender.h"

#include "base/base.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

enum { PROGRESS_MS = 500 };

/* In which the other tells the first, and the last, of what it has: several of the usual
 * intervals. */
static const uint64_t patience_ns = 30 * PROFCOL_SECOND;
/* A report may come in several requests. */
static const uint64_t rest_ns = 500 * PROFCOL_MILLISECOND;
/* Between two looks for the other's process, which go through all that there are. */
static const uint64_t search_ns = 5 * PROFCOL_SECOND;

struct reading {
	struct profiler_cost own, other;
	uint64_t spent_ns; /* of @own: what only comparing takes */
};

struct shadowing {
	const struct shadow_options *options; /* borrowed */
	struct tally *tally;                  /* owned */
	int stop_fd;                          /* owned: the follower is to end */
	int timing_fd;                        /* owned: BPF programs are timed; -1 = they are not */
	bool shows_progress;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t ran_ns;   /* from there to the end */
	uint64_t end_ns;   /* Unix time: our own has told all until then */

	struct service *service; /* borrowed, from `started` to `ending` */
	pthread_t follower;
	bool follows;
	pid_t pids[REPORT_PIDS_MAX]; /* of the other */
	size_t pid_count;
	uint64_t searched_ns;           /* CLOCK_MONOTONIC; 0 = not yet */
	struct reading first, last;     /* own.now_ns = 0: has not been read */
	struct service_samples samples; /* at the end, as the next */
	struct service_losses losses;
};

static void shadowing_deinit(struct shadowing *shadowing)
{
	tally_destroy(shadowing->tally);
	if (shadowing->stop_fd >= 0)
		close(shadowing->stop_fd);
	if (shadowing->timing_fd >= 0)
		close(shadowing->timing_fd);
}

/* ---- what both cost ---- */

static struct reading read_costs(const struct shadowing *shadowing, uint64_t spent_ns)
{
	return (struct reading){
		.own = profiler_cost_read_own(),
		.other = profiler_cost_read(shadowing->pids, shadowing->pid_count),
		.spent_ns = spent_ns,
	};
}

/* It may connect again and again, and be found at one of these times only. */
static void find_other(struct shadowing *shadowing)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (shadowing->pid_count ||
	    (shadowing->searched_ns && now_ns - shadowing->searched_ns < search_ns))
		return;
	shadowing->searched_ns = now_ns;
	shadowing->pid_count = sender_find(sender_port(shadowing->options->address),
					   shadowing->pids, REPORT_PIDS_MAX);
	if (shadowing->pid_count)
		shadowing->first.other = profiler_cost_read(shadowing->pids, shadowing->pid_count);
}

static bool has_ended(const struct shadowing *shadowing)
{
	const struct profiler_cost *first = &shadowing->first.other, *last = &shadowing->last.other;

	return shadowing->pid_count &&
	       (!first->now_ns || !last->now_ns || first->starts != last->starts);
}

/* Of the time between both readings, without @not_its_ns of CPU time. */
static struct report_cost cost(const struct profiler_cost *first, const struct profiler_cost *last,
			       uint64_t not_its_ns, bool timed)
{
	struct report_cost cost = { (double)NAN, (double)NAN, (double)NAN, (double)NAN };
	double span_ns = (double)last->now_ns - (double)first->now_ns;
	double cpu_ns = (double)last->cpu_ns - (double)first->cpu_ns - (double)not_its_ns;

	if (!first->now_ns || !last->now_ns || span_ns <= 0 || first->starts != last->starts)
		return cost;
	cost.cpu = cpu_ns > 0 ? cpu_ns / span_ns : 0;
	cost.memory_bytes = (double)last->memory_bytes;
	if (!last->has_bpf)
		return cost;
	cost.maps_bytes = (double)last->maps_bytes;
	// Programs come and go.
	if (timed && last->bpf_ns >= first->bpf_ns)
		cost.bpf = (double)(last->bpf_ns - first->bpf_ns) / span_ns;
	return cost;
}

/* ---- following ---- */

static void show_progress(const struct shadowing *shadowing, const struct tally_progress *progress,
			  uint64_t now_ns)
{
	uint64_t seconds;

	if (!shadowing->shows_progress)
		return;
	if (!progress->from_ns) {
		fprintf(stderr, "waiting for a profiler to send to %s; Ctrl-C ends\033[K\r",
			shadowing->options->address);
		return;
	}
	if (now_ns >= progress->to_ns) {
		fputs("waiting for the last that the other has; Ctrl-C ends\033[K\r", stderr);
		return;
	}
	seconds = now_ns > progress->from_ns ? (now_ns - progress->from_ns) / PROFCOL_SECOND : 0;
	fprintf(stderr,
		"%02" PRIu64 ":%02" PRIu64 "  %" PRIu64 " samples, the other %" PRIu64
		"; Ctrl-C ends\033[K\r",
		seconds / 60, seconds % 60, progress->samples[TALLY_OWN],
		progress->samples[TALLY_OTHER]);
}

/* Is there nothing more to wait for? Reads what both cost, at the begin and at the end. */
static bool is_over(struct shadowing *shadowing, const struct tally_progress *progress,
		    uint64_t now_ns)
{
	uint64_t wait_ns = shadowing->options->seconds * PROFCOL_SECOND;

	if (wait_ns < patience_ns)
		wait_ns = patience_ns;
	if (!progress->from_ns)
		return clock_monotonic_ns() - shadowing->start_ns >= wait_ns;
	if (!shadowing->first.own.now_ns)
		shadowing->first = read_costs(shadowing, progress->spent_ns);
	if (now_ns < progress->to_ns) {
		find_other(shadowing);
		return false;
	}
	if (!shadowing->last.own.now_ns)
		shadowing->last = read_costs(shadowing, progress->spent_ns);
	return progress->other_covered_ns >= progress->to_ns ||
	       now_ns - progress->to_ns >= patience_ns;
}

static void *follow(void *argument)
{
	struct shadowing *shadowing = argument;
	struct pollfd stop = { .fd = shadowing->stop_fd, .events = POLLIN };
	bool over = false;

	while (!over) {
		struct tally_progress progress = tally_look(shadowing->tally);
		uint64_t now_ns = clock_realtime_ns();

		show_progress(shadowing, &progress, now_ns);
		over = is_over(shadowing, &progress, now_ns);
		poll(&stop, 1, over ? (int)(rest_ns / PROFCOL_MILLISECOND) : PROGRESS_MS);
		if (stop.revents)
			return NULL;
	}
	service_end(shadowing->service);
	return NULL;
}

static void started(struct service *service, void *context)
{
	struct shadowing *shadowing = context;

	shadowing->service = service;
	shadowing->start_ns = clock_monotonic_ns();
	shadowing->follows = !pthread_create(&shadowing->follower, NULL, follow, shadowing);
	if (!shadowing->follows) {
		fputs("Error: no thread to follow the comparison\n", stderr);
		service_end(service);
	}
}

static void ending(void *context)
{
	struct shadowing *shadowing = context;

	if (shadowing->follows) {
		(void)eventfd_write(shadowing->stop_fd, 1);
		pthread_join(shadowing->follower, NULL);
	}
	if (shadowing->first.own.now_ns && !shadowing->last.own.now_ns)
		shadowing->last = read_costs(shadowing, tally_look(shadowing->tally).spent_ns);
	shadowing->ran_ns = clock_monotonic_ns() - shadowing->start_ns;
	// All until now comes with the drain.
	shadowing->end_ns = clock_realtime_ns();
	if (shadowing->shows_progress)
		fputs("\033[K", stderr);
}

/* ---- from begin to end ---- */

static struct profcol_error *prepare(struct shadowing *shadowing)
{
	const pid_t pid = shadowing->options->pid;

	if (pid && !profiler_cost_read(&pid, 1).now_ns)
		return profcol_error_create(PROFCOL_SYSTEM,
					    "cannot compare with process %d: there is none of that "
					    "number; see 'ps' for those that there are",
					    (int)pid);
	shadowing->pids[0] = pid;
	shadowing->pid_count = pid != 0;
	shadowing->tally = tally_create(shadowing->options->seconds * PROFCOL_SECOND);
	if (!shadowing->tally)
		return profcol_error_errno(ENOMEM, "compare profiles");
	shadowing->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (shadowing->stop_fd < 0)
		return profcol_error_errno(errno, "compare profiles");
	shadowing->timing_fd = profiler_cost_time_programs();
	return NULL;
}

static struct profcol_error *take(void *context, unsigned int side, struct profcol_batch *batch)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *taken = batch;
	struct shadowing *shadowing = context;

	return tally_add(shadowing->tally, (enum tally_side)side, taken, clock_realtime_ns());
}

static struct profcol_error *run(struct shadowing *shadowing, const struct command_line *line,
				 const struct program *program)
{
	CLEANUP_FREE char *source = shadow_config(&line->shadow);
	const struct own_exporter_type type = own_exporter_type("tally", take, shadowing);
	struct component_registry registry;
	CLEANUP_FREE const struct profcol_component **components =
		own_exporter_register(program->builtin, &type, &registry);
	const struct service_companion companion = { started, ending, shadowing };
	struct service_settings settings = {
		.companion = &companion,
		.samples = &shadowing->samples,
		.losses = &shadowing->losses,
	};

	if (!components)
		return profcol_error_errno(ENOMEM, "compare profiles");
	return own_config_run(line, program, &registry, source, &settings);
}

static struct profcol_error *explain_silence(const struct shadowing *shadowing)
{
	const char *address = shadowing->options->address;

	if (shadowing->samples.refused_requests)
		return profcol_error_create(
			PROFCOL_UNAVAILABLE,
			"nothing that came to %s could be read: %" PRIu64
			" requests were refused, for what the lines above say; let the other send "
			"OTLP profiles (v1development) by gRPC",
			address, shadowing->samples.refused_requests);
	return profcol_error_create(
		PROFCOL_UNAVAILABLE,
		"no profiler has sent anything to %s in %" PRIu64
		" s; give the other, in its YAML, exporters: {otlp/shadow: {endpoint: "
		"\"%s\", tls: {insecure: true}}}, and name otlp/shadow in its pipeline's "
		"exporters",
		address, shadowing->ran_ns / PROFCOL_SECOND, address);
}

/* Why there is nothing to compare; NULL when there is. After tally_close. */
static struct profcol_error *check(const struct shadowing *shadowing)
{
	const struct tally *tally = shadowing->tally;
	const struct tally_side_figures *other = &tally->figures[TALLY_OTHER];
	uint64_t seconds = 2 * shadowing->options->seconds;

	if (!tally->from_ns)
		return explain_silence(shadowing);
	if (!other->inside && other->unscaled)
		return profcol_error_create(
			PROFCOL_UNAVAILABLE,
			"what the other has sent to %s cannot be compared: %" PRIu64
			" values of CPU time have neither time stamps nor a period in nanoseconds",
			shadowing->options->address, other->unscaled);
	if (tally->to_ns == tally->from_ns || !other->inside)
		return profcol_error_create(
			PROFCOL_UNAVAILABLE,
			"the other has sent to %s, but no samples of CPU time that lie in the time "
			"to be compared; give it more than one of its intervals: --seconds "
			"%" PRIu64,
			shadowing->options->address, seconds > 60 ? seconds : 60);
	return NULL;
}

static struct profcol_error *print(const struct shadowing *shadowing, const char *version)
{
	const struct reading *first = &shadowing->first, *last = &shadowing->last;
	bool timed = shadowing->timing_fd >= 0;
	CLEANUP(comparison_deinit) struct comparison comparison = { 0 };
	struct report report = {
		.version = version,
		.address = shadowing->options->address,
		.tally = shadowing->tally,
		.comparison = &comparison,
		.costs = {
			[TALLY_OWN] = cost(&first->own, &last->own,
					   last->spent_ns - first->spent_ns, timed),
			[TALLY_OTHER] = cost(&first->other, &last->other, 0, timed),
		},
		.pid_count = shadowing->pid_count,
		.pids_ended = has_ended(shadowing),
		.lost = shadowing->losses.samples,
		.lost_causes = shadowing->losses.causes,
	};

	memcpy(report.pids, shadowing->pids, sizeof(report.pids));
	if (!comparison_init(&comparison, shadowing->tally))
		return profcol_error_errno(ENOMEM, "compare profiles");
	if (!shadowing->options->json)
		report_print(&report, stdout);
	else if (!report_print_json(&report, stdout))
		return profcol_error_errno(ENOMEM, "print the comparison");
	return NULL;
}

int command_shadow(const struct command_line *line, const struct program *program)
{
	CLEANUP(shadowing_deinit)
	struct shadowing shadowing = {
		.options = &line->shadow,
		.stop_fd = -1,
		.timing_fd = -1,
		.losses = { .exporter = SHADOW_OWN_EXPORTER },
		.shows_progress = isatty(STDERR_FILENO),
	};
	struct profcol_error *error = prepare(&shadowing);

	if (!error)
		error = run(&shadowing, line, program);
	if (error)
		return command_fail(error);
	tally_close(shadowing.tally, shadowing.end_ns);
	error = check(&shadowing);
	if (!error)
		error = print(&shadowing, program->version);
	return error ? command_fail(error) : command_finish(EXIT_SUCCESS);
}

// SPDX-License-Identifier: Apache-2.0
#include "watch_hangs.h"

#include "proc_read.h"

#include "base/base.h"

#include <inttypes.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 320 };

static const uint64_t say_again_ns = 600 * 1000000000ull;

/* Of one kind, at present. */
struct hangs {
	unsigned int count;
	uint64_t payer; /* of closes */
	uint64_t what;  /* of one of these */
	struct owner owner;
};

static const struct {
	const char *unanswered, *unanswered_doc, *unasked, *unasked_doc, *label;
} texts[HANG_KINDS] = {
	[TIMED_CALL_PROCESS] = { "processes_unanswered",
				 "Times a process did not let its memory be looked at",
				 "processes_unasked",
				 "Times a process was not looked at, since it or others of its "
				 "owner do not let themselves be looked at",
				 "of=process" },
	[TIMED_CALL_FILE_SYSTEM] = { "processes_files_unanswered",
				     "Times a file system did not answer",
				     "processes_files_unasked",
				     "Times a file system was not asked, since it or others of "
				     "the same owner do not answer",
				     "of=file_system" },
	[HANG_CLOSE] = { .unasked = "processes_closes_unasked",
			 .unasked_doc = "Times it was found that nothing is to be opened for an "
					"owner, since closes of its files do not come back",
			 .label = "of=close" },
};

void watch_hangs_register(struct watch_hangs *hangs, const struct profcol_host *host)
{
	for (int kind = 0; kind < TIMED_CALL_KINDS; kind++)
		hangs->unanswered[kind] =
			host->metric(host, PROFCOL_COUNTER, texts[kind].unanswered, "",
				     texts[kind].unanswered_doc);
	for (int kind = 0; kind < HANG_KINDS; kind++) {
		hangs->unasked[kind] = host->metric(host, PROFCOL_COUNTER, texts[kind].unasked, "",
						    texts[kind].unasked_doc);
		hangs->hanging[kind] = host->metric(
			host, PROFCOL_GAUGE, "processes_hanging", texts[kind].label,
			"Calls that wait for a process, a file system or a close, for more than "
			"5 s");
	}
}

static void print_owner(struct owner owner, char *to, size_t size)
{
	if (owner_is(owner, OWNER_SHARED))
		snprintf(to, size, "several users");
	else if (owner.uid == OWNER_UNKNOWN.uid)
		snprintf(to, size, "a user that is not known");
	else
		snprintf(to, size, "user %" PRIu32 "%s", owner.uid,
			 owner.container ? ", in a container" : "");
}

static void print_hangs(const struct hangs *hangs, int kind, char *to, size_t size)
{
	char owner[48];

	print_owner(hangs->owner, owner, sizeof(owner));
	if (kind == HANG_CLOSE)
		snprintf(to, size,
			 "closing files of %s hangs, since their file system does not answer: "
			 "when %u hang, their programs have no names",
			 owner, close_later_most(hangs->payer));
	else if (kind == TIMED_CALL_PROCESS && hangs->what == PROC_ALL_CGROUPS.what)
		snprintf(to, size,
			 "the kernel does not say which cgroups processes are in: somebody keeps "
			 "the lock of all of them");
	else if (kind == TIMED_CALL_PROCESS)
		snprintf(to, size,
			 "process %" PRIu32 " (%s) keeps the lock of its memory, or of its exec: "
			 "what it has mapped cannot be read before it lets go",
			 (uint32_t)hangs->what, owner); // more bits: what of it
	else
		snprintf(to, size,
			 "a file system does not answer: programs of %s on it have no names before "
			 "it does",
			 owner);
}

/* The state stays "well": else anybody could have the profiler started anew by who watches it. */
static void report(struct watch_hangs *hangs, const struct profcol_host *host, const char *message)
{
	if (!*message && !hangs->reported)
		return;
	host->report_status(host, PROFCOL_STATUS_OK, message);
	hangs->reported = *message != '\0';
}

static void say(struct watch_hangs *hangs, const struct profcol_host *host, int kind,
		const char *message)
{
	uint64_t now = clock_monotonic_ns();

	if (hangs->said_ns[kind] && now < hangs->said_ns[kind] + say_again_ns)
		return;
	hangs->said_ns[kind] = now;
	profcol_log_warn(host->logger, "%s (profcol_%s counts)", message, texts[kind].unasked);
}

void watch_hangs_show(struct watch_hangs *hangs, const struct profcol_host *host,
		      struct files *files)
{
	struct timed_calls_counts calls = timed_calls_counts(files_calls(files));
	struct close_later_counts closes = close_later_counts();
	struct hangs now[HANG_KINDS];
	char message[MESSAGE_BYTES] = "";

	for (int kind = 0; kind < TIMED_CALL_KINDS; kind++) {
		now[kind] = (struct hangs){ .count = calls.of[kind].hanging,
					    .what = calls.of[kind].what,
					    .owner = calls.of[kind].owner };
		profcol_metric_set(hangs->unanswered[kind], (int64_t)calls.of[kind].left_behind);
		profcol_metric_set(hangs->unasked[kind], (int64_t)calls.of[kind].refused);
	}
	now[HANG_CLOSE] = (struct hangs){ .count = closes.hanging,
					  .payer = closes.payer,
					  .owner = owner_of_close_payer(closes.payer) };
	profcol_metric_set(hangs->unasked[HANG_CLOSE], (int64_t)closes.refused);
	for (int kind = HANG_KINDS - 1; kind >= 0; kind--) {
		profcol_metric_set(hangs->hanging[kind], (int64_t)now[kind].count);
		if (!now[kind].count)
			continue;
		print_hangs(&now[kind], kind, message, sizeof(message));
		say(hangs, host, kind, message);
	}
	report(hangs, host, message);
}

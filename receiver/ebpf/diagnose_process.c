// SPDX-License-Identifier: Apache-2.0
#include "diagnose_process.h"

#include "processes/processes.h"
#include "runtimes/runtime.h"
#include "worker/worker.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	FILES_MOST = 512, /* of the process that are looked at */
	FOUND_MOST = 8,
};

static const uint64_t PATIENCE_NS = 10000000000;

/* A runtime that is in the process. */
struct found {
	struct runtime_process process;
	char path[128]; /* of its file, or the end of it */
};

struct looking {
	struct profcol_host host; /* of the worker */
	const struct profiling_config *config;
	struct profcol_findings *findings;
	struct worker_pool *pool; /* owned */
	struct origin origin;     /* of all that it reads: one process and its files */
	uint32_t pid;
	const struct proc_mapping *mapping; /* that is asked about */
	uint32_t files;                     /* so many were */
	struct found found[FOUND_MOST];
	size_t count;
	struct runtime_found answer; /* of what is asked about */
	bool answered;
	enum worker_outcome outcome;
};

/* ---- the worker ---- */

static struct profcol_metric ignored;

static struct profcol_metric *no_metric(const struct profcol_host *host,
					enum profcol_metric_kind kind, const char *name,
					const char *label, const char *doc)
{
	(void)host;
	(void)kind;
	(void)name;
	(void)label;
	(void)doc;
	return &ignored;
}

static struct profcol_error *fork_worker(const struct profcol_host *host, int *socket_ret,
					 pid_t *pid_ret)
{
	int sockets[2];

	(void)host;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return profcol_error_errno(errno, "make a socket for a worker");
	*pid_ret = fork();
	if (!*pid_ret) {
		close(sockets[0]);
		_exit(worker_helper(sockets[1]));
	}
	close(sockets[1]);
	*socket_ret = sockets[0];
	if (*pid_ret >= 0)
		return NULL;
	close(sockets[0]);
	return profcol_error_errno(errno, "start a worker");
}

/* Where the ELF address 0 of the file lies whose mapping is asked about. */
static bool find_base(const struct looking *looking, const struct worker_answer *answer,
		      uint64_t *ret)
{
	const struct proc_mapping *mapping = looking->mapping;
	const struct worker_segment *segment =
		worker_find_segment(answer->segments, answer->segment_count, mapping->file_offset);

	if (!segment)
		return false;
	*ret = mapping->start - (segment->address + mapping->file_offset - segment->file_offset);
	return true;
}

static void take_answer(void *context, const struct worker_answer *answer)
{
	struct looking *looking = context;
	uint64_t base;

	looking->answered = answer->found;
	looking->outcome = answer->outcome;
	if (answer->found)
		looking->answer = *answer->found;
	for (size_t i = 0; i < answer->runtime_count && looking->count < FOUND_MOST; i++) {
		struct found *found = &looking->found[looking->count];
		const struct proc_mapping *mapping = looking->mapping;
		size_t length = mapping->path_length, most = sizeof(found->path) - 1;

		if (!find_base(looking, answer, &base))
			return;
		*found = (struct found){
			.process = { .runtime = answer->runtimes[i].runtime, .base = base },
		};
		memcpy(found->process.layout, answer->runtimes[i].layout,
		       found->process.runtime->layout_bytes);
		snprintf(found->path, sizeof(found->path), "%s",
			 mapping->path + (length > most ? length - most : 0));
		looking->count++;
	}
}

static void await(struct looking *looking)
{
	uint64_t deadline_ns = clock_monotonic_ns() + PATIENCE_NS;

	looking->answered = false;
	looking->outcome = WORKER_MISSING;
	while (worker_pool_is_busy(looking->pool) && clock_monotonic_ns() < deadline_ns)
		worker_pool_run(looking->pool, deadline_ns);
}

/* ---- its files ---- */

/* As processes_visit_function. */
static bool look_at_file(void *context, const struct proc_mapping *mapping, int fd)
{
	struct looking *looking = context;

	looking->mapping = mapping;
	looking->files++;
	if (worker_pool_ask_pages(looking->pool, looking->files, looking->origin, looking->files,
				  fd, NULL, 0))
		await(looking);
	return looking->files < FILES_MOST;
}

/* ---- its memory ---- */

static void add(struct looking *looking, const struct found *found, enum profcol_verdict verdict,
		const char *detail, const char *effect, const char *remedy)
{
	char subject[64];

	snprintf(subject, sizeof(subject), "process %u, %s", looking->pid,
		 found->process.runtime->name);
	looking->findings->add(looking->findings, &(struct profcol_finding){
							  .subject = subject,
							  .verdict = verdict,
							  .detail = detail,
							  .effect = effect,
							  .remedy = remedy,
						  });
}

static const char *const refusals[RUNTIME_REFUSALS] = {
	[RUNTIME_REFUSED_VERSION] = "a version that profcol does not know",
	[RUNTIME_REFUSED_LAYOUT] = "its structures do not lie as in any version that profcol knows",
	[RUNTIME_REFUSED_MEMORY] = "its memory cannot be read",
	[RUNTIME_REFUSED_KERNEL] = "the kernel refuses the program that walks its stacks",
};

static void tell(struct looking *looking, const struct found *found)
{
	const struct runtime *runtime = found->process.runtime;
	const struct runtime_found *answer = &looking->answer;
	char detail[256];

	if (!looking->answered) {
		snprintf(detail, sizeof(detail), "in %s; it has not begun, or does not answer",
			 found->path);
		add(looking, found, PROFCOL_LACKING, detail,
		    "its frames show as native ones, without names", "ask again when it runs");
		return;
	}
	if (answer->refused) {
		snprintf(detail, sizeof(detail), "%s in %s: %s", answer->version, found->path,
			 refusals[answer->refused]);
		add(looking, found, PROFCOL_LACKING, detail,
		    "its frames show as native ones, without names", "");
		return;
	}
	// What names frames goes by what was found, too.
	if (runtime->resolve && answer->complete && !answer->data_bytes) {
		snprintf(detail, sizeof(detail), "%s%sin %s: %s", answer->version,
			 *answer->version ? " " : "", found->path,
			 refusals[RUNTIME_REFUSED_LAYOUT]);
		add(looking, found, PROFCOL_LACKING, detail, "stacks are whole, without names", "");
		return;
	}
	snprintf(detail, sizeof(detail), "%s%sin %s: %s", answer->version,
		 *answer->version ? " " : "", found->path,
		 runtime->resolve ? "its frames have names" : "stacks are whole, without names");
	add(looking, found, PROFCOL_FINE, detail, "", "");
}

/* Of a runtime of whose programs the files say all. */
static void tell_of_file(struct looking *looking, const struct found *found)
{
	const struct runtime_process *process = &found->process;
	bool unlabelled =
		profiling_runtimes_without_labels(looking->config) & 1u << process->runtime->number;
	struct runtime_found answer = { 0 };
	char detail[256];

	if (!process->runtime->foresee || unlabelled) {
		add(looking, found, PROFCOL_FINE, found->path, "", "");
		return;
	}
	process->runtime->foresee(process->layout, process->base, &answer);
	snprintf(detail, sizeof(detail), "%s%sin %s: %s", answer.version,
		 *answer.version ? " " : "", found->path,
		 answer.refused ? refusals[answer.refused] : "its labels are read");
	if (answer.refused)
		add(looking, found, PROFCOL_LACKING, detail,
		    "stacks are whole, samples have no labels", "");
	else
		add(looking, found, PROFCOL_FINE, detail, "", "");
}

static void look_at_memory(struct looking *looking)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/mem", looking->pid);
	for (size_t i = 0; i < looking->count; i++) {
		const struct found *found = &looking->found[i];
		uint32_t disabled = profiling_disabled_runtimes(looking->config);
		int fd;

		if (disabled & 1u << found->process.runtime->number) {
			add(looking, found, PROFCOL_FINE, "disabled by 'interpreters'", "", "");
			continue;
		}
		if (!found->process.runtime->attach) {
			tell_of_file(looking, found);
			continue;
		}
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			add(looking, found, PROFCOL_LACKING, strerrordesc_np(errno),
			    "its frames have no names",
			    "run as root, or with CAP_SYS_PTRACE; see kernel.yama.ptrace_scope");
			continue;
		}
		if (worker_pool_ask_attach(looking->pool, 1, looking->origin, fd, &found->process))
			await(looking);
		tell(looking, found);
	}
}

void profiling_diagnose_process(const void *config, uint32_t pid, struct profcol_findings *findings)
{
	struct looking looking = {
		.host = { .size = sizeof(looking.host),
			  .id = "profiling",
			  .version = "",
			  .metric = no_metric,
			  .spawn_helper = fork_worker },
		.origin = { .owner = OWNER_UNKNOWN },
		.config = config,
		.findings = findings,
		.pid = pid,
	};
	struct profcol_error *error = NULL;
	char subject[32];
	int status = 0;

	snprintf(subject, sizeof(subject), "process %u", pid);
	looking.pool = worker_pool_create(&looking.host, "", WORKER_UID, take_answer, &looking);
	error = looking.pool ? worker_pool_start(looking.pool)
			     : profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a worker");
	if (!error)
		status = processes_visit_code(pid, look_at_file, &looking);
	if (status)
		error = profcol_error_errno(-status, "look at process %u", pid);
	if (error) {
		findings_add_error(findings, subject, PROFCOL_MISSING,
				   "nothing is known of its runtimes", error);
	} else {
		look_at_memory(&looking);
		if (!looking.count)
			findings_add_fine(findings, subject,
					  "no language runtime that profcol knows");
	}
	worker_pool_destroy(looking.pool);
}

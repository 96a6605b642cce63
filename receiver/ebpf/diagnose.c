// SPDX-License-Identifier: Apache-2.0
#include "diagnose.h"

#include "requirements.h"
#include "sampler.h"
#include "unheeded.h"

#include "base/base.h"

#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Passes findings on, and notes whether something is missing. */
struct watched_findings {
	struct profcol_findings base; /* first */
	struct profcol_findings *to;
	bool missing;
};

static void watched_add(struct profcol_findings *findings, const struct profcol_finding *finding)
{
	struct watched_findings *watched = (struct watched_findings *)findings;

	watched->missing |= finding->verdict == PROFCOL_MISSING;
	watched->to->add(watched->to, finding);
}

/* ---- a trial run ---- */

static void discard_record(void *context, const void *record, size_t length)
{
	(void)context;
	(void)record;
	(void)length;
}

/* A host for a sampler that runs for a moment: what it would log becomes a finding. */
struct trial {
	struct profcol_host host;
	struct profcol_logger logger;
	struct profcol_findings *findings;
};

static void trial_log(const struct profcol_logger *logger, enum profcol_level level,
		      const char *format, va_list arguments)
{
	const struct trial *trial =
		(const struct trial *)((const char *)logger - offsetof(struct trial, logger));
	char detail[512];

	(void)level;
	vsnprintf(detail, sizeof(detail), format, arguments);
	trial->findings->add(trial->findings,
			     &(struct profcol_finding){
				     .subject = "sampling",
				     .verdict = PROFCOL_LACKING,
				     .detail = detail,
				     .effect = "the profiles do not have all that is asked for",
				     .remedy = "",
			     });
}

static void try_to_sample(const struct requirements_environment *machine,
			  const struct profiling_config *config, struct profcol_findings *findings)
{
	struct trial trial = {
		.host = { .size = sizeof(trial.host), .id = "profiling", .version = "" },
		.logger = { .size = sizeof(trial.logger),
			    .level = PROFCOL_WARN,
			    .write = trial_log },
		.findings = findings,
	};
	struct profcol_error *error;
	struct sampler *sampler;

	trial.host.logger = &trial.logger;
	sampler = sampler_create(&trial.host, config, discard_record, NULL);
	error = sampler ? requirements_explain_perf(machine, sampler_start(sampler))
			: profcol_error_create(PROFCOL_NO_MEMORY, "no memory for the profiler");
	if (error)
		findings_add_error(findings, "sampling", PROFCOL_MISSING, "nothing can be sampled",
				   error);
	else
		findings_add_fine(findings, "sampling",
				  "the programs were loaded and attached to the CPUs");
	sampler_destroy(sampler);
}

/* ---- limits ---- */

static void visit_open_files(struct profcol_findings *findings)
{
	enum { ENOUGH = 2048 };
	struct rlimit limit = { 0 };
	char detail[64];

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur >= ENOUGH) {
		findings_add_fine(findings, "open files", "limit %llu",
				  (unsigned long long)limit.rlim_cur);
		return;
	}
	snprintf(detail, sizeof(detail), "limit %llu", (unsigned long long)limit.rlim_cur);
	findings->add(findings, &(struct profcol_finding){
					.subject = "open files",
					.verdict = PROFCOL_LACKING,
					.detail = detail,
					.effect = "fewer programs are kept open, so that more of "
						  "those that end at once stay without names",
					.remedy = "ulimit -n 65536 (systemd: LimitNOFILE=65536)",
				});
}

/* Is there anything that names functions of stripped programs, the C library's first of all? */
static void visit_debug_files(const struct profcol_list *directories,
			      struct profcol_findings *findings)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < directories->count; i++) {
		snprintf(path, sizeof(path), "%s/.build-id", directories->items[i]);
		if (access(path, F_OK))
			continue;
		findings_add_fine(findings, "debug files", "below %s", directories->items[i]);
		return;
	}
	findings->add(findings,
		      &(struct profcol_finding){
			      .subject = "debug files",
			      .verdict = PROFCOL_LACKING,
			      .detail = "there are none in debug_directories",
			      .effect =
				      "functions of stripped programs and libraries, libc's among "
				      "them, are told by their place: libc.so.6+0x8a2c0",
			      .remedy = "apt-get install libc6-dbg (Debian, Ubuntu), dnf "
					"debuginfo-install glibc (Fedora); the log says what else "
					"would help",
		      });
}

void profiling_diagnose(const void *options, struct profcol_findings *findings)
{
	const struct requirements_environment machine = requirements_this_machine();
	const struct profiling_config *config = options;
	struct watched_findings watched = { .base.add = watched_add, .to = findings };

	requirements_visit(&machine, config->no_kernel_version_check, &watched.base);
	visit_open_files(findings);
	visit_debug_files(&config->debug_directories, findings);
	// What is missing has been named: the kernel's answer would only repeat it.
	if (!watched.missing)
		try_to_sample(&machine, config, findings);
	unheeded_diagnose(&config->unheeded, findings);
}

// SPDX-License-Identifier: Apache-2.0
#include "unheeded.h"

#include <stdio.h>
#include <string.h>

struct unheeded {
	const char *key;
	bool is_set; /* to something else than the default */
	enum profcol_level level;
	const char *consequence;
};

static bool interpreters_are_set(const struct unheeded_interpreters_config *config)
{
	return config->perl_disabled || config->php_disabled || config->ruby_disabled ||
	       config->dotnet_disabled || config->beam_disabled || config->luajit_disabled ||
	       config->ruby_skip_native_resume;
}

typedef void (*unheeded_visitor)(const struct unheeded *option, void *context);

static void visit_all(const struct unheeded *options, size_t count, unheeded_visitor visit,
		      void *context)
{
	for (size_t i = 0; i < count; i++)
		if (options[i].is_set)
			visit(&options[i], context);
}

/* Those that have nothing to act on here. */
static void visit_needless(const struct unheeded_config *c, unheeded_visitor visit, void *context)
{
	const struct unheeded options[] = {
		{ "monitor_interval", c->monitor_interval_ns != 5 * PROFCOL_SECOND, PROFCOL_INFO,
		  "counters are read every second" },
		{ "clock_sync_interval", c->clock_sync_interval_ns != 3 * PROFCOL_MINUTE,
		  PROFCOL_INFO, "clocks are compared for every batch" },
		{ "frame_cache_size", c->frame_cache_size != 16384, PROFCOL_INFO,
		  "names are kept by bytes, not by frames" },
		{ "map_scale_factor", c->map_scale_factor != 0, PROFCOL_INFO,
		  "unwind_memory bounds the tables of all programs" },
		{ "bpf_verifier_log_level", c->bpf_verifier_log_level != 0, PROFCOL_INFO,
		  "the verifier's log is shown when loading fails" },
		{ "pid_namespace_translation", c->pid_namespace_translation, PROFCOL_INFO,
		  "numbers are those of profcol's own PID namespace in any case" },
		{ "bpf_fs_root", strcmp(c->bpf_fs_root, "/sys/fs/bpf/") != 0, PROFCOL_INFO,
		  "nothing is looked up in it" },
		{ "verbose_mode", c->verbose_mode, PROFCOL_INFO,
		  "set service::telemetry::logs::level to debug" },
		{ "max_grpc_retries", c->max_grpc_retries != 5, PROFCOL_INFO,
		  "the exporter's retry_on_failure decides" },
		{ "max_rpc_msg_size", c->max_rpc_msg_size != 32 << 20, PROFCOL_INFO,
		  "the exporter decides" },
	};

	visit_all(options, sizeof(options) / sizeof(options[0]), visit, context);
}

/* Those whose absence shows in the profiles. */
static void visit_missed(const struct unheeded_config *c, unheeded_visitor visit, void *context)
{
	const struct unheeded options[] = {
		{ "probabilistic_interval", c->probabilistic_interval_ns != PROFCOL_MINUTE,
		  PROFCOL_WARN, "sampling is never suspended" },
		{ "probabilistic_threshold", c->probabilistic_threshold != 100, PROFCOL_WARN,
		  "sampling is never suspended; lower samples_per_second for less load" },
		{ "interpreters", interpreters_are_set(&c->interpreters), PROFCOL_WARN,
		  "interpreted code shows as its interpreter's frames" },
		{ "send_error_frames", c->send_error_frames, PROFCOL_WARN,
		  "a stack that was cut always ends with a frame that says why" },
		{ "load_probe", c->load_probe, PROFCOL_WARN,
		  "there is no program that others could attach" },
		{ "filter_min_process_age", c->filter_min_process_age_ns != 0, PROFCOL_WARN,
		  "processes of every age are sampled" },
		{ "obi_process_ctx", c->obi_process_ctx, PROFCOL_WARN,
		  "samples have no link to spans" },
		{ "pin_cpu_ids", *c->pin_cpu_ids != '\0', PROFCOL_WARN,
		  "all online CPUs are sampled" },
		{ "probes", c->probes.count != 0, PROFCOL_WARN,
		  "only the timer takes samples, no probe is attached" },
	};

	visit_all(options, sizeof(options) / sizeof(options[0]), visit, context);
}

static void log_option(const struct unheeded *option, void *context)
{
	const struct profcol_logger *const *logger = context;
	char text[256];

	snprintf(text, sizeof(text), "the option '%s' is accepted but not acted on: %s",
		 option->key, option->consequence);
	// Each a message of its own: of one that repeats itself most would be left out.
	profcol_log(*logger, option->level, "%s", text);
}

void unheeded_log(const struct unheeded_config *config, const struct profcol_logger *logger)
{
	visit_needless(config, log_option, &logger);
	visit_missed(config, log_option, &logger);
}

static void add_option(const struct unheeded *option, void *context)
{
	struct profcol_findings *findings = context;
	char subject[64], remedy[96];

	snprintf(subject, sizeof(subject), "option %s", option->key);
	snprintf(remedy, sizeof(remedy), "remove '%s' if you can do without", option->key);
	findings->add(findings, &(struct profcol_finding){
					.subject = subject,
					.verdict = PROFCOL_MISSING,
					.detail = "is set, and profcol does not act on it yet",
					.effect = option->consequence,
					.remedy = remedy,
				});
}

void unheeded_diagnose(const struct unheeded_config *config, struct profcol_findings *findings)
{
	visit_missed(config, add_option, findings);
}

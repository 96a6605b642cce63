// SPDX-License-Identifier: Apache-2.0
#include "record_config.h"

#include "base/base.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_FREQUENCY = 99 };

/* As the configuration's language has it, in which '$' begins a variable. */
static json_t *literal(const char *text)
{
	CLEANUP_FREE char *escaped = malloc(2 * strlen(text) + 1);
	char *to = escaped;

	if (!escaped)
		return NULL;
	for (; *text; text++) {
		if (*text == '$')
			*to++ = '$';
		*to++ = *text;
	}
	*to = '\0';
	return json_string(escaped);
}

/* One rule; NULL when everything is to be recorded, and without memory. */
static json_t *rule(const struct record_options *options, int32_t pid)
{
	if (pid)
		return json_pack("{s:i}", "pid", (int)pid);
	if (options->comm)
		return json_pack("{s:{s:[o]}}", "comm", "values", literal(options->comm));
	if (options->cgroup)
		return json_pack("{s:{s:[o]}}", "cgroup", "values", literal(options->cgroup));
	return NULL;
}

static json_t *receiver(const struct record_options *options, int32_t pid,
			const struct record_output *output)
{
	json_t *made = json_pack("{s:i, s:s, s:i, s:b}", "samples_per_second",
				 options->frequency ? (int)options->frequency : DEFAULT_FREQUENCY,
				 "reporter_interval", "1s", "reporter_jitter", 0,
				 // In pprof and folded stacks times have no place.
				 "timestamps", output->form == RECORD_OTLP);

	if (made && (pid || options->comm || options->cgroup) &&
	    json_object_set_new(made, "select",
				json_pack("{s:[o]}", "include", rule(options, pid)))) {
		json_decref(made);
		return NULL;
	}
	return made;
}

static json_t *exporter(const struct record_output *output)
{
	if (output->form == RECORD_OTLP)
		return json_pack("{s:{s:o, s:s, s:{s:i, s:b}}}", "file", "path",
				 literal(output->otlp_path), "format", "proto", "sending_queue",
				 "num_consumers", 1, "block_on_overflow", 1);
	return json_pack("{s:{s:o, s:s, s:s, s:s}}", "pprof", "directory",
			 literal(output->directory), "interval", "0s", "format",
			 output->form == RECORD_FOLDED ? "folded" : "pprof", "max_pending_bytes",
			 "1GiB");
}

static json_t *service(const struct record_output *output)
{
	return json_pack("{s:s, s:{s:{s:s}, s:{s:s}}, s:{s:{s:[s], s:[s]}}}", "shutdown_timeout",
			 "60s", "telemetry", "logs", "level", "warn", "metrics", "level", "none",
			 "pipelines", "profiles", "receivers", "profiling", "exporters",
			 output->form == RECORD_OTLP ? "file" : "pprof");
}

char *record_config(const struct record_options *options, int32_t pid,
		    const struct record_output *output)
{
	json_t *all = json_pack("{s:{s:o}, s:o, s:o}", "receivers", "profiling",
				receiver(options, pid, output), "exporters", exporter(output),
				"service", service(output));
	char *text = all ? json_dumps(all, JSON_COMPACT) : NULL, *source = NULL;

	json_decref(all);
	if (text && asprintf(&source, "yaml:%s", text) < 0)
		source = NULL;
	free(text);
	return source;
}

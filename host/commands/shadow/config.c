// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include "../own_config.h"
#include "tally.h"

#include <jansson.h>

enum { MAX_REQUEST_MIB = 64 };

/* Intervals are the ones that it ships with, as the other's are: they decide about its bytes. */
static json_t *profiling(const struct shadow_options *options)
{
	// Nobody enriches here: there is nothing to wait for.
	json_t *made = json_pack("{s:s}", "hold_new_containers", "0s");

	if (made && options->frequency &&
	    json_object_set_new(made, "samples_per_second", json_integer(options->frequency))) {
		json_decref(made);
		return NULL;
	}
	return made;
}

static json_t *pipeline(const char *receiver, const char *exporter)
{
	return json_pack("{s:[s], s:[s]}", "receivers", receiver, "exporters", exporter);
}

char *shadow_config(const struct shadow_options *options)
{
	json_t *receivers =
		json_pack("{s:o, s:{s:{s:{s:o, s:i}}}}", "profiling", profiling(options), "otlp",
			  "protocols", "grpc", "endpoint", own_config_text(options->address),
			  "max_recv_msg_size_mib", MAX_REQUEST_MIB);
	json_t *exporters = json_pack("{s:{s:i}, s:{s:i}}", SHADOW_OWN_EXPORTER, "side", TALLY_OWN,
				      "tally/other", "side", TALLY_OTHER);
	json_t *service =
		json_pack("{s:s, s:{s:{s:s}, s:{s:s}}, s:{s:o, s:o}}", "shutdown_timeout", "60s",
			  "telemetry", "logs", "level", "warn", "metrics", "level", "none",
			  "pipelines", "profiles/own", pipeline("profiling", SHADOW_OWN_EXPORTER),
			  "profiles/other", pipeline("otlp", "tally/other"));

	return own_config_source(json_pack("{s:o, s:o, s:o}", "receivers", receivers, "exporters",
					   exporters, "service", service));
}

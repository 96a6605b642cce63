// SPDX-License-Identifier: Apache-2.0
#include "own_config.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

static const uint64_t grace_ns = 1000000000;

json_t *own_config_text(const char *text)
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

char *own_config_source(json_t *all)
{
	CLEANUP_FREE char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
	char *source = NULL;

	json_decref(all);
	if (text && asprintf(&source, "yaml:%s", text) < 0)
		source = NULL;
	return source;
}

struct profcol_error *own_config_run(const struct command_line *line, const struct program *program,
				     const struct component_registry *registry, const char *source,
				     struct service_settings *settings)
{
	CLEANUP(loaded_deinit) struct loaded loaded = { 0 };
	struct config_sources sources = line->sources;
	struct profcol_error *error;

	if (!source)
		return profcol_error_errno(ENOMEM, "make a configuration");
	sources.uris = &source;
	sources.uri_count = 1;
	error = loaded_init(&loaded, &sources, registry);
	if (error)
		return error;
	settings->version = program->version;
	settings->sources = &sources;
	settings->registry = loaded.registry;
	settings->plugins = loaded.plugins;
	settings->hangup_ends = true;
	settings->log_fd = STDERR_FILENO;
	settings->grace_ns = grace_ns;
	return service_run(settings, TAKE(loaded.config));
}

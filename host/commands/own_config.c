// SPDX-License-Identifier: Apache-2.0
#include "own_config.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

json_t *own_config_select(json_t *receiver, int32_t pid, const char *comm, const char *cgroup)
{
	json_t *rule = NULL;

	if (!pid && !comm && !cgroup)
		return receiver;
	if (pid)
		rule = json_pack("{s:i}", "pid", (int)pid);
	else
		rule = json_pack("{s:{s:[o]}}", comm ? "comm" : "cgroup", "values",
				 own_config_text(comm ? comm : cgroup));
	// json_pack gives NULL for a NULL in it, json_object_set_new fails for NULL.
	if (!json_object_set_new(receiver, "select", json_pack("{s:[o]}", "include", rule)))
		return receiver;
	json_decref(receiver);
	return NULL;
}

bool own_config_is_part(const struct record_options *options)
{
	return options->pid || options->comm || options->cgroup;
}

int own_config_time_left_ms(uint64_t end_ns, int most)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t left_ms = end_ns > now_ns ? (end_ns - now_ns + 999999) / 1000000 : 0;

	return left_ms < (uint64_t)most ? (int)left_ms : most;
}

struct profcol_error *own_config_open_process(int32_t pid, const char *verb, int *fd_ret)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return profcol_error_create(
			PROFCOL_SYSTEM,
			"cannot %s process %d: %s; see 'ps' for those that there are", verb,
			(int)pid, strerrordesc_np(errno));
	*fd_ret = fd;
	return NULL;
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

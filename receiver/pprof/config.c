// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include "glob.h"
#include "target.h"

#include "base/base.h"

#include <string.h>

#define INTERVAL_OPTIONS(config, timeout_doc_)                                                     \
	PROFCOL_OPTION_DURATION("collection_interval", config, interval.collection_interval_ns,    \
				"10s", PROFCOL_MILLISECOND, 0, "time from one look to the next"),  \
		PROFCOL_OPTION_DURATION("initial_delay", config, interval.initial_delay_ns, "1s",  \
					0, 0, "time from the start to the first look"),            \
		PROFCOL_OPTION_DURATION("timeout", config, interval.timeout_ns, "0s", 0, 0,        \
					timeout_doc_)

#define CONFIG struct pprof_file_config

static const struct profcol_option file_options[] = {
	PROFCOL_OPTION_STRING("include", CONFIG, include, NULL,
			      "which files: a path with *, ?, [a-z], and ** for any folders"),
	PROFCOL_OPTION_STRING("state_directory", CONFIG, state_directory, NULL,
			      "where the next start finds which files have been read; empty: it "
			      "reads all again"),
	INTERVAL_OPTIONS(CONFIG, "no effect"),
	PROFCOL_OPTION_END,
};

#undef CONFIG
#define CONFIG struct pprof_remote_config

static const struct profcol_option remote_options[] = {
	PROFCOL_OPTION_STRING("endpoint", CONFIG, http.endpoint, NULL,
			      "URL of a profile, or with `profiles` of a server"),
	PROFCOL_OPTION_LIST("endpoints", CONFIG, endpoints, NULL, "further URLs of that kind"),
	PROFCOL_OPTION_LIST("profiles", CONFIG, profiles, NULL,
			    "names that each server is asked for below /debug/pprof: profile, "
			    "heap, allocs, block, mutex ..."),
	PROFCOL_OPTION_DURATION("profile_duration", CONFIG, duration_ns, "10s", PROFCOL_SECOND,
				PROFCOL_HOUR, "how long a server samples for `profile`"),
	INTERVAL_OPTIONS(CONFIG, "of a request; 0 = 1m, and as long as the server samples"),
	PROFCOL_OPTION_ENUM("compression", CONFIG, http.compression, "", net_post_compression_names,
			    "no effect: requests have no body"),
	NET_HTTP_CLIENT_OPTIONS(CONFIG, http, "0"),
	PROFCOL_OPTION_END,
};

#undef CONFIG

static const struct profcol_option server_options[] = {
	CONFIGHTTP_BODY_SERVER_OPTIONS(struct pprof_server_config, server, "localhost:4040"),
	PROFCOL_OPTION_END,
};

#define CONFIG struct pprof_self_config

static const struct profcol_option self_options[] = {
	INTERVAL_OPTIONS(CONFIG, "not supported"),
	PROFCOL_OPTION_INT("block_profile_fraction", CONFIG, block_profile_fraction, "0", INT32_MIN,
			   INT32_MAX, "not supported"),
	PROFCOL_OPTION_INT("mutex_profile_fraction", CONFIG, mutex_profile_fraction, "0", INT32_MIN,
			   INT32_MAX, "not supported"),
	PROFCOL_OPTION_END,
};

#undef CONFIG
#define CONFIG struct pprof_config

const struct profcol_option pprof_options[] = {
	PROFCOL_OPTION_SECTION("file", CONFIG, file, file_named, file_options,
			       "files, each of which is read once"),
	PROFCOL_OPTION_SECTION("remote", CONFIG, remote, remote_named, remote_options,
			       "what servers show at /debug/pprof"),
	PROFCOL_OPTION_SECTION("server", CONFIG, server, server_named, server_options,
			       "what clients POST to /v1/pprof"),
	PROFCOL_OPTION_SECTION("self", CONFIG, self, self_named, self_options,
			       "not supported: profcol is no Go program"),
	PROFCOL_OPTION_END,
};

#undef CONFIG

/* ---- what cannot be ---- */

static struct profcol_error *check_file(const struct pprof_file_config *config)
{
	const char *fault;

	if (!config->include[0])
		return profcol_error_create(
			PROFCOL_CONFIG, "file.include: name the files, as /var/lib/pprof/*.pb.gz");
	fault = glob_fault(config->include);
	return fault ? profcol_error_create(PROFCOL_CONFIG, "file.include: %s", fault) : NULL;
}

static struct profcol_error *check_further(const char *url)
{
	if (!url[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "remote.endpoints: one of them is empty; leave it out");
	return net_http_check_url("remote.endpoints", url);
}

static struct profcol_error *check_urls(const struct pprof_remote_config *config)
{
	struct profcol_error *error = net_http_check_url("remote.endpoint", config->http.endpoint);
	size_t count = target_count(config);

	for (size_t i = 0; i < config->endpoints.count && !error; i++)
		error = check_further(config->endpoints.items[i]);
	if (error)
		return error;
	if (!count)
		return profcol_error_create(PROFCOL_CONFIG,
					    "remote.endpoint: name a URL, as "
					    "http://localhost:6060/debug/pprof/heap");
	if (count > PPROF_TARGETS_MAX)
		return profcol_error_create(
			PROFCOL_CONFIG,
			"remote.endpoints: with `profiles` these are %zu "
			"profiles; profcol asks for %d at most, spread them over "
			"several receivers",
			count, PPROF_TARGETS_MAX);
	return NULL;
}

/* An answer that comes after its time never does. */
static struct profcol_error *check_timeout(const struct pprof_remote_config *config)
{
	const struct profcol_list *names = &config->profiles;

	for (size_t i = 0; i < names->count && config->interval.timeout_ns; i++)
		if (!strcmp(names->items[i], "profile") &&
		    config->interval.timeout_ns <= config->duration_ns)
			return profcol_error_create(
				PROFCOL_CONFIG,
				"remote.timeout: a server samples for profile_duration before it "
				"answers; wait longer than that, or leave the timeout out");
	return NULL;
}

static struct profcol_error *check_remote(const struct pprof_remote_config *config)
{
	struct profcol_error *error = check_urls(config);

	for (size_t i = 0; i < config->profiles.count && !error; i++)
		if (!target_is_name(config->profiles.items[i]))
			error = profcol_error_create(
				PROFCOL_CONFIG,
				"remote.profiles: '%.64s' is no name; write profile, heap, allocs, "
				"block, mutex or another one of letters and digits",
				config->profiles.items[i]);
	for (size_t i = 0; i < target_url_count(config) && !error && config->profiles.count; i++)
		if (strpbrk(target_url(config, i), "?#"))
			error = profcol_error_create(PROFCOL_CONFIG,
						     "remote.endpoint: with `profiles` it names a "
						     "server; leave the query out");
	if (!error)
		error = check_timeout(config);
	return error ? error : profcol_error_prefix(net_http_validate(&config->http), "remote");
}

struct profcol_error *pprof_config_validate(const struct pprof_config *config)
{
	struct profcol_error *error = NULL;

	if (config->self_named)
		return profcol_error_create(
			PROFCOL_CONFIG, "self: profcol is no Go program; leave the key out, the "
					"receiver profiling sees profcol as any other program");
	if (!config->file_named && !config->remote_named && !config->server_named)
		return profcol_error_create(PROFCOL_CONFIG,
					    "at least one of file, remote and server must be "
					    "configured; add 'server: {}' to take what is posted");
	if (config->file_named)
		error = check_file(&config->file);
	if (config->remote_named)
		error = profcol_error_join(error, check_remote(&config->remote));
	if (config->server_named)
		error = profcol_error_join(
			error, profcol_error_prefix(
				       net_http_server_validate(&config->server.server), "server"));
	return error;
}

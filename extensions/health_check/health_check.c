// SPDX-License-Identifier: Apache-2.0
/*
 * The `health_check` extension: probes learn whether profcol works, and people which part of it
 * does not, since when and why. Both versions of the Collector's extension in one.
 */
#include "answers.h"
#include "config.h"

#include "base/base.h"

#include <profcol/component.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct health_check {
	const struct profcol_host *host; /* borrowed, as the next */
	const struct health_check_config *config;
	struct profcol_http_listener *listener; /* the host's; NULL while closed */
};

static struct profcol_error *validate(const void *config)
{
	return health_check_config_validate(config);
}

static struct profcol_error *create(const struct profcol_host *host, const void *config, void **ret)
{
	struct health_check *check = calloc(1, sizeof(*check));

	if (!check)
		return profcol_error_errno(ENOMEM, "create the extension");
	check->host = host;
	check->config = config;
	*ret = check;
	return NULL;
}

/* As Go's router: one that ends in '/' stands for everything below it. */
static bool path_matches(const char *pattern, const char *path)
{
	size_t length = strlen(pattern);

	if (pattern[length - 1] != '/')
		return !strcmp(pattern, path);
	return !strncmp(pattern, path, length);
}

enum page { PAGE_NONE, PAGE_PROBE, PAGE_STATUS };

static enum page find_page(const struct health_check_config *config, const char *path)
{
	if (config->use_v2)
		return config->http.status.enabled && path_matches(config->http.status.path, path)
			       ? PAGE_STATUS
			       : PAGE_NONE;
	// What the configuration says goes before what is always there.
	if (!strcmp(config->path, path))
		return PAGE_PROBE;
	if (!strcmp(path, "/status"))
		return PAGE_STATUS;
	return path_matches(config->path, path) ? PAGE_PROBE : PAGE_NONE;
}

static void handle(void *context, const struct profcol_http_request *request,
		   struct profcol_http_reply *reply)
{
	const struct health_check *check = context;
	enum page page = find_page(check->config, request->path);
	struct profcol_service_view *view;

	if (page == PAGE_NONE) {
		reply->status = 404;
		reply->body = strdup("404 Not Found\n");
		reply->length = reply->body ? strlen(reply->body) : 0;
		return;
	}
	view = check->host->view(check->host);
	if (page == PAGE_PROBE)
		answer_probe(check->config, view, clock_realtime_ns(), reply);
	else
		answer_status(check->config, view, request->query, clock_realtime_ns(), reply);
	check->host->view_release(view);
}

static struct profcol_error *start(void *self)
{
	struct health_check *check = self;
	const struct health_check_config *config = check->config;
	struct profcol_http_settings settings = confighttp_server_settings(
		config->use_v2 ? &config->http.server : &config->server, check->host->logger);
	struct profcol_error *error;

	settings.handle = handle;
	settings.context = check;
	error = check->host->http_open(check->host, &settings, &check->listener);
	if (!error)
		health_check_config_log_ineffective(config, check->host->logger);
	return error;
}

static struct profcol_error *shut_down(void *self, uint64_t deadline_ns)
{
	struct health_check *check = self;

	(void)deadline_ns;
	check->host->http_close(TAKE(check->listener));
	return NULL;
}

static void destroy(void *self)
{
	free(self);
}

static void diagnose(const void *options, struct profcol_findings *findings)
{
	const struct health_check_config *config = options;

	confighttp_server_diagnose(config->use_v2 ? &config->http.server : &config->server,
				   findings);
}

/* The Collector's second version has a name of its own. */
static const char *const aliases[] = { "healthcheckv2", NULL };

const struct profcol_component profcol_extension_health_check = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXTENSION,
	.stability = PROFCOL_ALPHA,
	.type = "health_check",
	.aliases = aliases,
	.summary = "answers probes, and says which component is unwell since when and why",
	.options = health_check_options,
	.config_size = sizeof(struct health_check_config),
	.validate = validate,
	.create = create,
	.start = start,
	.shutdown = shut_down,
	.destroy = destroy,
	.diagnose = diagnose,
};

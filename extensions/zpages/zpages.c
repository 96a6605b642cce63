// SPDX-License-Identifier: Apache-2.0
/* The `zpages` extension: pages for people about what runs inside, as the Collector has them. */
#include "pages.h"

#include "base/base.h"
#include "confighttp/confighttp.h"

#include <profcol/component.h>

#include <errno.h>
#include <stdlib.h>

struct expvar_config {
	bool enabled;
};

struct zpages_config {
	struct confighttp_server_config server;
	struct expvar_config expvar;
};

static const struct profcol_option expvar_options[] = {
	PROFCOL_OPTION_BOOL("enabled", struct expvar_config, enabled, "false", "no effect"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option zpages_options[] = {
	CONFIGHTTP_SERVER_OPTIONS(struct zpages_config, server, "localhost:55679"),
	PROFCOL_OPTION_NESTED("expvar", struct zpages_config, expvar, expvar_options,
			      "no effect: variables of Go programs"),
	PROFCOL_OPTION_END,
};

struct zpages {
	const struct profcol_host *host; /* borrowed, as the next */
	const struct zpages_config *config;
	struct profcol_http_listener *listener; /* the host's; NULL while closed */
};

static struct profcol_error *validate(const void *options)
{
	const struct zpages_config *config = options;

	return confighttp_server_validate(&config->server);
}

static struct profcol_error *create(const struct profcol_host *host, const void *config, void **ret)
{
	struct zpages *zpages = calloc(1, sizeof(*zpages));

	if (!zpages)
		return profcol_error_errno(ENOMEM, "create the extension");
	zpages->host = host;
	zpages->config = config;
	*ret = zpages;
	return NULL;
}

static void handle(void *context, const struct profcol_http_request *request,
		   struct profcol_http_reply *reply)
{
	const struct zpages *zpages = context;
	struct profcol_service_view *view = zpages->host->view(zpages->host);

	pages_answer(request->path, view, clock_realtime_ns(), reply);
	zpages->host->view_release(view);
}

static struct profcol_error *start(void *self)
{
	struct zpages *zpages = self;
	const struct profcol_logger *logger = zpages->host->logger;
	struct profcol_http_settings settings =
		confighttp_server_settings(&zpages->config->server, logger);
	struct profcol_error *error;

	settings.handle = handle;
	settings.context = zpages;
	error = zpages->host->http_open(zpages->host, &settings, &zpages->listener);
	if (error)
		return error;
	confighttp_server_log_ineffective(&zpages->config->server, logger);
	if (zpages->config->expvar.enabled)
		profcol_log_info(logger, "'expvar' has no effect: there is no Go run time here");
	return NULL;
}

static struct profcol_error *shut_down(void *self, uint64_t deadline_ns)
{
	struct zpages *zpages = self;

	(void)deadline_ns;
	zpages->host->http_close(TAKE(zpages->listener));
	return NULL;
}

static void destroy(void *self)
{
	free(self);
}

static void diagnose(const void *options, struct profcol_findings *findings)
{
	const struct zpages_config *config = options;

	confighttp_server_diagnose(&config->server, findings);
}

const struct profcol_component profcol_extension_zpages = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXTENSION,
	.stability = PROFCOL_ALPHA,
	.type = "zpages",
	.summary = "pages about pipelines and components, for people",
	.options = zpages_options,
	.config_size = sizeof(struct zpages_config),
	.validate = validate,
	.create = create,
	.start = start,
	.shutdown = shut_down,
	.destroy = destroy,
	.diagnose = diagnose,
};

// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char no_start[] = "profcol does not start";

/* Does another part of the configuration listen there? */
static struct profcol_error *claim(const struct listener *listener,
				   struct profcol_findings *findings)
{
	CLEANUP_FREE char *what = NULL;

	if (listener->endpoint.port && strcmp(listener->endpoint.port, "0") == 0)
		return NULL;
	if (asprintf(&what, "address '%s'", listener->text) < 0) {
		what = NULL;
		return profcol_error_errno(ENOMEM, "endpoint");
	}
	return profcol_error_prefix(findings_claim(findings, what, "choose another one"),
				    "endpoint");
}

static struct profcol_error *try_to_listen(const struct listener *listener,
					   struct profcol_findings *findings)
{
	const struct sockets_place place = listener_place(listener);
	struct profcol_error *error = claim(listener, findings);
	struct sockets sockets = { 0 };

	if (!error)
		error = sockets_probe(&place, &sockets);
	for (size_t i = 0; i < sockets.count; i++)
		findings_hold(findings, sockets.fds[i]);
	return error;
}

void net_server_diagnose(const struct net_server_config *config, struct profcol_findings *findings)
{
	const struct tls_server_settings tls = tls_server_translate(&config->tls);
	struct profcol_error *error = config->tls_named ? tls_server_probe(&tls) : NULL;
	struct listener listener;

	if (error)
		findings_add_error(findings, "TLS", PROFCOL_MISSING, no_start, error);
	else
		findings_add_fine(findings, "TLS",
				  config->tls_named ? "on, its files can be used" : "off");
	error = listener_init(&listener, config->endpoint, config->transport);
	if (!error)
		error = try_to_listen(&listener, findings);
	if (error)
		findings_add_error(findings, "endpoint", PROFCOL_MISSING, no_start, error);
	else
		findings_add_fine(findings, "endpoint", "'%s' is free", config->endpoint);
	listener_deinit(&listener);
}

void net_http_server_diagnose(const struct confighttp_server_config *config,
			      struct profcol_findings *findings)
{
	const struct net_server_config translated = http_translate_config(config);

	net_server_diagnose(&translated, findings);
}

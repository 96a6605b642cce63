// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include "base/base.h"

#include <netdb.h>
#include <poll.h>
#include <stdlib.h>

enum { LOOKUP_MS = 3000 };

static void visit_tls(const struct net_client *client, struct profcol_findings *findings)
{
	CLEANUP(tls_material_deinit) struct tls_material material = { 0 };
	struct profcol_error *error;

	if (!client->tls) {
		findings_add_fine(findings, "TLS", "off");
		return;
	}
	error = tls_client_load(&client->config->tls, &material);
	if (error)
		findings_add_error(findings, "TLS", PROFCOL_MISSING, "profcol does not start",
				   error);
	else
		findings_add_fine(findings, "TLS", "on, its files can be used");
}

static void add_unknown_name(const struct net_client *client, const char *why,
			     struct profcol_findings *findings)
{
	findings_add_error(
		findings, "endpoint", PROFCOL_MISSING, "nothing can be sent",
		profcol_error_create(PROFCOL_UNAVAILABLE,
				     "'%s' has no address: %s; correct the endpoint, or see to it "
				     "that this machine's name server knows it",
				     client->endpoint.host, why));
}

/* False when the name cannot be looked up, which has been added then. */
static bool visit_name(struct net_client *client, struct profcol_findings *findings)
{
	const struct addrinfo *found;
	struct pollfd done = { .events = POLLIN };
	int status;

	client->lookup = lookup_start(client->endpoint.host, client->endpoint.port);
	if (!client->lookup) {
		add_unknown_name(client, "no memory or threads", findings);
		return false;
	}
	done.fd = lookup_fd(client->lookup);
	if (poll(&done, 1, LOOKUP_MS) <= 0) {
		add_unknown_name(client, "the name server does not answer", findings);
		return false;
	}
	status = lookup_result(client->lookup, &found);
	if (status)
		add_unknown_name(client, gai_strerror(status), findings);
	else
		findings_add_fine(findings, "endpoint", "'%s' has an address",
				  client->endpoint.host);
	return !status;
}

/* A peer that is away now may be there in a minute: what is sent meanwhile waits. */
static void visit_peer(struct net_client *client, struct profcol_findings *findings)
{
	CLEANUP_FREE char *fault = diagnosis_make(client);

	if (!fault)
		findings_add_fine(findings, "peer", "'%s' takes connections",
				  client->config->endpoint);
	else
		findings_add_error(findings, "peer", PROFCOL_LACKING,
				   "requests wait in the queue, as far as it holds them",
				   profcol_error_create(PROFCOL_UNAVAILABLE, "%s", fault));
}

static void visit_endpoint(struct net_client *client, struct profcol_findings *findings)
{
	if (!diagnosis_is_possible(client))
		findings_add_fine(findings, "endpoint",
				  "'%s' is reached by a proxy or a name server of its own, which "
				  "only gRPC can try",
				  client->config->endpoint);
	else if (client->endpoint.path || visit_name(client, findings))
		visit_peer(client, findings);
}

void net_client_diagnose(const struct net_client_config *config, struct profcol_findings *findings)
{
	struct net_client client = {
		.config = config,
		.cancelled_fd = -1,
		.probe_time_ns = NET_PROBE_TIME_NS,
	};
	struct profcol_error *error = endpoint_init(&client.endpoint, config->endpoint);

	if (error) {
		findings_add_error(findings, "endpoint", PROFCOL_MISSING, "nothing can be sent",
				   error);
		return;
	}
	client.tls = tls_client_is_on(&config->tls, client.endpoint.forces_tls);
	visit_tls(&client, findings);
	visit_endpoint(&client, findings);
	lookup_drop(client.lookup);
	endpoint_deinit(&client.endpoint);
}

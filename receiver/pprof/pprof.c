// SPDX-License-Identifier: Apache-2.0
/*
 * The `pprof` receiver: takes profiles in pprof's format from files, from servers that show them,
 * and from clients that send them.
 */
#include "config.h"
#include "inbox.h"
#include "intake.h"
#include "push.h"
#include "remote.h"

#include "base/base.h"

#include <errno.h>

struct pprof_receiver {
	const struct pprof_config *config; /* borrowed */
	struct intake intake;
	struct inbox *inbox; /* owned, as the next: from start, those that are configured */
	struct remote *remote;
	struct push *push;
};

static struct profcol_error *pprof_validate(const void *options)
{
	return pprof_config_validate(options);
}

static void pprof_diagnose(const void *options, struct profcol_findings *findings)
{
	const struct pprof_config *config = options;

	if (config->server_named)
		net_http_server_diagnose(&config->server.server, findings);
}

static void pprof_destroy(void *self)
{
	struct pprof_receiver *receiver = self;

	if (!receiver)
		return;
	inbox_destroy(receiver->inbox);
	remote_destroy(receiver->remote);
	push_destroy(receiver->push);
	free(receiver);
}

static struct profcol_error *pprof_create(const struct profcol_host *host, const void *options,
					  void **ret)
{
	struct pprof_receiver *receiver = calloc(1, sizeof(*receiver));

	if (!receiver)
		return profcol_error_errno(ENOMEM, "create the receiver");
	receiver->config = options;
	intake_init(&receiver->intake, host);
	if (receiver->config->file_named)
		intake_register(&receiver->intake, INTAKE_FILE);
	if (receiver->config->remote_named)
		intake_register(&receiver->intake, INTAKE_REMOTE);
	if (receiver->config->server_named)
		intake_register(&receiver->intake, INTAKE_SERVER);
	*ret = receiver;
	return NULL;
}

static struct profcol_error *pprof_start(void *self)
{
	struct pprof_receiver *receiver = self;
	const struct pprof_config *config = receiver->config;
	struct profcol_error *error = NULL;

	if (config->server_named)
		error = push_create(&config->server, &receiver->intake, &receiver->push);
	if (!error && config->file_named)
		error = inbox_create(&config->file, &receiver->intake, &receiver->inbox);
	if (!error && config->remote_named)
		error = remote_create(&config->remote, &receiver->intake, &receiver->remote);
	return error;
}

static struct profcol_error *pprof_shutdown(void *self, uint64_t deadline_ns)
{
	struct pprof_receiver *receiver = self;

	uint64_t last_ns = net_server_last_answer_ns(deadline_ns);

	if (receiver->push)
		push_stop(receiver->push);
	inbox_destroy(TAKE(receiver->inbox));
	remote_destroy(TAKE(receiver->remote));
	if (receiver->push)
		push_shutdown(receiver->push, last_ns);
	return NULL;
}

const struct profcol_component profcol_receiver_pprof = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_RECEIVER,
	.stability = PROFCOL_ALPHA,
	.type = "pprof",
	.summary = "takes pprof from files, from servers that show it, and over HTTP",
	.options = pprof_options,
	.config_size = sizeof(struct pprof_config),
	.validate = pprof_validate,
	.create = pprof_create,
	.start = pprof_start,
	.shutdown = pprof_shutdown,
	.destroy = pprof_destroy,
	.diagnose = pprof_diagnose,
};

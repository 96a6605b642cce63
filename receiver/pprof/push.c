// SPDX-License-Identifier: Apache-2.0
#include "push.h"

#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#define PUSH_PATH "/v1/pprof"

struct push {
	struct intake *intake; /* borrowed */
	size_t largest;        /* bytes of a request */
	struct net_server *server;
	struct net_refusals unheard;
};

static bool passes(const struct profcol_error *error)
{
	return profcol_error_is_retryable(error) || profcol_error_code(error) == PROFCOL_SHUTDOWN;
}

/* Takes @error. @code is for one that does not pass. */
static void answer_error(struct net_answer *answer, enum net_code code, struct profcol_error *error)
{
	answer->code = passes(error) ? NET_UNAVAILABLE : code;
	answer->message = strdup(profcol_error_message(error));
	answer->retry_delay_ns = profcol_error_delay(error);
	answer->has_retry = passes(error) && answer->retry_delay_ns;
	profcol_error_destroy(error);
}

static bool admit(void *context, struct net_call *call, struct net_answer *answer)
{
	(void)context;
	(void)call;
	(void)answer;
	return true;
}

static void handle(void *context, struct net_call *call, const uint8_t *bytes, size_t length,
		   struct memory_share *share, struct net_answer *answer)
{
	struct push *push = context;
	struct profcol_batch *batch;
	struct profcol_error *error =
		intake_decode(push->intake, bytes, length, push->largest, NULL, share, &batch);

	if (error) {
		intake_refuse(push->intake, INTAKE_SERVER, net_call_peer(call), error);
		answer_error(answer, NET_INVALID_ARGUMENT, error);
		return;
	}
	error = intake_pass_on(push->intake, INTAKE_SERVER, batch);
	if (error)
		answer_error(answer, NET_INTERNAL, error);
}

static void count_unheard(void *context, enum net_refusal refusal, const char *peer)
{
	struct push *push = context;

	net_refusals_count(&push->unheard, refusal, peer);
}

struct profcol_error *push_create(const struct pprof_server_config *config, struct intake *intake,
				  struct push **ret)
{
	struct push *push = calloc(1, sizeof(*push));
	struct net_service service = {
		.context = push,
		.admit = admit,
		.handle = handle,
		.refused = count_unheard,
		.budget = &intake->budget,
		.is_plain = true,
	};
	struct profcol_error *error;

	if (!push)
		return profcol_error_errno(ENOMEM, "create the receiver");
	push->intake = intake;
	push->largest = net_http_server_message_bytes(&config->server);
	net_refusals_init(&push->unheard, intake->host, "http");
	error = net_http_server_create(&config->server, PUSH_PATH, &service, intake->host->logger,
				       &push->server);
	if (error) {
		push_destroy(push);
		return profcol_error_prefix(error, "server");
	}
	profcol_log_info(intake->host->logger, "receiving pprof at %s" PUSH_PATH "%s",
			 net_server_address(push->server), config->server.tls_named ? ", TLS" : "");
	*ret = push;
	return NULL;
}

void push_stop(struct push *push)
{
	net_server_stop(push->server);
}

void push_shutdown(struct push *push, uint64_t deadline_ns)
{
	net_server_shutdown(push->server, deadline_ns);
}

void push_destroy(struct push *push)
{
	if (!push)
		return;
	net_server_destroy(push->server);
	free(push);
}

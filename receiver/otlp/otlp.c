// SPDX-License-Identifier: Apache-2.0
/*
 * The `otlp` receiver: takes profiles from other profilers and Collectors, over OTLP gRPC and HTTP.
 * A request is acknowledged once the pipelines have taken it.
 */
#include "config.h"

#include "base/base.h"
#include "profile/profile.h"

#include <profcol/component.h>

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT_METHOD  "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define HTTP_PATH      "/v1development/profiles"
#define VERSION_HEADER "otlp-profiles-development-version"

enum {
	/* Memory for decoding, in multiples of the largest request: twice what usual ones take. */
	DECODE_FACTOR = 16,
};

/* For each request that is being decoded. */
#define DECODE_MAX_BYTES ((size_t)1 << 30)

#define NOTICE_INTERVAL_NS UINT64_C(60000000000)

enum otlp_protocol { OTLP_GRPC, OTLP_HTTP, OTLP_PROTOCOLS };

/* What the receiver has of one protocol. */
struct otlp_front {
	struct otlp_receiver *receiver; /* borrowed */
	struct net_server *server;      /* from start, if the protocol is configured */
	size_t max_memory;              /* of one request, to decode it */
	struct profcol_metric *accepted, *refused, *refused_requests;
	struct net_refusals unheard;
	_Atomic uint64_t notice_after_ns; /* CLOCK_MONOTONIC: no line about refusals before */
};

struct otlp_receiver {
	const struct profcol_host *host;  /* borrowed */
	const struct otlp_config *config; /* borrowed */
	struct memory_budget budget;      /* of both */
	struct otlp_front fronts[OTLP_PROTOCOLS];
};

/* ---- answers ---- */

/* Takes @message, which may be NULL for want of memory. */
static void otlp_answer(struct net_answer *answer, enum net_code code, char *message)
{
	answer->code = code;
	answer->message = message;
}

/* A client that is broken will not stop: one line now and then. */
static void otlp_notice(struct otlp_front *front, struct net_call *call, const char *reason)
{
	uint64_t now = clock_monotonic_ns(), after = atomic_load(&front->notice_after_ns);

	profcol_metric_add(front->refused_requests, 1);
	if (now < after || !atomic_compare_exchange_strong(&front->notice_after_ns, &after,
							   now + NOTICE_INTERVAL_NS))
		return;
	profcol_log_warn(front->receiver->host->logger,
			 "refused a request from %s: %s; %" PRId64 " so far, others are counted",
			 net_call_peer(call), reason, profcol_metric_get(front->refused_requests));
}

/* ---- the head of a call ---- */

static bool otlp_version_is_ours(const struct net_call *call)
{
	const char *value;
	size_t length, count = net_call_header(call, VERSION_HEADER, &value, &length);

	return !count || (count == 1 && length == 1 && value[0] == '1');
}

static char *otlp_explain_method(const char *method)
{
	const char *remedy = "profcol receives profiles only";
	char *text;

	if (strstr(method, ".profiles."))
		remedy = "profcol receives profiles as of " EXPORT_METHOD;
	if (asprintf(&text, "unknown method %s; %s", method, remedy) < 0)
		return NULL;
	return text;
}

static bool otlp_admit(void *context, struct net_call *call, struct net_answer *answer)
{
	struct otlp_front *front = context;
	const char *method = net_call_method(call);

	// Of HTTP the server hears one path only.
	if (front == &front->receiver->fronts[OTLP_GRPC] && strcmp(method, EXPORT_METHOD))
		otlp_answer(answer, NET_UNIMPLEMENTED, otlp_explain_method(method));
	else if (!otlp_version_is_ours(call))
		otlp_answer(answer, NET_INVALID_ARGUMENT,
			    strdup("invalid or unsupported " VERSION_HEADER
				   ": supported version is 1"));
	else
		return true;
	otlp_notice(front, call, answer->message ? answer->message : "no memory");
	return false;
}

static void otlp_count_unheard(void *context, enum net_refusal refusal, const char *peer)
{
	struct otlp_front *front = context;

	net_refusals_count(&front->unheard, refusal, peer);
}

/* ---- the whole call ---- */

/* As the Collector's receiver has it: what may pass is Unavailable, else it is for good. */
static void otlp_refuse(const struct profcol_error *error, struct net_answer *answer)
{
	bool passes =
		profcol_error_is_retryable(error) || profcol_error_code(error) == PROFCOL_SHUTDOWN;

	otlp_answer(answer, passes ? NET_UNAVAILABLE : NET_INTERNAL,
		    strdup(profcol_error_message(error)));
	answer->retry_delay_ns = profcol_error_delay(error);
	answer->has_retry = passes && answer->retry_delay_ns;
}

/* Takes @batch. */
static void otlp_pass_on(struct otlp_front *front, struct profcol_batch *batch,
			 struct net_answer *answer)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	const struct profcol_host *host = front->receiver->host;
	uint64_t samples = profcol_batch_events(batch);

	// Also of what is refused: the edge that refuses books it as lost there.
	host->account(host, PROFCOL_TAKEN, NULL, samples);
	error = host->consume_next(host, batch);
	profcol_metric_add(error ? front->refused : front->accepted, (int64_t)samples);
	if (error)
		otlp_refuse(error, answer);
}

static struct profcol_error *otlp_read(const struct otlp_front *front, bool is_json,
				       const uint8_t *bytes, size_t length,
				       struct memory_share *share, struct profcol_batch **ret)
{
	const struct otlp_decode_limits limits = { front->max_memory, share };
	CLEANUP_FREE uint8_t *translated = NULL;
	struct profcol_error *error = NULL;

	if (is_json) {
		error = otlp_from_json((const char *)bytes, length, share, &translated, &length);
		bytes = translated;
	}
	return error ? error : otlp_decode(bytes, length, &limits, ret);
}

static void otlp_handle(void *context, struct net_call *call, const uint8_t *bytes, size_t length,
			struct memory_share *share, struct net_answer *answer)
{
	struct otlp_front *front = context;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct profcol_batch *batch;

	if (!length && !net_call_is_json(call))
		return;
	error = otlp_read(front, net_call_is_json(call), bytes, length, share, &batch);
	if (error) {
		otlp_answer(answer,
			    profcol_error_is_retryable(error) ? NET_UNAVAILABLE
							      : NET_INVALID_ARGUMENT,
			    strdup(profcol_error_message(error)));
		otlp_notice(front, call, profcol_error_message(error));
		return;
	}
	if (profcol_batch_count(batch, PROFCOL_SAMPLES))
		otlp_pass_on(front, batch, answer);
	else
		profcol_batch_unref(batch);
}

/* ---- life ---- */

static struct profcol_error *otlp_validate(const void *options)
{
	return otlp_config_validate(options);
}

static void otlp_diagnose(const void *options, struct profcol_findings *findings)
{
	const struct otlp_protocols_config *protocols =
		&((const struct otlp_config *)options)->protocols;

	if (protocols->grpc_named)
		net_server_diagnose(&protocols->grpc, findings);
	if (protocols->http_named)
		net_http_server_diagnose(&protocols->http.server, findings);
}

static void otlp_destroy(void *self)
{
	struct otlp_receiver *receiver = self;

	if (!receiver)
		return;
	for (int i = 0; i < OTLP_PROTOCOLS; i++)
		net_server_destroy(receiver->fronts[i].server);
	free(receiver);
}

/* No single request has more than all of them may. */
static size_t otlp_decode_bytes(const struct otlp_receiver *receiver, size_t request)
{
	size_t bytes = request < DECODE_MAX_BYTES / DECODE_FACTOR ? DECODE_FACTOR * request
								  : DECODE_MAX_BYTES;

	return bytes < receiver->budget.most ? bytes : receiver->budget.most;
}

static bool otlp_ask_for_room(void *context, size_t bytes)
{
	const struct otlp_receiver *receiver = context;

	return receiver->host->has_room(receiver->host, bytes);
}

static void otlp_register(struct otlp_front *front, const char *transport)
{
	const struct profcol_host *host = front->receiver->host;
	char label[64];

	snprintf(label, sizeof(label), "transport=%s", transport);
	front->accepted = host->metric(host, PROFCOL_COUNTER, "receiver_accepted_profile_samples",
				       label, "samples that the pipelines have taken");
	front->refused =
		host->metric(host, PROFCOL_COUNTER, "receiver_refused_profile_samples", label,
			     "samples that a pipeline has refused, and the client was "
			     "told to keep or to drop");
	front->refused_requests =
		host->metric(host, PROFCOL_COUNTER, "receiver_refused_requests", label,
			     "requests refused unread: broken, of another service or version, or "
			     "too large for the memory that there is");
	net_refusals_init(&front->unheard, host, transport);
}

static struct profcol_error *otlp_create(const struct profcol_host *host, const void *options,
					 void **ret)
{
	static const char *const transports[] = { [OTLP_GRPC] = "grpc", [OTLP_HTTP] = "http" };
	struct otlp_receiver *receiver = calloc(1, sizeof(*receiver));
	const struct otlp_protocols_config *protocols;

	if (!receiver)
		return profcol_error_errno(ENOMEM, "create the receiver");
	receiver->host = host;
	receiver->config = options;
	protocols = &receiver->config->protocols;
	memory_budget_for_decoding(&receiver->budget, otlp_ask_for_room, receiver);
	receiver->fronts[OTLP_GRPC].max_memory =
		otlp_decode_bytes(receiver, net_server_message_bytes(&protocols->grpc));
	receiver->fronts[OTLP_HTTP].max_memory =
		otlp_decode_bytes(receiver, net_http_server_message_bytes(&protocols->http.server));
	for (int i = 0; i < OTLP_PROTOCOLS; i++) {
		receiver->fronts[i].receiver = receiver;
		if (i == OTLP_GRPC ? protocols->grpc_named : protocols->http_named)
			otlp_register(&receiver->fronts[i], transports[i]);
	}
	*ret = receiver;
	return NULL;
}

/* What a server's line says of TLS. */
static const char *otlp_describe_tls(bool is_on, const char *client_ca_file)
{
	if (!is_on)
		return "";
	return client_ca_file[0] ? ", TLS, from clients with a certificate" : ", TLS";
}

static struct profcol_error *otlp_start_grpc(struct otlp_receiver *receiver,
					     const struct net_service *service)
{
	const struct net_server_config *config = &receiver->config->protocols.grpc;
	struct otlp_front *front = &receiver->fronts[OTLP_GRPC];
	struct profcol_error *error =
		net_server_create(config, service, receiver->host->logger, &front->server);

	if (error)
		return profcol_error_prefix(error, "protocols.grpc");
	profcol_log_info(receiver->host->logger, "receiving OTLP over gRPC at %s%s",
			 net_server_address(front->server),
			 otlp_describe_tls(config->tls_named, config->tls.client_ca_file));
	return NULL;
}

static struct profcol_error *otlp_start_http(struct otlp_receiver *receiver,
					     const struct net_service *service)
{
	const struct confighttp_server_config *config = &receiver->config->protocols.http.server;
	struct otlp_front *front = &receiver->fronts[OTLP_HTTP];
	struct profcol_error *error = net_http_server_create(
		config, HTTP_PATH, service, receiver->host->logger, &front->server);

	if (error)
		return profcol_error_prefix(error, "protocols.http");
	profcol_log_info(receiver->host->logger, "receiving OTLP over HTTP at %s%s",
			 net_server_address(front->server),
			 otlp_describe_tls(config->tls_named, config->tls.client_ca_file));
	return NULL;
}

/* Not earlier: clients come at once. */
static struct profcol_error *otlp_start(void *self)
{
	struct otlp_receiver *receiver = self;
	const struct otlp_protocols_config *protocols = &receiver->config->protocols;
	struct net_service service = {
		.admit = otlp_admit,
		.handle = otlp_handle,
		.refused = otlp_count_unheard,
		.budget = &receiver->budget,
	};
	struct profcol_error *error = NULL;

	service.context = &receiver->fronts[OTLP_GRPC];
	if (protocols->grpc_named)
		error = otlp_start_grpc(receiver, &service);
	service.context = &receiver->fronts[OTLP_HTTP];
	if (!error && protocols->http_named)
		error = otlp_start_http(receiver, &service);
	return error;
}

static struct profcol_error *otlp_shutdown(void *self, uint64_t deadline_ns)
{
	struct otlp_receiver *receiver = self;
	uint64_t last_ns = net_server_last_answer_ns(deadline_ns);

	// Both of them by the same moment: the second has ended its calls meanwhile.
	for (int i = 0; i < OTLP_PROTOCOLS; i++)
		if (receiver->fronts[i].server)
			net_server_stop(receiver->fronts[i].server);
	for (int i = 0; i < OTLP_PROTOCOLS; i++)
		if (receiver->fronts[i].server)
			net_server_shutdown(receiver->fronts[i].server, last_ns);
	return NULL;
}

const struct profcol_component profcol_receiver_otlp = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_RECEIVER,
	.stability = PROFCOL_ALPHA,
	.type = "otlp",
	.summary = "receives profiles from profilers and Collectors over OTLP, gRPC and HTTP",
	.options = otlp_options,
	.config_size = sizeof(struct otlp_config),
	.validate = otlp_validate,
	.create = otlp_create,
	.start = otlp_start,
	.shutdown = otlp_shutdown,
	.destroy = otlp_destroy,
	.diagnose = otlp_diagnose,
};

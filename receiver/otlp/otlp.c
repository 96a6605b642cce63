// SPDX-License-Identifier: Apache-2.0
/*
 * The `otlp` receiver: takes profiles from other profilers and Collectors, over OTLP gRPC. A
 * request is acknowledged once the pipelines have taken it.
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
#define VERSION_HEADER "otlp-profiles-development-version"

enum {
	/* Memory for decoding, in multiples of the largest request: twice what usual ones take. */
	DECODE_FACTOR = 16,
};

/* For each request that is being decoded. */
#define DECODE_MAX_BYTES ((size_t)1 << 30)

#define NOTICE_INTERVAL_NS UINT64_C(60000000000)
#define ANSWERING_NS       UINT64_C(200000000)

struct otlp_receiver {
	const struct profcol_host *host;  /* borrowed */
	const struct otlp_config *config; /* borrowed */
	struct net_server *server;        /* from start */
	struct otlp_decode_limits limits;
	struct profcol_metric *accepted, *refused, *refused_requests;
	_Atomic uint64_t notice_after_ns; /* CLOCK_MONOTONIC: no line about refusals before */
};

/* ---- answers ---- */

/* Takes @message, which may be NULL for want of memory. */
static void otlp_answer(struct net_answer *answer, enum net_code code, char *message)
{
	answer->code = code;
	answer->message = message;
}

/* A client that is broken will not stop: one line now and then. */
static void otlp_notice(struct otlp_receiver *receiver, struct net_call *call, const char *reason)
{
	uint64_t now = clock_monotonic_ns(), after = atomic_load(&receiver->notice_after_ns);

	profcol_metric_add(receiver->refused_requests, 1);
	if (now < after || !atomic_compare_exchange_strong(&receiver->notice_after_ns, &after,
							   now + NOTICE_INTERVAL_NS))
		return;
	profcol_log_warn(receiver->host->logger,
			 "refused a request from %s: %s; %" PRId64 " so far, others are counted",
			 net_call_peer(call), reason,
			 profcol_metric_get(receiver->refused_requests));
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
	struct otlp_receiver *receiver = context;
	const char *method = net_call_method(call);

	if (strcmp(method, EXPORT_METHOD))
		otlp_answer(answer, NET_UNIMPLEMENTED, otlp_explain_method(method));
	else if (!otlp_version_is_ours(call))
		otlp_answer(answer, NET_INVALID_ARGUMENT,
			    strdup("invalid or unsupported " VERSION_HEADER
				   ": supported version is 1"));
	else
		return true;
	otlp_notice(receiver, call, answer->message ? answer->message : "no memory");
	return false;
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
static void otlp_pass_on(struct otlp_receiver *receiver, struct profcol_batch *batch,
			 struct net_answer *answer)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	uint64_t samples = profcol_batch_events(batch);

	// Also of what is refused: the edge that refuses books it as lost there.
	receiver->host->account(receiver->host, PROFCOL_TAKEN, NULL, samples);
	error = receiver->host->consume_next(receiver->host, batch);
	profcol_metric_add(error ? receiver->refused : receiver->accepted, (int64_t)samples);
	if (error)
		otlp_refuse(error, answer);
}

static void otlp_handle(void *context, struct net_call *call, const uint8_t *bytes, size_t length,
			struct net_answer *answer)
{
	struct otlp_receiver *receiver = context;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct profcol_batch *batch;

	if (!length)
		return;
	error = otlp_decode(bytes, length, &receiver->limits, &batch);
	if (error) {
		otlp_answer(answer,
			    profcol_error_is_retryable(error) ? NET_UNAVAILABLE
							      : NET_INVALID_ARGUMENT,
			    strdup(profcol_error_message(error)));
		otlp_notice(receiver, call, profcol_error_message(error));
		return;
	}
	if (profcol_batch_count(batch, PROFCOL_SAMPLES))
		otlp_pass_on(receiver, batch, answer);
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
	const struct otlp_config *config = options;

	net_server_diagnose(&config->protocols.grpc, findings);
}

static void otlp_destroy(void *self)
{
	struct otlp_receiver *receiver = self;

	if (!receiver)
		return;
	net_server_destroy(receiver->server);
	free(receiver);
}

static size_t otlp_decode_bytes(const struct net_server_config *config)
{
	size_t request = net_server_message_bytes(config);

	return request < DECODE_MAX_BYTES / DECODE_FACTOR ? DECODE_FACTOR * request
							  : DECODE_MAX_BYTES;
}

static struct profcol_error *otlp_create(const struct profcol_host *host, const void *options,
					 void **ret)
{
	struct otlp_receiver *receiver = calloc(1, sizeof(*receiver));

	if (!receiver)
		return profcol_error_errno(ENOMEM, "create the receiver");
	receiver->host = host;
	receiver->config = options;
	receiver->limits.max_memory = otlp_decode_bytes(&receiver->config->protocols.grpc);
	receiver->accepted =
		host->metric(host, PROFCOL_COUNTER, "receiver_accepted_profile_samples",
			     "transport=grpc", "samples that the pipelines have taken");
	receiver->refused = host->metric(host, PROFCOL_COUNTER, "receiver_refused_profile_samples",
					 "transport=grpc",
					 "samples that a pipeline has refused, and the "
					 "client was told to keep or to drop");
	receiver->refused_requests =
		host->metric(host, PROFCOL_COUNTER, "receiver_refused_requests", "transport=grpc",
			     "requests refused unread: broken, or of another service or version");
	*ret = receiver;
	return NULL;
}

/* Not earlier: gRPC starts threads, and clients come at once. */
static struct profcol_error *otlp_start(void *self)
{
	struct otlp_receiver *receiver = self;
	const struct net_server_config *config = &receiver->config->protocols.grpc;
	const struct net_service service = {
		.context = receiver,
		.admit = otlp_admit,
		.handle = otlp_handle,
	};
	struct profcol_error *error =
		net_server_create(config, &service, receiver->host->logger, &receiver->server);

	if (error)
		return profcol_error_prefix(error, "protocols.grpc");
	profcol_log_info(receiver->host->logger, "receiving OTLP over gRPC at %s%s",
			 net_server_address(receiver->server),
			 !config->tls_named              ? ""
			 : config->tls.client_ca_file[0] ? ", TLS, from clients with a certificate"
							 : ", TLS");
	return NULL;
}

/*
 * Half of the time, for who comes after us in the pipelines has to send what it has got: an
 * exporter without a queue, which handles calls of ours until then (sending_stop_waiting). And a
 * little more, in which what it says in the end becomes an answer; a call that is cut off looks to
 * the client as if nobody knew what became of it.
 */
static uint64_t otlp_last_answer_ns(uint64_t now_ns, uint64_t deadline_ns)
{
	uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	uint64_t extra_ns = left_ns / 4 < ANSWERING_NS ? left_ns / 4 : ANSWERING_NS;

	return now_ns + left_ns / 2 + extra_ns;
}

static struct profcol_error *otlp_shutdown(void *self, uint64_t deadline_ns)
{
	struct otlp_receiver *receiver = self;

	if (receiver->server)
		net_server_shutdown(receiver->server,
				    otlp_last_answer_ns(clock_monotonic_ns(), deadline_ns));
	return NULL;
}

const struct profcol_component profcol_receiver_otlp = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_RECEIVER,
	.stability = PROFCOL_ALPHA,
	.type = "otlp",
	.summary = "receives profiles from profilers and Collectors over OTLP gRPC",
	.options = otlp_options,
	.config_size = sizeof(struct otlp_config),
	.validate = otlp_validate,
	.create = otlp_create,
	.start = otlp_start,
	.shutdown = otlp_shutdown,
	.destroy = otlp_destroy,
	.diagnose = otlp_diagnose,
};

// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include "library.h"
#include "message.h"
#include "status.h"

#include "base/base.h"

#include <grpc/support/time.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/utsname.h>

enum {
	RESPONSE_MAX_BYTES = 4 << 20,
	/* gRPC's timers tick in milliseconds. */
	DEADLINE_SLACK_NS = 5000000,
};

/* ---- creation ---- */

static grpc_slice header_name(const char *key)
{
	grpc_slice slice = grpc_slice_from_copied_string(key);

	// HTTP/2 knows lower case only.
	for (size_t i = 0; i < GRPC_SLICE_LENGTH(slice); i++)
		GRPC_SLICE_START_PTR(slice)[i] = (uint8_t)tolower(GRPC_SLICE_START_PTR(slice)[i]);
	return slice;
}

static void client_add_header(struct net_client *client, const char *key, const char *value)
{
	client->headers[client->header_count++] = (grpc_metadata){
		.key = header_name(key),
		.value = grpc_slice_from_copied_string(value),
	};
}

static struct profcol_error *client_set_headers(struct net_client *client,
						const struct net_client_settings *settings)
{
	const struct profcol_map *own = &client->config->headers;

	client->headers = calloc(settings->header_count + own->count + 1, sizeof(grpc_metadata));
	if (!client->headers)
		return profcol_error_errno(ENOMEM, "create the client");
	for (size_t i = 0; i < settings->header_count; i++)
		client_add_header(client, settings->headers[i].key, settings->headers[i].value);
	for (size_t i = 0; i < own->count; i++)
		client_add_header(client, own->keys[i], own->values[i]);
	if (client->gzip)
		client_add_header(client, "grpc-encoding", "gzip");
	return NULL;
}

static struct profcol_error *client_set_user_agent(struct net_client *client, const char *version)
{
	const char *given = client->config->user_agent, *architecture;
	struct utsname system;

	if (given[0]) {
		client->user_agent = strdup(given);
	} else {
		architecture = uname(&system) ? "unknown" : system.machine;
		// As Go's programs call them.
		if (!strcmp(architecture, "x86_64"))
			architecture = "amd64";
		else if (!strcmp(architecture, "aarch64"))
			architecture = "arm64";
		if (asprintf(&client->user_agent, "profcol/%s (linux/%s)", version, architecture) <
		    0)
			client->user_agent = NULL;
	}
	return client->user_agent ? NULL : profcol_error_errno(ENOMEM, "create the client");
}

static struct profcol_error *client_init(struct net_client *client,
					 const struct net_client_settings *settings)
{
	const struct net_client_config *config = client->config;
	struct profcol_error *error = endpoint_init(&client->endpoint, config->endpoint);

	if (error)
		return error;
	client->tls = tls_client_is_on(&config->tls, client->endpoint.forces_tls);
	client->gzip = config->compression != NET_UNCOMPRESSED;
	client->cancelled_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (client->cancelled_fd < 0)
		return profcol_error_errno(errno, "create an eventfd");
	if (config->compression == NET_SNAPPY || config->compression == NET_ZSTD)
		profcol_log_warn(client->logger,
				 "gRPC has no compression '%s', requests are sent with gzip",
				 net_compression_names[config->compression]);
	error = client_set_user_agent(client, settings->version);
	if (!error)
		error = client_set_headers(client, settings);
	return error ? error : channel_open(client);
}

struct profcol_error *net_client_create(const struct net_client_config *config,
					const struct net_client_settings *settings,
					struct net_client **ret)
{
	struct net_client *client = calloc(1, sizeof(*client));
	struct profcol_error *error;

	if (!client)
		return profcol_error_errno(ENOMEM, "create the client");
	library_ref();
	client->config = config;
	client->logger = settings->logger;
	client->cancelled_fd = -1;
	pthread_mutex_init(&client->lock, NULL);
	pthread_mutex_init(&client->diagnosis_lock, NULL);
	error = client_init(client, settings);
	if (error) {
		net_client_destroy(client);
		return error;
	}
	*ret = client;
	return NULL;
}

void net_client_destroy(struct net_client *client)
{
	if (!client)
		return;
	channel_drop(client, client->channel);
	for (size_t i = 0; i < client->header_count; i++) {
		grpc_slice_unref(client->headers[i].key);
		grpc_slice_unref(client->headers[i].value);
	}
	free(client->headers);
	library_unref();
	endpoint_deinit(&client->endpoint);
	cleanup_fd(&client->cancelled_fd);
	free(client->user_agent);
	free(client->diagnosis);
	pthread_mutex_destroy(&client->diagnosis_lock);
	pthread_mutex_destroy(&client->lock);
	free(client);
}

void net_client_cancel(struct net_client *client)
{
	uint64_t one = 1;

	pthread_mutex_lock(&client->lock);
	client->cancelled = true;
	for (struct client_call *call = client->calls; call; call = call->next)
		grpc_call_cancel(call->call, NULL);
	pthread_mutex_unlock(&client->lock);
	// Full or not, it is readable.
	(void)!write(client->cancelled_fd, &one, sizeof(one));
}

/* ---- a call ---- */

/* What gRPC fills in. */
struct outcome {
	grpc_metadata_array initial, trailing;
	grpc_byte_buffer *message;
	grpc_status_code code;
	grpc_slice details;
};

static void outcome_init(struct outcome *outcome)
{
	*outcome = (struct outcome){ .details = grpc_empty_slice() };
	grpc_metadata_array_init(&outcome->initial);
	grpc_metadata_array_init(&outcome->trailing);
}

static void outcome_deinit(struct outcome *outcome)
{
	grpc_metadata_array_destroy(&outcome->initial);
	grpc_metadata_array_destroy(&outcome->trailing);
	if (outcome->message)
		grpc_byte_buffer_destroy(outcome->message);
	grpc_slice_unref(outcome->details);
}

static gpr_timespec call_deadline(uint64_t deadline_ns)
{
	uint64_t now = clock_monotonic_ns(), left = deadline_ns > now ? deadline_ns - now : 0;

	// Past what the type can hold it is for ever anyway.
	if (left > INT64_MAX / 2)
		return gpr_inf_future(GPR_CLOCK_MONOTONIC);
	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			    gpr_time_from_nanos((int64_t)left, GPR_TIMESPAN));
}

/* False when all calls have been cancelled already. */
static bool client_enlist(struct net_client *client, struct client_call *call)
{
	bool cancelled;

	pthread_mutex_lock(&client->lock);
	cancelled = client->cancelled;
	call->next = client->calls;
	call->link = &client->calls;
	if (call->next)
		call->next->link = &call->next;
	client->calls = call;
	pthread_mutex_unlock(&client->lock);
	return !cancelled;
}

static void client_delist(struct net_client *client, struct client_call *call)
{
	pthread_mutex_lock(&client->lock);
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	pthread_mutex_unlock(&client->lock);
}

/* Start the whole unary call and wait for its end. */
static void call_run(struct net_client *client, grpc_call *call, grpc_completion_queue *queue,
		     grpc_byte_buffer *request, struct outcome *outcome)
{
	grpc_op operations[] = {
		{ .op = GRPC_OP_SEND_INITIAL_METADATA,
		  .flags = client->config->wait_for_ready
				   ? GRPC_INITIAL_METADATA_WAIT_FOR_READY |
					     GRPC_INITIAL_METADATA_WAIT_FOR_READY_EXPLICITLY_SET
				   : 0,
		  .data.send_initial_metadata = { .count = client->header_count,
						  .metadata = client->headers } },
		{ .op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = request },
		{ .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT },
		{ .op = GRPC_OP_RECV_INITIAL_METADATA,
		  .data.recv_initial_metadata.recv_initial_metadata = &outcome->initial },
		{ .op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &outcome->message },
		{ .op = GRPC_OP_RECV_STATUS_ON_CLIENT,
		  .data.recv_status_on_client = { .trailing_metadata = &outcome->trailing,
						  .status = &outcome->code,
						  .status_details = &outcome->details } },
	};
	grpc_call_error error = grpc_call_start_batch(
		call, operations, sizeof(operations) / sizeof(operations[0]), call, NULL);

	if (error != GRPC_CALL_OK) {
		outcome->code = GRPC_STATUS_INTERNAL;
		outcome->details = grpc_slice_from_static_string(grpc_call_error_to_string(error));
		return;
	}
	grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
}

static void queue_destroy(grpc_completion_queue *queue)
{
	grpc_completion_queue_shutdown(queue);
	while (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
	       GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(queue);
}

/* The transport's words for a connection that ended under a call. */
static bool outcome_is_breakage(const struct outcome *outcome)
{
	static const char *const words[] = { "recvmsg:", "sendmsg:", "Socket closed",
					     "Endpoint read failed", "Broken pipe" };
	const char *text = (const char *)GRPC_SLICE_START_PTR(outcome->details);
	size_t length = GRPC_SLICE_LENGTH(outcome->details);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (length >= strlen(words[i]) && !memcmp(text, words[i], strlen(words[i])))
			return true;
	return false;
}

/*
 * Is the status the peer's own? gRPC makes some up itself, and marks them in no way that can be
 * relied on.
 */
static bool outcome_is_from_peer(const struct outcome *outcome, grpc_connectivity_state state,
				 uint64_t deadline_ns, bool cancelled)
{
	switch (outcome->code) {
	case GRPC_STATUS_CANCELLED:
		return !cancelled;
	case GRPC_STATUS_DEADLINE_EXCEEDED:
		return clock_monotonic_ns() + DEADLINE_SLACK_NS < deadline_ns;
	case GRPC_STATUS_UNAVAILABLE:
		return state == GRPC_CHANNEL_READY && !outcome_is_breakage(outcome);
	default:
		return true;
	}
}

static void outcome_find_retry(const struct outcome *outcome, struct net_answer *answer)
{
	static const char key[] = "grpc-status-details-bin";

	for (size_t i = 0; i < outcome->trailing.count && !answer->has_retry; i++) {
		const grpc_metadata *entry = &outcome->trailing.metadata[i];

		if (!grpc_slice_str_cmp(entry->key, key))
			answer->has_retry = net_status_find_retry(
				GRPC_SLICE_START_PTR(entry->value), GRPC_SLICE_LENGTH(entry->value),
				&answer->retry_delay_ns);
	}
}

static void outcome_read(const struct outcome *outcome, struct net_answer *answer)
{
	enum message_fault fault = MESSAGE_SOUND;

	answer->code = (unsigned int)outcome->code < NET_CODES ? (enum net_code)outcome->code
							       : NET_UNKNOWN;
	if (answer->code == NET_OK) {
		if (outcome->message)
			fault = message_unpack(outcome->message, RESPONSE_MAX_BYTES, &answer->bytes,
					       &answer->length);
		if (fault != MESSAGE_SOUND) {
			answer->code = NET_INTERNAL;
			answer->message = strdup(message_fault_text(fault));
		}
	} else {
		answer->message =
			status_copy_text((const char *)GRPC_SLICE_START_PTR(outcome->details),
					 GRPC_SLICE_LENGTH(outcome->details));
		outcome_find_retry(outcome, answer);
	}
}

/* The peer was not reached, or has not answered: a reason that helps, owned. */
static char *client_explain(struct net_client *client, grpc_connectivity_state state,
			    const struct net_answer *answer)
{
	const char *said = answer->message ? answer->message : "";
	char *text;

	if (answer->code == NET_DEADLINE_EXCEEDED && state == GRPC_CHANNEL_READY)
		return strdup("the peer took the connection, but did not answer in time");
	text = diagnosis_find(client, said);
	if (!text && asprintf(&text, "the connection broke, or was not made in time%s%s%s",
			      said[0] ? " (" : "", said, said[0] ? ")" : "") < 0)
		text = NULL;
	return text;
}

/* Under way no more: what has come of it? */
static void client_conclude(struct net_client *client, grpc_channel *channel,
			    const struct outcome *outcome, uint64_t deadline_ns,
			    struct net_answer *answer)
{
	grpc_connectivity_state state = grpc_channel_check_connectivity_state(channel, 0);
	bool cancelled;
	char *text;

	pthread_mutex_lock(&client->lock);
	cancelled = client->cancelled;
	pthread_mutex_unlock(&client->lock);
	outcome_read(outcome, answer);
	answer->from_peer = outcome_is_from_peer(outcome, state, deadline_ns, cancelled);
	if (answer->from_peer)
		diagnosis_forget(client);
	if (answer->from_peer || cancelled)
		return;
	text = client_explain(client, state, answer);
	free(answer->message);
	answer->message = text;
}

static void client_call_on(struct net_client *client, struct client_channel *channel,
			   const char *method, grpc_byte_buffer *request, uint64_t deadline_ns,
			   struct net_answer *answer)
{
	grpc_completion_queue *queue = grpc_completion_queue_create_for_next(NULL);
	grpc_slice path = grpc_slice_from_copied_string(method);
	struct client_call entry = { 0 };
	struct outcome outcome;

	outcome_init(&outcome);
	entry.call = grpc_channel_create_call(channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
					      queue, path, NULL, call_deadline(deadline_ns), NULL);
	grpc_slice_unref(path);
	if (!client_enlist(client, &entry))
		grpc_call_cancel(entry.call, NULL);
	call_run(client, entry.call, queue, request, &outcome);
	client_delist(client, &entry);
	client_conclude(client, channel->channel, &outcome, deadline_ns, answer);
	outcome_deinit(&outcome);
	grpc_call_unref(entry.call);
	queue_destroy(queue);
}

void net_client_call(struct net_client *client, const char *method, const uint8_t *bytes,
		     size_t length, uint64_t deadline_ns, struct net_answer *answer)
{
	grpc_byte_buffer *request = message_pack(bytes, length, client->gzip);
	struct client_channel *channel;

	*answer = (struct net_answer){ 0 };
	if (!request) {
		answer->code = NET_RESOURCE_EXHAUSTED;
		answer->has_retry = true;
		answer->message = strdup("no memory to compress a request");
		return;
	}
	channel = channel_take(client);
	client_call_on(client, channel, method, request, deadline_ns, answer);
	grpc_byte_buffer_destroy(request);
	channel_drop(client, channel);
}

void net_answer_deinit(struct net_answer *answer)
{
	free(answer->message);
	free(answer->bytes);
	*answer = (struct net_answer){ 0 };
}

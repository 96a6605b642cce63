// SPDX-License-Identifier: Apache-2.0
#include "client.h"

#include "connect_fault.h"
#include "message.h"
#include "status.h"

#include "base/base.h"

#include <grpc/support/time.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* gRPC's timers tick in milliseconds. */
	DEADLINE_SLACK_NS = 5000000,
	/* Before a name is looked up again that has no address. */
	SEARCH_PAUSE_NS = 500000000,
	/* What waits for its connection does not fail for it, so one would do. */
	REPEATS_MOST = 3,
};

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

/* One call under way: three batches of operations, known by the address of their member. */
struct attempt {
	struct net_client *client;
	grpc_call *call;
	const uint8_t *bytes; /* of the request */
	size_t length;
	bool waits;                /* for a connection, until its deadline */
	bool is_last;              /* it is not to be made again, whatever comes of it */
	bool is_in_vain;           /* it failed for nothing: make it again */
	grpc_byte_buffer *request; /* from when the peer listens until it is sent */
	bool has_begun;            /* to send its body */
	bool no_memory;
	struct outcome *outcome;
	unsigned int head, body, end; /* batches of each kind that have not ended: 0 or 1 */
};

static void attempt_start(struct attempt *attempt, const grpc_op *operations, size_t count,
			  unsigned int *batch)
{
	grpc_call_error error =
		grpc_call_start_batch(attempt->call, operations, count, batch, NULL);

	if (error == GRPC_CALL_OK) {
		*batch = 1;
		return;
	}
	attempt->outcome->code = GRPC_STATUS_INTERNAL;
	attempt->outcome->details = grpc_slice_from_static_string(grpc_call_error_to_string(error));
	grpc_call_cancel(attempt->call, NULL);
}

static void attempt_send_head(struct attempt *attempt)
{
	struct net_client *client = attempt->client;
	const grpc_op operation = {
		.op = GRPC_OP_SEND_INITIAL_METADATA,
		.flags = attempt->waits
				 ? GRPC_INITIAL_METADATA_WAIT_FOR_READY |
					   GRPC_INITIAL_METADATA_WAIT_FOR_READY_EXPLICITLY_SET
				 : 0,
		.data.send_initial_metadata = { .count = client->header_count,
						.metadata = client->headers },
	};

	attempt_start(attempt, &operation, 1, &attempt->head);
}

static void attempt_await_end(struct attempt *attempt)
{
	struct outcome *outcome = attempt->outcome;
	const grpc_op operations[] = {
		{ .op = GRPC_OP_RECV_INITIAL_METADATA,
		  .data.recv_initial_metadata.recv_initial_metadata = &outcome->initial },
		{ .op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &outcome->message },
		{ .op = GRPC_OP_RECV_STATUS_ON_CLIENT,
		  .data.recv_status_on_client = { .trailing_metadata = &outcome->trailing,
						  .status = &outcome->code,
						  .status_details = &outcome->details } },
	};

	attempt_start(attempt, operations, sizeof(operations) / sizeof(operations[0]),
		      &attempt->end);
}

static void attempt_send_body(struct attempt *attempt)
{
	grpc_op operations[] = {
		{ .op = GRPC_OP_SEND_MESSAGE },
		{ .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT },
	};

	attempt->has_begun = true;
	attempt->request = message_pack(attempt->bytes, attempt->length, attempt->client->gzip);
	if (!attempt->request) {
		attempt->no_memory = true;
		grpc_call_cancel(attempt->call, NULL);
		return;
	}
	operations[0].data.send_message.send_message = attempt->request;
	attempt_start(attempt, operations, sizeof(operations) / sizeof(operations[0]),
		      &attempt->body);
}

static void attempt_drop_request(struct attempt *attempt)
{
	if (attempt->request)
		grpc_byte_buffer_destroy(attempt->request);
	attempt->request = NULL;
}

/*
 * The whole unary call, until its end. The request is packed only when there is a connection to
 * send it over, and let go when it is sent: while the peer is away, or takes its time to answer,
 * it is in memory once, with the caller.
 */
static void attempt_run(struct attempt *attempt, grpc_completion_queue *queue)
{
	attempt_await_end(attempt);
	if (attempt->end)
		attempt_send_head(attempt);
	while (attempt->head || attempt->body || attempt->end) {
		grpc_event event = grpc_completion_queue_next(
			queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
		unsigned int *batch = event.tag;

		*batch = 0;
		if (batch == &attempt->head && event.success && attempt->end)
			attempt_send_body(attempt);
		else if (batch == &attempt->body)
			attempt_drop_request(attempt);
	}
	attempt_drop_request(attempt);
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
	static const char *const words[] = {
		"recvmsg:",           "sendmsg:",
		"Socket closed",      "Endpoint read failed",
		"Secure read failed", "Broken pipe",
		"Connection reset",   "GOAWAY received",
		"Last stream closed", "Subchannel disconnected",
		"Transport closed",   "Transport destroyed",
		"keepalive watchdog",
	};
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
static bool attempt_is_answered(const struct attempt *attempt, grpc_connectivity_state state,
				uint64_t deadline_ns, bool cancelled)
{
	const struct outcome *outcome = attempt->outcome;

	switch (outcome->code) {
	case GRPC_STATUS_CANCELLED:
		return !cancelled;
	case GRPC_STATUS_DEADLINE_EXCEEDED:
		return clock_monotonic_ns() + DEADLINE_SLACK_NS < deadline_ns;
	case GRPC_STATUS_UNAVAILABLE:
		// A peer that shuts down ends the connection right after its last answers.
		return (attempt->has_begun || state == GRPC_CHANNEL_READY) &&
		       !outcome_is_breakage(outcome);
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

/* gRPC itself has refused the peer's answer, for its size. */
static bool outcome_is_large_answer(const struct outcome *outcome)
{
	const char *text = (const char *)GRPC_SLICE_START_PTR(outcome->details);
	size_t length = GRPC_SLICE_LENGTH(outcome->details);
	char limit[32];

	if (outcome->code != GRPC_STATUS_RESOURCE_EXHAUSTED)
		return false;
	snprintf(limit, sizeof(limit), " vs. %d)", ANSWER_MAX_BYTES);
	return memmem(text, length, limit, strlen(limit));
}

static void outcome_read(struct outcome *outcome, struct net_answer *answer)
{
	enum message_fault fault = MESSAGE_SOUND;

	answer->code = (unsigned int)outcome->code < NET_CODES ? (enum net_code)outcome->code
							       : NET_UNKNOWN;
	if (outcome_is_large_answer(outcome)) {
		answer->code = NET_OK;
		fault = MESSAGE_TOO_LARGE;
	} else if (answer->code == NET_OK && outcome->message) {
		fault = message_unpack(TAKE(outcome->message), ANSWER_MAX_BYTES, &answer->bytes,
				       &answer->length);
	}
	if (answer->code == NET_OK) {
		// The peer has taken the request, whatever is wrong with what it says.
		if (fault != MESSAGE_SOUND &&
		    asprintf(&answer->message, "the answer cannot be read: %s",
			     message_fault_text(fault)) < 0)
			answer->message = NULL;
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

/* Was the connection taken for one that has failed, while it was being made? */
static bool attempt_has_failed_falsely(const struct attempt *attempt,
				       const struct net_answer *answer)
{
	return answer->code == NET_UNAVAILABLE && attempt->client->endpoint.host &&
	       !attempt->has_begun && answer->message && connect_fault_is_false(answer->message);
}

/* Under way no more: what has come of it? */
static void client_conclude(struct net_client *client, grpc_channel *channel,
			    struct attempt *attempt, uint64_t deadline_ns,
			    struct net_answer *answer)
{
	struct outcome *outcome = attempt->outcome;
	grpc_connectivity_state state = grpc_channel_check_connectivity_state(channel, 0);
	bool cancelled;
	char *text;

	pthread_mutex_lock(&client->lock);
	cancelled = client->cancelled;
	pthread_mutex_unlock(&client->lock);
	outcome_read(outcome, answer);
	attempt->is_in_vain =
		!cancelled && !attempt->is_last && attempt_has_failed_falsely(attempt, answer);
	if (attempt->is_in_vain)
		return;
	answer->from_peer = attempt_is_answered(attempt, state, deadline_ns, cancelled);
	if (answer->from_peer)
		diagnosis_forget(client);
	if (answer->from_peer || cancelled)
		return;
	text = client_explain(client, state, answer);
	free(answer->message);
	answer->message = text;
	// Whether gRPC or the deadline gives up first is chance: who reads the log need not care.
	if (answer->code == NET_DEADLINE_EXCEEDED && state != GRPC_CHANNEL_READY)
		answer->code = NET_UNAVAILABLE;
}

/* Try later: nothing has been sent. */
static void answer_no_memory(struct net_answer *answer)
{
	answer->code = NET_RESOURCE_EXHAUSTED;
	answer->has_retry = true;
	answer->message = strdup("no memory to compress a request");
}

static void client_call_on(struct net_client *client, grpc_channel *channel, const char *method,
			   struct attempt *attempt, uint64_t deadline_ns, struct net_answer *answer)
{
	grpc_completion_queue *queue = grpc_completion_queue_create_for_next(NULL);
	grpc_slice path = grpc_slice_from_copied_string(method);
	struct client_call entry = { 0 };
	struct outcome outcome;

	outcome_init(&outcome);
	entry.call = grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, queue, path,
					      NULL, call_deadline(deadline_ns), NULL);
	grpc_slice_unref(path);
	attempt->call = entry.call;
	attempt->outcome = &outcome;
	if (!client_enlist(client, &entry))
		grpc_call_cancel(entry.call, NULL);
	attempt_run(attempt, queue);
	client_delist(client, &entry);
	if (attempt->no_memory)
		answer_no_memory(answer);
	else
		client_conclude(client, channel, attempt, deadline_ns, answer);
	outcome_deinit(&outcome);
	grpc_call_unref(entry.call);
	queue_destroy(queue);
}

/* Are all calls cancelled now, or within @ns? */
static bool client_is_cancelled_within(const struct net_client *client, uint64_t ns)
{
	struct pollfd cancelled = { .fd = client->cancelled_fd, .events = POLLIN };
	struct timespec left = clock_timespec(ns);

	return ppoll(&cancelled, 1, &left, NULL) > 0;
}

/* One call over @channel, made again where it failed for nothing. Has any of it been sent? */
static bool client_call_over(struct net_client *client, grpc_channel *channel, bool waits,
			     const char *method, const uint8_t *bytes, size_t length,
			     uint64_t deadline_ns, struct net_answer *answer)
{
	struct attempt attempt = { .client = client, .bytes = bytes, .length = length };

	for (unsigned int repeats = 0;; repeats++) {
		attempt.waits = repeats || waits;
		attempt.is_last = repeats == REPEATS_MOST;
		client_call_on(client, channel, method, &attempt, deadline_ns, answer);
		if (!attempt.is_in_vain)
			return attempt.has_begun;
		net_answer_deinit(answer);
		// Nothing is known against the peer: no reason to wait before the next connection.
		grpc_channel_reset_connect_backoff(channel);
	}
}

/* Is the call, which has come to @answer, to be made again when there may be another address? */
static bool client_searches_on(const struct net_client *client, const struct net_answer *answer,
			       bool is_sent, uint64_t deadline_ns)
{
	return client->name && client->config->wait_for_ready && !is_sent && !answer->from_peer &&
	       answer->code == NET_UNAVAILABLE &&
	       clock_monotonic_ns() + SEARCH_PAUSE_NS < deadline_ns &&
	       !client_is_cancelled_within(client, SEARCH_PAUSE_NS);
}

void net_client_call(struct net_client *client, const char *method, const uint8_t *bytes,
		     size_t length, uint64_t deadline_ns, struct net_answer *answer)
{
	// A channel to addresses of ours waits for these, whatever becomes of the name.
	bool waits = client->config->wait_for_ready && !client->name, is_sent;

	*answer = (struct net_answer){ 0 };
	do {
		struct client_channel *channel;

		net_answer_deinit(answer);
		is_sent = false;
		channel = channel_take(client, deadline_ns, &answer->message);
		if (channel)
			is_sent = client_call_over(client, channel->channel, waits, method, bytes,
						   length, deadline_ns, answer);
		else
			answer->code = client_is_cancelled_within(client, 0) ? NET_CANCELED
									     : NET_UNAVAILABLE;
		channel_drop(client, channel);
	} while (client_searches_on(client, answer, is_sent, deadline_ns));
}

void net_answer_deinit(struct net_answer *answer)
{
	free(answer->message);
	free(answer->bytes);
	*answer = (struct net_answer){ 0 };
}

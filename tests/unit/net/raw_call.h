/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that our own client would not make. Any thread. */
#pragma once

#include <grpc/grpc.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct raw_header {
	const char *key, *value; /* NULL key = none */
};

/*
 * Call @method at @target, in plain text, with @length bytes at @bytes; @is_gzip says that they
 * are compressed already. *@message_ret (free()) is the status message. Waits 20 seconds at most.
 */
grpc_status_code raw_call(const char *target, const char *method, const void *bytes, size_t length,
			  bool is_gzip, const struct raw_header headers[static 2],
			  char **message_ret);

/* A call whose message never comes. */
struct raw_stalled {
	grpc_channel *channel;
	grpc_completion_queue *queue;
	grpc_call *call;
	grpc_status_code code;
	grpc_slice details;
	grpc_metadata_array initial, trailing;
};

void raw_stalled_begin(struct raw_stalled *stalled, const char *target, const char *method);
/* Let gRPC work for the call, which goes on, for ten milliseconds: it does so only when it is
 * asked. */
void raw_stalled_work(struct raw_stalled *stalled);
/* Waits for the server to end it. */
grpc_status_code raw_stalled_end(struct raw_stalled *stalled);

/*
 * What a server at port @port of 127.0.0.1 says to one request with a message that is
 * compressed as @encoding says, which may be anything: as raw_read_status(). Method "/a.B/C".
 */
char *raw_encoded_call(int port, const char *encoding, const void *bytes, size_t length);

/* The heads and trailers that come on @fd up to a grpc-status, "NAME: VALUE" in lines; free(). */
char *raw_read_status(int fd);

/*
 * A call of "/a.B/C" that announces a message of @announced bytes and sends none of it. The file
 * descriptor of its connection, to be closed.
 */
int raw_slow_call(int port, uint32_t announced);

/*
 * A call of "/a.B/C" with the message "ping" to port @port of 127.0.0.1, whose answer is never let
 * through. The file descriptor of its connection, to be closed.
 */
int raw_unread_call(int port);

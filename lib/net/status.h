/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a failure, as bytes and as text. Private to lib/net. */
#pragma once

#include "net.h"

#include <stddef.h>

/*
 * A copy of a peer's words that may go into a log line: valid UTF-8 without control characters,
 * cut after 1 KiB. NULL without memory.
 */
char *status_copy_text(const char *text, size_t length);

/*
 * The google.rpc.Status that @answer stands for, with a RetryInfo if it has a delay: for
 * grpc-status-details-bin, and as the body of an HTTP answer; free(). NULL without memory.
 */
uint8_t *status_encode(const struct net_answer *answer, size_t *length_ret);

/* The message of a google.rpc.Status, as status_copy_text(). NULL when it is none, or empty. */
char *status_find_message(const uint8_t *bytes, size_t length);

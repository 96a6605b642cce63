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
 * The google.rpc.Status with a RetryInfo that @answer stands for, for grpc-status-details-bin;
 * free(). NULL without memory.
 */
uint8_t *status_encode_retry(const struct net_answer *answer, size_t *length_ret);

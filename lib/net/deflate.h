/* SPDX-License-Identifier: Apache-2.0 */
/* Messages are made smaller. Private to lib/net; any thread. */
#pragma once

#include "net.h"

/* What HTTP calls @compression; NULL when there is nothing to say. */
const char *deflate_name(enum net_post_compression compression);

/* @length bytes at @bytes, smaller; free(). NULL without memory. Level 0 is the usual one. */
uint8_t *deflate_message(enum net_post_compression compression, int level, const uint8_t *bytes,
			 size_t length, size_t *length_ret);

/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 as it comes out of a socket, without understanding it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum frame_type { FRAME_SETTINGS = 4, FRAME_PING = 6, FRAME_GOAWAY = 7, FRAME_TYPES = 16 };

/* How many frames of each type there were. */
struct frames {
	unsigned int of_type[FRAME_TYPES];
};

/*
 * Count the frames on @fd behind its first @skip bytes, until the other side closes. False when
 * that takes longer than @timeout_ms without anything to read.
 */
bool frames_read_to_end(int fd, size_t skip, int timeout_ms, struct frames *frames);

/* Read until a frame of @type has come; false when @fd ends before, or is silent for so long. */
bool frames_await(int fd, enum frame_type type, int timeout_ms);

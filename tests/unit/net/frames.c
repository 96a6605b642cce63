// SPDX-License-Identifier: Apache-2.0
#include "frames.h"

#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_BYTES = 9 };

/* The head of a frame, as far as it has come, and what is to be skipped before the next one. */
struct reading {
	uint8_t head[HEAD_BYTES];
	size_t count, skip;
};

static void reading_feed(struct reading *reading, const uint8_t *bytes, size_t length,
			 struct frames *frames)
{
	for (size_t i = 0; i < length; i++) {
		const uint8_t *head = reading->head;

		if (reading->skip) {
			reading->skip--;
			continue;
		}
		reading->head[reading->count++] = bytes[i];
		if (reading->count < HEAD_BYTES)
			continue;
		reading->count = 0;
		reading->skip = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
		if (head[3] < FRAME_TYPES)
			frames->of_type[head[3]]++;
	}
}

/* Count into @frames up to the end, or until @enough (may be NULL), one of the counts, is not 0. */
static bool frames_read(int fd, size_t skip, int timeout_ms, struct frames *frames,
			const unsigned int *enough)
{
	struct reading reading = { .skip = skip };
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	while (poll(&ready, 1, timeout_ms) > 0) {
		uint8_t bytes[4096];
		ssize_t length = read(fd, bytes, sizeof(bytes));

		// A connection that is reset has ended as well.
		if (length <= 0)
			return true;
		reading_feed(&reading, bytes, (size_t)length, frames);
		if (enough && *enough)
			return true;
	}
	return false;
}

bool frames_read_to_end(int fd, size_t skip, int timeout_ms, struct frames *frames)
{
	*frames = (struct frames){ 0 };
	return frames_read(fd, skip, timeout_ms, frames, NULL);
}

bool frames_await(int fd, enum frame_type type, int timeout_ms)
{
	struct frames frames = { 0 };
	const unsigned int *count = &frames.of_type[type];

	return frames_read(fd, 0, timeout_ms, &frames, count) && *count;
}

// SPDX-License-Identifier: Apache-2.0
// otlp_codec [--seconds S] FILE...: how long profcol takes to decode and to encode the requests
// of each file, raw or each behind its length in 4 bytes, big-endian. Prints a JSON array; the
// times are nanoseconds for all requests of the file, the least of many rounds.
#include "base/base.h"
#include "profile/profile.h"

#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 30, LENGTH_BYTES = 4 };

struct request {
	const uint8_t *bytes;
	size_t length;
	struct profcol_batch *batch; /* owned */
};

struct input {
	const char *path;
	char *file; /* owned */
	size_t length;
	VECTOR(struct request) requests;
};

struct figures {
	uint64_t decode_ns, encode_ns, encode_references_ns;
	size_t bytes_written, bytes_written_references;
};

static void fail(const char *path, const char *text)
{
	fprintf(stderr, "otlp_codec: %s: %s\n", path, text);
	exit(1);
}

static void must(const char *path, struct profcol_error *error)
{
	if (error)
		fail(path, profcol_error_message(error));
}

/* ---- reading ---- */

static size_t frame_length(const uint8_t *bytes)
{
	return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

static void add_request(struct input *input, const uint8_t *bytes, size_t length)
{
	if (!VECTOR_PUSH(&input->requests, ((struct request){ .bytes = bytes, .length = length })))
		fail(input->path, "no memory");
}

/* Frames, if they fill the file to its last byte; else it is one request. */
static void find_requests(struct input *input)
{
	const uint8_t *bytes = (const uint8_t *)input->file;
	size_t at = 0;

	while (input->length - at >= LENGTH_BYTES) {
		size_t length = frame_length(bytes + at);

		at += LENGTH_BYTES;
		if (length > input->length - at)
			break;
		add_request(input, bytes + at, length);
		at += length;
	}
	if (at == input->length && at)
		return;
	input->requests.count = 0;
	add_request(input, bytes, input->length);
}

/* ---- measuring ---- */

static uint64_t decode_all(struct input *input)
{
	const struct otlp_decode_limits limits = { .max_memory = SIZE_MAX };
	uint64_t begin = clock_monotonic_ns(), end;

	for (size_t i = 0; i < input->requests.count; i++) {
		struct request *request = &input->requests.items[i];

		profcol_batch_unref(request->batch);
		request->batch = NULL;
		must(input->path,
		     otlp_decode(request->bytes, request->length, &limits, &request->batch));
	}
	end = clock_monotonic_ns();
	return end - begin;
}

static uint64_t encode_all(const struct input *input, const struct otlp_encode_options *options,
			   size_t *bytes_ret)
{
	uint64_t begin = clock_monotonic_ns(), end;

	*bytes_ret = 0;
	for (size_t i = 0; i < input->requests.count; i++) {
		CLEANUP_FREE uint8_t *bytes = NULL;
		size_t length;

		must(input->path,
		     otlp_encode(input->requests.items[i].batch, options, &bytes, &length));
		*bytes_ret += length;
	}
	end = clock_monotonic_ns();
	return end - begin;
}

static void keep_least(uint64_t *least, uint64_t ns)
{
	if (!*least || ns < *least)
		*least = ns;
}

static struct figures measure(struct input *input, double seconds)
{
	static const struct otlp_encode_options references = { .attribute_references = true };
	uint64_t end = clock_monotonic_ns() + (uint64_t)(seconds * 1e9);
	struct figures figures = { 0 };

	do {
		keep_least(&figures.decode_ns, decode_all(input));
		keep_least(&figures.encode_ns, encode_all(input, NULL, &figures.bytes_written));
		keep_least(&figures.encode_references_ns,
			   encode_all(input, &references, &figures.bytes_written_references));
	} while (clock_monotonic_ns() < end);
	return figures;
}

static void print(const struct input *input, const struct figures *figures)
{
	uint64_t samples = 0, observations = 0, bytes = 0;

	for (size_t i = 0; i < input->requests.count; i++) {
		const struct profcol_batch *batch = input->requests.items[i].batch;
		uint32_t rows = profcol_batch_count(batch, PROFCOL_SAMPLES);

		for (uint32_t row = 0; row < rows; row++) {
			struct profcol_sample sample = profcol_batch_sample(batch, row);

			observations += sample.timestamp_count ? sample.timestamp_count : 1;
		}
		samples += rows;
		bytes += input->requests.items[i].length;
	}
	printf("{\"codec\": \"profcol\", \"file\": \"%s\", \"requests\": %zu, \"samples\": %" PRIu64
	       ", \"observations\": %" PRIu64 ", \"bytes_read\": %" PRIu64
	       ", \"bytes_written\": %zu, \"bytes_written_references\": %zu, "
	       "\"decode_ns\": %" PRIu64 ", \"encode_ns\": %" PRIu64
	       ", \"encode_references_ns\": %" PRIu64 "}",
	       input->path, input->requests.count, samples, observations, bytes,
	       figures->bytes_written, figures->bytes_written_references, figures->decode_ns,
	       figures->encode_ns, figures->encode_references_ns);
}

static void run_file(const char *path, double seconds)
{
	struct input input = { .path = path };
	struct figures figures;

	if (file_read(AT_FDCWD, path, MAX_FILE_BYTES, &input.file, &input.length) < 0)
		fail(path, "cannot be read");
	find_requests(&input);
	figures = measure(&input, seconds);
	print(&input, &figures);
	for (size_t i = 0; i < input.requests.count; i++)
		profcol_batch_unref(input.requests.items[i].batch);
	VECTOR_DEINIT(&input.requests);
	free(input.file);
}

int main(int argc, char **argv)
{
	double seconds = 2;
	int i = 1;

	if (argc > 2 && !strcmp(argv[1], "--seconds")) {
		seconds = strtod(argv[2], NULL);
		i = 3;
	}
	if (i >= argc) {
		fprintf(stderr, "usage: otlp_codec [--seconds S] FILE...\n");
		return 2;
	}
	// Memory of earlier rounds stays at hand, as Go's does: it is the codec that is measured.
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	printf("[");
	for (int first = i; i < argc; i++) {
		fputs(i > first ? ",\n " : "", stdout);
		run_file(argv[i], seconds);
	}
	printf("]\n");
	return 0;
}

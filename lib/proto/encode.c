// SPDX-License-Identifier: Apache-2.0
#include "proto.h"

#include "base/base.h"

struct profcol_error *proto_encode(struct proto_writer *writer, struct proto_sizes *sizes,
				   proto_put_function put, void *context, const char *what,
				   const char *remedy, uint8_t **bytes_ret, size_t *length_ret)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;

	*writer = proto_writer_measuring(sizes);
	put(context);
	length = proto_writer_length(writer);
	if (length > PROTO_MAX_BYTES)
		return profcol_error_create(PROFCOL_REJECTED,
					    "batch takes %zu bytes in %s, more than the %d that a "
					    "message may have; %s",
					    length, what, PROTO_MAX_BYTES, remedy);
	bytes = malloc(length + 1);
	if (writer->failed || !bytes)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to encode %s", what);
	*writer = proto_writer_writing(sizes, bytes, length);
	put(context);
	if (!proto_writer_is_complete(writer, length))
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "batch changed while it was encoded as %s", what);
	*bytes_ret = TAKE(bytes);
	*length_ret = length;
	return NULL;
}

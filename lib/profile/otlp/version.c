// SPDX-License-Identifier: Apache-2.0
#include "version.h"

#include "proto/proto.h"

static enum version judge_sample(struct reader sample)
{
	struct proto_field field;

	while (proto_next(&sample, &field))
		if (field.wire == PROTO_BYTES && (field.number == 3 || field.number == 4))
			return field.number == 3 ? VERSION_OLD : VERSION_NEW;
	return VERSION_UNCERTAIN;
}

/*
 * By the samples below a message: request, ResourceProfiles, ScopeProfiles and Profile are
 * @levels 4 to 1. A request begins with its ResourceProfiles in field 1; the other three have
 * what matters here in field 2.
 */
static enum version judge(struct reader message, unsigned int levels)
{
	uint32_t number = levels == 4 ? 1 : 2;
	enum version version = VERSION_UNCERTAIN;
	struct proto_field field;

	if (!levels)
		return judge_sample(message);
	while (version == VERSION_UNCERTAIN && proto_next(&message, &field))
		if (field.number == number && field.wire == PROTO_BYTES)
			version = judge(field.bytes, levels - 1);
	return version;
}

enum version version_judge(struct reader request)
{
	return judge(request, 4);
}

struct profcol_error *version_error(void)
{
	return profcol_error_create(PROFCOL_BAD_DATA,
				    "request is numbered as in opentelemetry-proto 1.9 or before, "
				    "where the fields of a sample mean other things; update its "
				    "sender to 1.10 or later");
}

struct profcol_error *version_doubt(struct profcol_error *error)
{
	struct profcol_error *both;

	if (profcol_error_code(error) != PROFCOL_BAD_DATA)
		return error;
	both = profcol_error_create(PROFCOL_BAD_DATA,
				    "%s; if the request is numbered as in opentelemetry-proto 1.9 "
				    "or before, update its sender to 1.10 or later",
				    profcol_error_message(error));
	profcol_error_destroy(error);
	return both;
}

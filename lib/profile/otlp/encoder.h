/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the OTLP encoder share. Private to lib/profile/otlp. */
#pragma once

#include "numbering.h"

#include "proto/proto.h"

struct otlp_encoder {
	const struct profcol_batch *batch; /* borrowed, sealed: its ids are good */
	struct numbering numbering;
	bool references; /* of resource and scope attributes to the string table */
	struct proto_writer writer;
};

/*
 * An AnyValue with its strings inline, as @field. An empty value is an empty message: some
 * readers refuse an attribute without one.
 */
void otlp_put_value(struct otlp_encoder *encoder, uint32_t field,
		    const struct profcol_value *value);

/* A list's attributes as packed indices. */
void otlp_put_attribute_list(struct otlp_encoder *encoder, uint32_t field, uint32_t list);

/* ProfilesDictionary (dictionary.c): all seven tables, entry 0 in each. */
void otlp_put_dictionary(struct otlp_encoder *encoder, uint32_t field);

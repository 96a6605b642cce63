// SPDX-License-Identifier: Apache-2.0
#include "profile.h"

#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 1 << 16 }; /* of one line */

struct unfolding {
	struct profcol_builder *builder; /* owned */
	VECTOR(uint32_t) locations;      /* of one line, the outermost first */
	uint32_t kernel, native;         /* attribute lists */
};

static void unfolding_deinit(struct unfolding *unfolding)
{
	profcol_builder_destroy(unfolding->builder);
	VECTOR_DEINIT(&unfolding->locations);
}

static uint32_t frame_type(struct profcol_builder *builder, const char *type)
{
	uint32_t attribute =
		profcol_builder_attribute_string(builder, "profile.frame.type", type, strlen(type));

	return profcol_builder_attribute_list(builder, &attribute, 1);
}

static struct profcol_error *bad_line(size_t number, const char *what)
{
	return profcol_error_create(PROFCOL_BAD_DATA, "line %zu is no folded stack: %s", number,
				    what);
}

/* "name", or "name_[k]" in the kernel. */
static bool add_frame(struct unfolding *unfolding, const char *name, size_t length)
{
	static const char kernel[] = "_[k]";
	size_t mark = sizeof(kernel) - 1;
	bool is_kernel = length > mark && !memcmp(name + length - mark, kernel, mark);
	CLEANUP_FREE char *text = malloc(length + 1);
	struct profcol_line line = { 0 };

	if (!text)
		return false;
	length -= is_kernel ? mark : 0;
	strings_sanitize_utf8(text, name, length);
	line.function = profcol_builder_function(
		unfolding->builder,
		&(struct profcol_function){
			.name = profcol_builder_string(unfolding->builder, text, length),
		});
	return VECTOR_PUSH(
		&unfolding->locations,
		profcol_builder_location(
			unfolding->builder,
			&(struct profcol_location){
				.attributes = is_kernel ? unfolding->kernel : unfolding->native,
				.lines = &line,
				.line_count = 1,
			}));
}

/* Leaf first, as stacks are. */
static void reverse(uint32_t *items, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		uint32_t item = items[i];

		items[i] = items[count - 1 - i];
		items[count - 1 - i] = item;
	}
}

static struct profcol_error *add_line(struct unfolding *unfolding, const char *line, size_t length,
				      size_t number)
{
	const char *blank = memrchr(line, ' ', length);
	int64_t value;

	if (!blank || blank == line ||
	    !number_parse_int(blank + 1, (size_t)(line + length - blank - 1), &value) || value < 0)
		return bad_line(number, "it does not end in a blank and a count");
	unfolding->locations.count = 0;
	while (line < blank) {
		const char *end = memchr(line, ';', (size_t)(blank - line));

		end = end ? end : blank;
		if (unfolding->locations.count == FRAMES_MAX)
			return bad_line(number, "it has too many frames");
		if (!add_frame(unfolding, line, (size_t)(end - line)))
			return profcol_error_errno(ENOMEM, "read folded stacks");
		line = end + 1;
	}
	reverse(unfolding->locations.items, unfolding->locations.count);
	profcol_builder_add_sample(unfolding->builder,
				   &(struct profcol_sample){
					   .stack = profcol_builder_stack(
						   unfolding->builder, unfolding->locations.items,
						   (uint32_t)unfolding->locations.count),
					   .value_count = 1,
					   .values = &value,
				   });
	return NULL;
}

static bool unfolding_init(struct unfolding *unfolding)
{
	struct profcol_builder *builder = profcol_builder_create();

	unfolding->builder = builder;
	if (!builder)
		return false;
	unfolding->kernel = frame_type(builder, "kernel");
	unfolding->native = frame_type(builder, "");
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(
		builder, &(struct profcol_profile){
				 .sample_type = profcol_builder_cstring(builder, "samples"),
				 .sample_unit = profcol_builder_cstring(builder, "count"),
			 });
	return true;
}

struct profcol_error *folded_decode(const uint8_t *bytes, size_t length, struct profcol_batch **ret)
{
	CLEANUP(unfolding_deinit) struct unfolding unfolding = { 0 };
	const char *line = (const char *)bytes, *limit = line + length;

	if (!unfolding_init(&unfolding))
		return profcol_error_errno(ENOMEM, "read folded stacks");
	for (size_t number = 1; line < limit; number++) {
		const char *end = memchr(line, '\n', (size_t)(limit - line));
		size_t used = (size_t)((end ? end : limit) - line);
		struct profcol_error *error = NULL;

		while (used && (line[used - 1] == ' ' || line[used - 1] == '\r'))
			used--;
		if (used)
			error = add_line(&unfolding, line, used, number);
		if (error)
			return error;
		line = end ? end + 1 : limit;
	}
	return profcol_builder_seal(TAKE(unfolding.builder), ret);
}

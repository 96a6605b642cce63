// SPDX-License-Identifier: Apache-2.0
#include "frame.h"

#include "text.h"

#include "profile/profile.h"

#include <string.h>

struct frame frame_of_location(const struct profcol_batch *batch,
			       const struct profcol_location *location, uint32_t line)
{
	struct frame frame = { .file = profcol_batch_mapping(batch, location->mapping).filename };
	struct profcol_function function;

	if (line >= location->line_count) {
		frame.name = profile_location_label(batch, location);
		if (frame.name) // which has the file in it
			frame.file = 0;
		return frame;
	}
	function = profcol_batch_function(batch, location->lines[line].function);
	frame.name = function.name ? function.name : function.system_name;
	return frame;
}

void frame_add(struct text *text, const struct profcol_batch *batch, struct frame frame)
{
	struct profcol_text name = profcol_batch_string(batch, frame.name);
	struct profcol_text file = profcol_batch_string(batch, frame.file);
	const char *slash = file.length ? memrchr(file.bytes, '/', file.length) : NULL;

	if (slash) {
		file.length -= (size_t)(slash + 1 - file.bytes);
		file.bytes = slash + 1;
	}
	if (name.length) {
		text_add_string(text, name);
		if (!file.length)
			return;
		text_add(text, " (");
		text_add_string(text, file);
		text_add(text, ")");
	} else if (file.length) {
		text_add(text, "[");
		text_add_string(text, file);
		text_add(text, "]");
	} else {
		text_add(text, "[unknown]");
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "entries.h"

/* The table that @position is in, and the place in it; NULL: it is one of Go's. */
static const struct cfi *find_table(const struct unwind_source *source, size_t *position)
{
	if (*position < source->eh_frame.count)
		return &source->eh_frame;
	*position -= source->eh_frame.count;
	if (*position < source->debug_frame.count)
		return &source->debug_frame;
	*position -= source->debug_frame.count;
	return NULL;
}

size_t unwind_entries_count(const struct unwind_source *source)
{
	return source->eh_frame.count + source->debug_frame.count +
	       (source->go.version ? source->go.function_count : 0);
}

uint64_t unwind_entries_start(const struct unwind_source *source, size_t position)
{
	const struct cfi *cfi = find_table(source, &position);

	return cfi ? cfi_entry_at(cfi, position).start : pclntab_start(&source->go, position);
}

uint64_t unwind_entries_limit(const struct unwind_source *source, size_t position)
{
	const struct cfi *cfi = find_table(source, &position);
	struct cfi_fde fde;
	size_t next;

	if (!cfi)
		return pclntab_limit(&source->go, position);
	if (cfi_entry_read(&cfi->section, cfi_entry_at(cfi, position).offset, &fde, &next) !=
	    CFI_ENTRY_FDE)
		return 0;
	return fde.limit;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Go: a compiled language whose code has tables (unwind/pclntab.h) and whose runtime gives each
 * goroutine a stack of its own.
 */
#include "runtimes/go/labels.h"
#include "runtimes/go/lines.h"

#include "unwind/unwind.h"

/* It has Go's table of functions, or, of before Go 1.16, says by which version it was built. */
static bool go_recognise(const struct runtime_file *file, void *layout_ret)
{
	struct go_layout *layout = layout_ret;

	go_labels_recognise(file, layout);
	return file->source->go.version != PCLNTAB_NONE || *layout->version;
}

static bool go_check(const void *layout)
{
	return go_labels_check(layout);
}

/*
 * Goroutines' stacks hold all of what runs on them, unless the program calls C, and that calls
 * back: another stack lies between the two then. One that has loaded no other file hardly does
 * that; where it does, the first copy that is not enough is the last one. Only on amd64 does the
 * kernel side know how to find a goroutine.
 */
static uint32_t go_copies(size_t files)
{
#if defined(__x86_64__)
	return files == 1 ? UNWIND_MAY_COPY_OF_RUNTIME : 0;
#else
	(void)files;
	return 0;
#endif
}

_Static_assert(sizeof(struct go_layout) <= RUNTIME_LAYOUT_BYTES, "it fits");
_Static_assert(sizeof(struct go_layout) % 8 == 0, "whole words");

extern const struct runtime runtime_go;

const struct runtime runtime_go = {
	.number = RUNTIME_GO,
	.name = "go",
	.layout_bytes = sizeof(struct go_layout),
	.recognise = go_recognise,
	.check = go_check,
	.foresee = go_labels_foresee,
	.has_labels = true,
	.copies = go_copies,
	.lines = go_lines,
	.frame_type = "go",
};

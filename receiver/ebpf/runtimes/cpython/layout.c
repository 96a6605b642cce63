// SPDX-License-Identifier: Apache-2.0
/* What a file with an interpreter says of it. */
#include "cpython.h"

#include "unwind/unwind.h"

#include <elf.h>
#include <string.h>

enum {
	TOLD_WORDS = 128,    /* of _Py_DebugOffsets that are looked at */
	PARTS_MOST = 16,     /* pieces of code that jumps of the loop may lead to */
	LOOP_MOST = 1 << 20, /* bytes of code of the loop that are looked at */
	JUMP_BYTES = 6,      /* 0f 80..8f and 32 bits */
	LOAD_BYTES = 7,      /* of a word at a distance from the program counter */
	RETURN = 0xc3,
};

/* A function that has been there since a version, and is in every file with an interpreter. */
static const struct {
	const char *name;
	uint32_t minor;
} since[] = {
	{ "PyIter_Send", 10 },
	{ "PyFrame_GetCode", 9 },
	{ "PyCode_NewWithPosOnlyArgs", 8 },
	{ "PyThread_tss_create", 7 },
	{ "_PyEval_EvalFrameDefault", 6 },
};

/* As PY_VERSION_HEX. */
static uint32_t read_version(const struct elf_view *view)
{
	uint64_t at = elf_view_object(view, "Py_Version");
	struct elf_piece piece = elf_view_at(view, at);
	uint32_t version;

	if (at && piece.length >= sizeof(version)) {
		memcpy(&version, piece.bytes, sizeof(version));
		return version;
	}
	for (size_t i = 0; i < sizeof(since) / sizeof(*since); i++)
		if (elf_view_function(view, since[i].name))
			return 3u << 24 | since[i].minor << 16;
	return 0;
}

/*
 * Where the pointer to the first interpreter is: 3.6 has no _PyRuntime, and a function that returns
 * it, PyInterpreterState_Head. 0: unknown.
 */
static uint64_t find_interpreters(const struct elf_view *view)
{
	static const uint8_t load[] = { 0x48, 0x8b, 0x05 }; // mov x(%rip),%rax
	uint64_t at = elf_view_function(view, "PyInterpreterState_Head");
	struct elf_piece code = elf_view_code(view, at, LOAD_BYTES + 1);
	int32_t distance;

	if (!at || view->machine != EM_X86_64 || code.length < LOAD_BYTES + 1 ||
	    memcmp(code.bytes, load, sizeof(load)) != 0 || code.bytes[LOAD_BYTES] != RETURN)
		return 0;
	memcpy(&distance, code.bytes + sizeof(load), sizeof(distance));
	return at + LOAD_BYTES + (uint64_t)(int64_t)distance;
}

/* ---- the loop ---- */

struct part {
	struct runtime_loop code;
	size_t jumps; /* of the loop, to it */
};

static void count_jump(const struct unwind_source *source, const struct runtime_loop *loop,
		       uint64_t to, struct part *parts, size_t *count)
{
	struct cfi_fde fde;

	for (size_t i = 0; i < *count; i++)
		if (to >= parts[i].code.start && to < parts[i].code.limit) {
			parts[i].jumps++;
			return;
		}
	if (*count == PARTS_MOST || !cfi_find_covering(&source->eh_frame, to, &fde) ||
	    fde.start == loop->start)
		return;
	parts[(*count)++] = (struct part){ { fde.start, fde.limit }, 1 };
}

/*
 * Compilers put what seldom runs elsewhere, as a function of its own to all tables: most of the
 * conditional jumps that leave the loop lead there. Bytes that only look like such a jump lead
 * anywhere, each to another place.
 */
static struct runtime_loop find_seldom(const struct runtime_file *file,
				       const struct runtime_loop *loop)
{
	struct elf_piece code = elf_view_code(file->view, loop->start, loop->limit - loop->start);
	struct part parts[PARTS_MOST], *most = NULL;
	size_t count = 0;

	for (size_t i = 0; i + JUMP_BYTES <= code.length && i < LOOP_MOST; i++) {
		uint64_t to;
		int32_t distance;

		if (code.bytes[i] != 0x0f || (code.bytes[i + 1] & 0xf0) != 0x80)
			continue;
		memcpy(&distance, code.bytes + i + 2, sizeof(distance));
		to = loop->start + i + JUMP_BYTES + (uint64_t)(int64_t)distance;
		if (to < loop->start || to >= loop->limit)
			count_jump(file->source, loop, to, parts, &count);
	}
	for (size_t i = 0; i < count; i++)
		if (parts[i].jumps > 4 && (!most || parts[i].jumps > most->jumps))
			most = &parts[i];
	return most ? most->code : (struct runtime_loop){ 0 };
}

static bool find_loops(const struct runtime_file *file, struct cpython_layout *layout)
{
	uint64_t start = elf_view_function(file->view, "_PyEval_EvalFrameDefault");
	struct cfi_fde fde;

	if (!start || !cfi_find_covering(&file->source->eh_frame, start, &fde))
		return false;
	layout->loops[0] = (struct runtime_loop){ fde.start, fde.limit };
	if (file->view->machine == EM_X86_64)
		layout->loops[1] = find_seldom(file, &layout->loops[0]);
	return true;
}

/* ---- all of it ---- */

/* Where asyncio has its tasks, of an interpreter that says @words. */
static void find_tasks(const struct elf_view *view, const uint64_t *words, size_t count,
		       struct cpython_layout *layout)
{
	struct elf_piece piece = elf_view_section(view, ".AsyncioDebug");
	uint64_t said[CPYTHON_SAID_WORDS];
	bool is_here = piece.bytes && piece.length >= sizeof(said);

	if (is_here)
		memcpy(said, piece.bytes, sizeof(said));
	layout->coroutine_type = elf_view_object(view, "PyCoro_Type");
	layout->generator_type = elf_view_object(view, "PyGen_Type");
	layout->text_type = elf_view_object(view, "PyUnicode_Type");
	if (layout->coroutine_type && layout->generator_type && layout->text_type &&
	    !(layout->offsets.flags & CPYTHON_FREE_THREADED))
		cpython_find_tasks(cpython_minor(layout), words, count, is_here ? said : NULL,
				   &layout->tasks);
}

/* Where in its structures what lies; or why that is not known. */
static uint32_t find_offsets(const struct elf_view *view, struct cpython_layout *layout)
{
	const struct cpython_offsets *known = cpython_known_offsets(cpython_minor(layout));
	struct elf_piece piece = elf_view_at(view, layout->runtime);
	uint64_t words[TOLD_WORDS];
	size_t count = piece.length / sizeof(*words);

	if (known) {
		layout->offsets = *known;
		return layout->code_type ? RUNTIME_ACCEPTED : RUNTIME_REFUSED_LAYOUT;
	}
	if (cpython_minor(layout) < 13)
		return RUNTIME_REFUSED_VERSION;
	if (count > TOLD_WORDS)
		count = TOLD_WORDS;
	if (count < 2)
		return RUNTIME_REFUSED_LAYOUT;
	memcpy(words, piece.bytes, count * sizeof(*words));
	if (memcmp(words, "xdebugpy", sizeof(*words)) != 0)
		return RUNTIME_REFUSED_LAYOUT;
	if (!cpython_told_offsets(cpython_minor(layout), words, count, &layout->offsets))
		return RUNTIME_REFUSED_VERSION;
	find_tasks(view, words, count, layout);
	return RUNTIME_ACCEPTED;
}

bool cpython_recognise(const struct runtime_file *file, void *layout_ret)
{
	struct cpython_layout *layout = layout_ret;

	*layout = (struct cpython_layout){ .version = 0 };
	if (!find_loops(file, layout))
		return false;
	layout->version = read_version(file->view);
	if (layout->version >> 24 != 3)
		return false;
	layout->runtime = elf_view_object(file->view, "_PyRuntime");
	if (!layout->runtime && cpython_minor(layout) == 6)
		layout->runtime = find_interpreters(file->view);
	layout->code_type = elf_view_object(file->view, "PyCode_Type");
	if (!layout->runtime)
		layout->refused = RUNTIME_REFUSED_VERSION;
	else
		layout->refused = find_offsets(file->view, layout);
	return true;
}

bool cpython_check(const void *described)
{
	const struct cpython_layout *layout = described;
	const struct cpython_offsets *offsets = &layout->offsets;

	if (layout->version >> 24 != 3 || layout->refused >= RUNTIME_REFUSALS ||
	    layout->reserved[0] || layout->reserved[1] || layout->tasks.reserved[0] ||
	    layout->tasks.reserved[1])
		return false;
	for (size_t i = 0; i < RUNTIME_LOOPS; i++)
		if (layout->loops[i].start > layout->loops[i].limit ||
		    layout->loops[i].limit > UNWIND_ADDRESS_LIMIT)
			return false;
	return offsets->code_check_words <= CPYTHON_CHECK_WORDS;
}

size_t cpython_loops(const void *described, struct runtime_loop ret[RUNTIME_LOOPS])
{
	const struct cpython_layout *layout = described;
	size_t count = RUNTIME_LOOPS;

	// Of one that is refused its frames show as native ones.
	if (layout->refused)
		return 0;
	while (count && !layout->loops[count - 1].limit)
		count--;
	memcpy(ret, layout->loops, count * sizeof(*ret));
	return count;
}

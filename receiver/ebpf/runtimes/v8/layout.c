// SPDX-License-Identifier: Apache-2.0
/* What a file with V8 says of it. */
#include "told.h"

#include "unwind/unwind.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

enum {
	LEAST_BUILTINS = 1 << 19, /* bytes; all versions have more than a MiB */
	TAGGED_BYTES = 8,         /* of a pointer to an object, where they are not compressed */
	SMI_SHIFT = 31,           /* of a small number, the same, and the bit of the tag */
	VERSION_MOST = 48,        /* of what says the version */
};

/* ---- the version ---- */

static uint32_t read_number(const struct elf_view *view, const char *name)
{
	uint64_t at = elf_view_object(view, name);
	struct elf_piece piece = elf_view_at(view, at);
	uint32_t number;

	if (!at || piece.length < sizeof(number))
		return 0;
	memcpy(&number, piece.bytes, sizeof(number));
	return number;
}

/*
 * A snapshot begins with the version, as text (SnapshotImpl, src/snapshot/snapshot.cc). It ends
 * with what the embedder has added, "-node.".
 */
static uint32_t find_version_text(const struct elf_view *view)
{
	static const char mark[] = "-node.";
	struct elf_piece data = elf_view_section(view, ".rodata");
	const uint8_t *at = data.bytes, *end = data.bytes ? data.bytes + data.length : NULL;

	while (at && (at = memmem(at, (size_t)(end - at), mark, strlen(mark)))) {
		char text[VERSION_MOST + 1] = "";
		size_t before = (size_t)(at - data.bytes), length = 0;
		unsigned int major, minor, build, patch;

		while (length < VERSION_MOST && length < before &&
		       ((at[-1 - (ptrdiff_t)length] >= '0' && at[-1 - (ptrdiff_t)length] <= '9') ||
			at[-1 - (ptrdiff_t)length] == '.'))
			length++;
		memcpy(text, at - length, length);
		if (sscanf(text, "%3u.%3u.%4u.%4u", &major, &minor, &build, &patch) == 4 &&
		    major < 256 && minor < 256)
			return V8_VERSION(major, minor, build);
		at += strlen(mark);
	}
	return 0;
}

static uint32_t read_version(const struct elf_view *view)
{
	uint32_t major = read_number(view, "_ZN2v88internal7Version6major_E");

	if (!major)
		return find_version_text(view);
	return V8_VERSION(major & 0xff, read_number(view, "_ZN2v88internal7Version6minor_E") & 0xff,
			  read_number(view, "_ZN2v88internal7Version6build_E") & 0xffff);
}

/* ---- the builtins ---- */

struct builtins {
	struct runtime_loop all, trampoline;
	uint64_t handlers; /* where those of the interpreter's instructions begin, up to the end */
	bool mixed;        /* there are others between these */
};

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), bytes = strlen(end);

	return length >= bytes && !strcmp(text + length - bytes, end);
}

static void extend(struct runtime_loop *loop, uint64_t start, uint64_t limit)
{
	if (!loop->limit || start < loop->start)
		loop->start = start;
	if (limit > loop->limit)
		loop->limit = limit;
}

static bool is_trampoline(const char *name)
{
	static const char entry[] = "Builtins_InterpreterEntryTrampoline";

	return !strncmp(name, entry, strlen(entry));
}

static bool take_builtin(void *context, const struct elf_view_symbol *symbol)
{
	struct builtins *builtins = context;
	uint64_t limit = symbol->value + symbol->size;

	if (limit < symbol->value)
		return true;
	extend(&builtins->all, symbol->value, limit);
	if (is_trampoline(symbol->name))
		extend(&builtins->trampoline, symbol->value, limit);
	// The first of those of the instructions, which are the last ones.
	if (!strcmp(symbol->name, "Builtins_WideHandler"))
		builtins->handlers = symbol->value;
	return true;
}

/* Up to 7.9 symbols have no sizes: the trampoline ends where another one begins. */
static bool take_next(void *context, const struct elf_view_symbol *symbol)
{
	struct runtime_loop *trampoline = context;

	if (symbol->value > trampoline->start && !is_trampoline(symbol->name) &&
	    (trampoline->limit == trampoline->start || symbol->value < trampoline->limit))
		trampoline->limit = symbol->value;
	return true;
}

static bool take_other(void *context, const struct elf_view_symbol *symbol)
{
	struct builtins *builtins = context;

	builtins->mixed |=
		symbol->value >= builtins->handlers && !ends_with(symbol->name, "Handler");
	return !builtins->mixed;
}

/* Is it code, and not what fills the room up to something that is aligned? */
static bool is_code(const struct elf_view *view, uint64_t start, uint64_t limit)
{
	struct elf_piece code = elf_view_code(view, start, limit - start);
	size_t filled = 0;

	if (code.length != limit - start)
		return false;
	for (size_t i = 0; i < LEAST_BUILTINS; i++)
		filled += code.bytes[i] == 0 || code.bytes[i] == 0xcc || code.bytes[i] == 0x90;
	return filled < LEAST_BUILTINS / 2;
}

/* Without symbols: so much code without any table is that of the builtins alone. */
static struct runtime_loop find_gap(const struct runtime_file *file)
{
	const struct cfi *cfi = &file->source->eh_frame;
	struct runtime_loop found = { 0 };
	uint64_t limit = 0;

	for (size_t i = 0; i < cfi->count; i++) {
		struct cfi_index_entry entry = cfi_entry_at(cfi, i);
		struct cfi_fde fde;

		if (limit && entry.start > limit && entry.start - limit >= LEAST_BUILTINS &&
		    entry.start - limit > found.limit - found.start &&
		    is_code(file->view, limit, entry.start))
			found = (struct runtime_loop){ limit, entry.start };
		limit = cfi_find(cfi, entry.start, &fde) ? fde.limit : entry.start;
	}
	return found;
}

static bool find_builtins(const struct runtime_file *file, struct v8_layout *layout)
{
	struct builtins builtins = { 0 };
	struct runtime_loop *loops = layout->loops;

	elf_view_visit_symbols(file->view, true, "Builtins_", take_builtin, &builtins);
	if (builtins.trampoline.start && builtins.trampoline.limit == builtins.trampoline.start)
		elf_view_visit_symbols(file->view, true, "Builtins_", take_next,
				       &builtins.trampoline);
	// Without symbols it is not known which of them interpret: all may.
	if (builtins.all.limit - builtins.all.start < LEAST_BUILTINS ||
	    builtins.trampoline.limit <= builtins.trampoline.start) {
		loops[1] = find_gap(file);
		return loops[1].limit;
	}
	elf_view_visit_symbols(file->view, true, "Builtins_", take_other, &builtins);
	if (builtins.mixed || builtins.trampoline.limit > builtins.handlers) {
		loops[1] = builtins.all;
		return true;
	}
	loops[0] = (struct runtime_loop){ builtins.all.start, builtins.trampoline.start };
	loops[1] = builtins.trampoline;
	loops[2] = (struct runtime_loop){ builtins.trampoline.limit, builtins.handlers };
	loops[3] = (struct runtime_loop){ builtins.handlers, builtins.all.limit };
	return true;
}

static bool take_sizes(void *context, const struct elf_view_symbol *symbol)
{
	struct v8_layout *layout = context;

	if (symbol->is_function || symbol->size % 3 || symbol->size > 3 * 256)
		return true;
	layout->bytecode_sizes = symbol->value;
	layout->bytecode_count = (uint32_t)symbol->size / 3;
	return false;
}

static void find_bytecode_sizes(const struct elf_view *view, struct v8_layout *layout)
{
	static const char name[] = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE";

	for (int local = 0; local < 2 && !layout->bytecode_sizes; local++)
		elf_view_visit_symbols(view, local, name, take_sizes, layout);
}

/* ---- all of it ---- */

/* Why it cannot be read; RUNTIME_ACCEPTED. */
static uint32_t complete(const struct v8_told *told, struct v8_layout *layout)
{
	if (told->tagged_bytes != TAGGED_BYTES || told->smi_shift != SMI_SHIFT)
		return RUNTIME_REFUSED_LAYOUT;
	if (!v8_complete(layout))
		return RUNTIME_REFUSED_VERSION;
	return v8_is_sound(layout) ? RUNTIME_ACCEPTED : RUNTIME_REFUSED_LAYOUT;
}

/* Every file is asked that: only the names that it has for others are looked at. */
static bool tells_debuggers(const struct elf_view *view)
{
	static const char name[] = "v8dbg_SmiTagMask";
	struct elf_piece names = elf_view_section(view, ".dynstr");

	return names.bytes && memmem(names.bytes, names.length, name, sizeof(name));
}

bool v8_recognise(const struct runtime_file *file, void *layout_ret)
{
	struct v8_layout *layout = layout_ret;
	struct v8_told told = { .layout = layout };

	*layout = (struct v8_layout){ .version = 0 };
	if (file->view->machine != EM_X86_64 || !tells_debuggers(file->view))
		return false;
	layout->version = read_version(file->view);
	v8_read_told(file->view, &told);
	if (!find_builtins(file, layout))
		layout->refused = RUNTIME_REFUSED_LAYOUT;
	else
		layout->refused = complete(&told, layout);
	find_bytecode_sizes(file->view, layout);
	return true;
}

bool v8_check_layout(const void *described)
{
	const struct v8_layout *layout = described;

	if (layout->refused >= RUNTIME_REFUSALS || layout->bytecode_count > 256 ||
	    layout->reserved || layout->bytecode_sizes > UNWIND_ADDRESS_LIMIT)
		return false;
	for (size_t i = 0; i < RUNTIME_LOOPS; i++)
		if (layout->loops[i].start > layout->loops[i].limit ||
		    layout->loops[i].limit > UNWIND_ADDRESS_LIMIT)
			return false;
	return layout->refused || v8_is_sound(layout);
}

size_t v8_loops(const void *described, struct runtime_loop ret[RUNTIME_LOOPS])
{
	const struct v8_layout *layout = described;

	// Of one that is refused its frames show as native ones.
	if (layout->refused)
		return 0;
	memcpy(ret, layout->loops, sizeof(layout->loops));
	return RUNTIME_LOOPS;
}

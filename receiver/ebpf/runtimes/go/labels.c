// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/labels.h"

#include "runtimes/go.h"
#include "runtimes/go/build_info.h"

#include "unwind/unwind.h"

#include <elf.h>
#include <string.h>

enum {
	GOROUTINE_THREAD = 48,      /* g.m, behind two bounds, two guards and two pointers */
	USUAL_CURRENT = -8,         /* the one thread-local variable that Go has itself */
	CURRENT_LEAST = -(1 << 20), /* C code may have others */
	CODE_BYTES = 24,
};

/* Go 1.@from up to the next row: m.curg, g.labels. */
struct row {
	uint32_t from;
	uint16_t thread_goroutine, goroutine_labels, flags;
};

static const struct row rows[] = {
	{ 13, 192, 344, GO_LABELS_ARE_A_MAP },
	{ 17, 192, 360, GO_LABELS_ARE_A_MAP },
	{ 21, 192, 344, GO_LABELS_ARE_A_MAP },
	{ 23, 192, 352, GO_LABELS_ARE_A_MAP },
	{ 24, 192, 352, 0 },
	{ 25, 184, 344, 0 },
	{ 26, 184, 352, 0 },
	{ 28, 0, 0, 0 }, /* not known */
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* ---- the version ---- */

/* N of "go1.N", whatever follows that: a patch, a candidate, who has built it; 0: it is no such. */
static uint32_t minor_version(const char *version)
{
	uint32_t minor = 0;
	const char *at;

	if (strncmp(version, "go1.", 4) != 0)
		return 0;
	for (at = version + 4; *at >= '0' && *at <= '9' && at < version + 7; at++)
		minor = 10 * minor + (uint32_t)(*at - '0');
	return strchr(".-+ rb", *at) ? minor : 0;
}

static const struct row *find_row(const char *version)
{
	uint32_t minor = minor_version(version);

	for (size_t i = 0; i + 1 < ROWS; i++)
		if (minor >= rows[i].from && minor < rows[i + 1].from)
			return &rows[i];
	return NULL;
}

/* ---- where the current g is ---- */

/* The code of the function of that name, by Go's table of functions, or, of before Go 1.16, by
 * symbols; without bytes: none. */
static struct elf_piece find_code(const struct runtime_file *file, const char *name)
{
	const struct pclntab *table = &file->source->go;
	size_t name_at = table->version == PCLNTAB_116 ? 8 : 4;

	if (table->version == PCLNTAB_NONE)
		return elf_view_code(file->view, elf_view_function(file->view, name), CODE_BYTES);
	for (uint64_t i = 0; i < table->function_count; i++) {
		struct elf_piece record = pclntab_record(table, i);
		const char *found;
		uint32_t offset;

		if (!record.bytes)
			break;
		memcpy(&offset, record.bytes + name_at, sizeof(offset));
		found = pclntab_name(table, offset);
		if (found && !strcmp(found, name))
			return elf_view_code(file->view, pclntab_start(table, i), CODE_BYTES);
	}
	return (struct elf_piece){ 0 };
}

static int32_t number_at(const uint8_t *at)
{
	int32_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

/*
 * By the code that reads it: mov %fs:N, or, in a position-independent file, mov $N or mov N(%rip)
 * to a register, and a mov %fs: by that. False: it is none of these.
 */
static bool read_code(const struct elf_piece *code, struct go_layout *ret)
{
	static const uint8_t direct[] = { 0x64, 0x48, 0x8b };
	const uint8_t *bytes = code->bytes;

	if (code->length < 11)
		return false;
	if (!memcmp(bytes, direct, 3) && (bytes[3] & 0xc7) == 0x04 && bytes[4] == 0x25) {
		ret->current = number_at(bytes + 5);
		return true;
	}
	if (memcmp(bytes + 7, direct, 3) != 0)
		return false;
	if (bytes[0] == 0x48 && bytes[1] == 0xc7 && (bytes[2] & 0xf8) == 0xc0) {
		ret->current = number_at(bytes + 3);
		return true;
	}
	if (bytes[0] == 0x48 && bytes[1] == 0x8b && (bytes[2] & 0xc7) == 0x05) {
		ret->current_at = code->address + 7 + (uint64_t)(int64_t)number_at(bytes + 3);
		return true;
	}
	return false;
}

static struct go_layout without_current(const struct go_layout *layout)
{
	struct go_layout ret = { 0 };

	memcpy(ret.version, layout->version, sizeof(ret.version));
	return ret;
}

void go_labels_recognise(const struct runtime_file *file, struct go_layout *ret)
{
	struct elf_piece code;

	*ret = (struct go_layout){ 0 };
	go_build_info_version(file->view, ret->version, sizeof(ret->version));
	ret->is_current = 1;
	// On others it is in a register.
	if (file->view->machine != EM_X86_64 || !find_row(ret->version))
		return;
	code = find_code(file, "runtime.stackcheck");
	if (!code.bytes)
		ret->current = USUAL_CURRENT;
	else if (!read_code(&code, ret) || !go_labels_check(ret))
		*ret = without_current(ret);
}

bool go_labels_check(const struct go_layout *layout)
{
	return memchr(layout->version, '\0', sizeof(layout->version)) && layout->is_current <= 1 &&
	       layout->current_at < UNWIND_ADDRESS_LIMIT && layout->current <= 0 &&
	       layout->current >= CURRENT_LEAST;
}

void go_labels_foresee(const void *from, uint64_t base, struct runtime_found *ret)
{
	const struct go_layout *layout = from;
	const struct row *row = find_row(layout->version);
	struct go_data data;

	memcpy(ret->version, layout->version, sizeof(ret->version));
	ret->complete = 1;
	if (!row || !layout->is_current) {
		ret->refused = row ? RUNTIME_REFUSED_LAYOUT : RUNTIME_REFUSED_VERSION;
		return;
	}
	ret->progress = 1;
	data = (struct go_data){
		.current_at = layout->current_at ? base + layout->current_at : 0,
		.current = layout->current,
		.goroutine_thread = GOROUTINE_THREAD,
		.goroutine_labels = row->goroutine_labels,
		.thread_goroutine = row->thread_goroutine,
		.flags = row->flags,
	};
	ret->data_bytes = sizeof(data);
	memcpy(ret->data, &data, sizeof(data));
}

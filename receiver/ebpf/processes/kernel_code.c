// SPDX-License-Identifier: Apache-2.0
#include "kernel_code.h"

#include "printable.h"
#include "record.h"

#include "base/base.h"

#include <pthread.h>
#include <string.h>

/* Of a machine with some hundred programs; each takes 160 bytes. */
enum { PIECES_MOST = 4096 };

struct piece {
	struct kernel_code_program program;
	uint64_t begin_ns, end_ns; /* UINT64_MAX: it is there */
};

struct kernel_code {
	pthread_mutex_t lock;
	VECTOR(struct piece) pieces; /* by when they were told of */
	uint64_t lost_ns;
};

struct kernel_code *kernel_code_create(void)
{
	struct kernel_code *code = calloc(1, sizeof(*code));

	if (code)
		pthread_mutex_init(&code->lock, NULL);
	return code;
}

void kernel_code_destroy(struct kernel_code *code)
{
	if (!code)
		return;
	VECTOR_DEINIT(&code->pieces);
	pthread_mutex_destroy(&code->lock);
	free(code);
}

/* With the lock held. */
static void lose(struct kernel_code *code, uint64_t time_ns)
{
	code->pieces.count = 0;
	code->lost_ns = time_ns;
}

void kernel_code_lose(struct kernel_code *code, uint64_t time_ns)
{
	pthread_mutex_lock(&code->lock);
	lose(code, time_ns);
	pthread_mutex_unlock(&code->lock);
}

uint64_t kernel_code_lost_ns(struct kernel_code *code)
{
	uint64_t lost_ns;

	pthread_mutex_lock(&code->lock);
	lost_ns = code->lost_ns;
	pthread_mutex_unlock(&code->lock);
	return lost_ns;
}

/* Room for one more: those that ended first go. */
static bool reserve(struct kernel_code *code)
{
	size_t kept = 0, count = code->pieces.count, drop = PIECES_MOST / 4;

	if (count < PIECES_MOST)
		return VECTOR_RESERVE(&code->pieces, 1);
	for (size_t i = 0; i < count; i++) {
		const struct piece *piece = &code->pieces.items[i];

		if (drop && piece->end_ns != UINT64_MAX) {
			drop--;
			continue;
		}
		code->pieces.items[kept++] = *piece;
	}
	code->pieces.count = kept;
	return kept < PIECES_MOST;
}

static void add(struct kernel_code *code, const struct record *record)
{
	struct piece piece = {
		.program = { .start = record->start, .limit = record->start + record->length },
		.begin_ns = record->ends ? 0 : record->time_ns,
		.end_ns = record->ends ? record->time_ns : UINT64_MAX,
	};
	size_t length = record->text_length;

	if (length >= sizeof(piece.program.name))
		length = sizeof(piece.program.name) - 1;
	strings_sanitize_utf8(piece.program.name, record->text, length);
	printable_strip_controls(piece.program.name, length);
	if (reserve(code))
		code->pieces.items[code->pieces.count++] = piece;
	else
		lose(code, record->time_ns);
}

void kernel_code_note(struct kernel_code *code, const struct record *record)
{
	uint64_t limit = record->start + record->length;
	bool known = false;

	pthread_mutex_lock(&code->lock);
	for (size_t i = 0; i < code->pieces.count; i++) {
		struct piece *piece = &code->pieces.items[i];

		// What comes in the place of another one has it to itself.
		if (piece->end_ns != UINT64_MAX || piece->program.start >= limit ||
		    piece->program.limit <= record->start)
			continue;
		piece->end_ns = record->time_ns;
		known |= piece->program.start == record->start;
	}
	if (!record->ends || !known)
		add(code, record);
	pthread_mutex_unlock(&code->lock);
}

enum kernel_code_finding kernel_code_find(struct kernel_code *code, uint64_t address,
					  uint64_t since_ns, struct kernel_code_program *ret,
					  uint64_t *ended_ns_ret)
{
	enum kernel_code_finding finding = KERNEL_CODE_NONE;

	pthread_mutex_lock(&code->lock);
	for (size_t i = 0; i < code->pieces.count; i++) {
		const struct piece *piece = &code->pieces.items[i];

		if (address < piece->program.start || address >= piece->program.limit)
			continue;
		if (piece->end_ns >= since_ns) {
			finding = finding == KERNEL_CODE_FOUND || finding == KERNEL_CODE_UNCLEAR
					  ? KERNEL_CODE_UNCLEAR
					  : KERNEL_CODE_FOUND;
			*ret = piece->program;
		} else if (finding == KERNEL_CODE_NONE || finding == KERNEL_CODE_GONE) {
			finding = KERNEL_CODE_GONE;
			*ended_ns_ret = piece->end_ns;
		}
	}
	pthread_mutex_unlock(&code->lock);
	return finding;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * The memory of a process that runs CPython, with a code object, the name of a task and a thread in
 * it, changed by what comes in before and while it is read. Whatever it is: what is found can be
 * told to the kernel side, lines are UTF-8 without NUL, and what is read has a bound.
 *
 * The input: which version; 96 words that it may say of itself; then changes of 12 bytes each:
 * where, before which read, and the word that is written.
 */
#include "forged_changes.h"

#include "tests/unit/ebpf/runtimes/cpython_forged.h"
#include "tests/unit/ebpf/runtimes/cpython_words.h"

#include "receiver/ebpf/runtimes/cpython/text.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_READS = 64, WORDS = 96, RUNTIME_AT = 0x100 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct forged forged;

static void change(struct forged *memory, size_t number)
{
	forged_changes_make(memory->bytes, memory->used, number, MOST_READS);
}

static void check_text(const char *text, size_t length)
{
	for (size_t i = 0; i < length;) {
		uint8_t first = (uint8_t)text[i];
		size_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;

		if (!first || (first >= 0x80 && first < 0xc2) || first > 0xf4 || more >= length - i)
			abort();
		for (i++; more; more--, i++)
			if (((uint8_t)text[i] & 0xc0) != 0x80)
				abort();
	}
}

static bool take_line(void *context, const struct runtime_line *line)
{
	(void)context;
	if (!line->function_bytes || line->function_bytes > CPYTHON_TEXT_BYTES ||
	    line->file_bytes > CPYTHON_TEXT_BYTES || line->line > INT32_MAX ||
	    line->start_line > INT32_MAX)
		abort();
	check_text(line->function, line->function_bytes);
	check_text(line->file, line->file_bytes);
	return true;
}

static void look(uint64_t base)
{
	const struct runtime_memory memory = forged_memory(&forged);
	struct runtime_found found;

	forged.reads = 0;
	if (cpython_attach(&forged.layout, base, &memory, &found) && !runtime_found_check(&found))
		abort();
	if (forged.reads > MOST_READS)
		abort();
}

static void resolve(const struct runtime_frame *frame, size_t most_bytes)
{
	const struct runtime_memory memory = forged_memory(&forged);
	const struct runtime_lines lines = { take_line, NULL };
	struct runtime_process process = { 0 };

	memcpy(process.layout, &forged.layout, sizeof(forged.layout));
	forged.reads = forged.read_bytes = 0;
	cpython_resolve(&process, &memory, frame, &lines);
	if (forged.reads > MOST_READS || forged.read_bytes > most_bytes)
		abort();
}

static const char task_name[] = "handler 17";

/* What the kernel side says of the task's name that was made. */
static uint32_t task_check(void)
{
	__u64 words[CPYTHON_TEXT_WORDS] = { 0 };
	size_t length = strlen(task_name);

	memcpy(words, task_name, length);
	memcpy(&words[CPYTHON_TEXT_WORDS - 1], task_name + length - 8, 8);
	return cpython_text_check(length, words);
}

static void name(uint64_t code, uint32_t position, uint32_t check)
{
	resolve(&(struct runtime_frame){ .object = code, .position = position, .check = check },
		(1 << 18) + 20000);
}

static void name_tasks(uint64_t text, uint32_t kind)
{
	resolve(&(struct runtime_frame){ .object = text,
					 .check = task_check(),
					 .kind = CPYTHON_TASK },
		20000);
	resolve(&(struct runtime_frame){ .object = kind, .kind = kind }, 20000);
}

/* Whatever an interpreter says of its tasks, it is nothing, or can be told. */
static void find_tasks(uint32_t minor, const uint64_t *words)
{
	uint64_t all[CPYTHON_WORDS];
	struct cpython_tasks tasks;

	memcpy(all, minor == 14 ? cpython_words_14 : cpython_words_15, sizeof(all));
	memcpy(all, words, WORDS * sizeof(*words));
	if (cpython_find_tasks(minor, all, CPYTHON_WORDS, NULL, &tasks) && !tasks.thread)
		abort();
	if (cpython_find_tasks(minor, all, CPYTHON_WORDS, words, &tasks) && !tasks.thread)
		abort();
}

static uint64_t make_code(uint64_t *base_ret)
{
	static const uint8_t table[] = { 0xd0, 0, 0, 0xd8, 0, 0 };
	uint64_t variables = forged_room(&forged, 1 << 14), thread = forged_room(&forged, 1 << 10);

	forged.layout.runtime = RUNTIME_AT;
	forged.layout.code_type = RUNTIME_AT + (1 << 13);
	*base_ret = variables - RUNTIME_AT;
	forged_put_word(&forged, variables + forged.layout.offsets.runtime_interpreters, variables);
	forged_put_word(&forged, *base_ret + forged.layout.code_type + 32,
			forged.layout.offsets.code_bytes);
	forged_put_word(&forged, thread + forged.layout.offsets.thread_interpreter, variables);
	return forged_code(&forged, forged_ascii(&forged, "Shop.open"),
			   forged_ascii(&forged, "/srv/shop.py"),
			   forged_data(&forged, table, sizeof(table)), 70);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct cpython_offsets offsets;
	uint64_t words[WORDS], code, base, text;
	uint32_t minor, position, check;

	if (size < 8 + sizeof(words))
		return 0;
	minor = 6 + bytes[0] % 10;
	memcpy(&position, bytes + 4, sizeof(position));
	memcpy(words, bytes + 8, sizeof(words));
	forged_changes_take(bytes + 8 + sizeof(words), size - 8 - sizeof(words));

	forged_init(&forged, minor == 13 && bytes[3] & 1 ? FORGED_13T : minor);
	code = make_code(&base);
	text = forged_ascii(&forged, task_name);
	forged_refer(&forged, text, 1);
	change(&forged, 0);
	// Objects lie where the version has them; they are read where it says.
	if (bytes[1] & 1 && cpython_told_offsets(minor, words, WORDS, &offsets)) {
		forged.layout.offsets = offsets;
		if (!cpython_check(&forged.layout))
			abort();
	}
	// Its neighbours are read, too, wherever the check is said to be.
	check = code + forged.layout.offsets.code_check + 8 * CPYTHON_CHECK_WORDS <=
				forged.start + forged.used
			? forged_check(&forged, code)
			: 0;
	forged.before = change;
	look(base);
	name(code, position, check);
	name_tasks(text, bytes[2] % 8);
	find_tasks(minor, words);
	return 0;
}

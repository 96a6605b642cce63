// SPDX-License-Identifier: Apache-2.0
/*
 * What a JVM runs, and what it is itself. The only text that has the main class or the jar has the
 * program's arguments behind it, which may be secrets: no byte behind the first space is told.
 */
#include "hotspot.h"

#include <string.h>

enum {
	COMMAND_BYTES = 1024, /* of the path of a jar, at most */
	RELEASE_BYTES = 128,
	INFO_BYTES = 32, /* of which the beginning is looked at */
};

/* The names of JVMs, as what they say of themselves begins, and those of their environments, as
 * java.runtime.name has them. */
static const struct {
	const char *begin, *name;
} names[] = {
	{ "OpenJDK ", "OpenJDK Runtime Environment" },
	{ "Java HotSpot(TM) ", "Java(TM) SE Runtime Environment" },
};

/* The text whose address is at @variable, up to a space or its end: the number of its bytes; 0 if
 * it has more than @most, or is not there. */
static size_t read_word(const struct runtime_memory *memory, uint64_t variable, char *to,
			size_t most)
{
	uint64_t text;

	if (!runtime_read_words(memory, &variable, 1, &text) || !text)
		return 0;
	for (size_t i = 0; i < most; i++) {
		if (!memory->read(memory->context, text + i, &to[i], 1))
			return 0;
		if (!to[i] || to[i] == ' ')
			return i;
	}
	return 0;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
	size_t bytes = strlen(end);

	return length > bytes && !memcmp(text + length - bytes, end, bytes);
}

static bool is_of_class(unsigned char letter)
{
	return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
	       (letter >= '0' && letter <= '9') || letter == '_' || letter == '$' ||
	       letter == '.' || letter >= 0x80;
}

/* Can this be a class, or MODULE/CLASS? Its part of @word to the front; 0: it cannot. */
static size_t keep_class(char *word, size_t length)
{
	char *slash = memchr(word, '/', length);
	size_t before = slash ? (size_t)(slash + 1 - word) : 0;

	for (size_t i = 0; i < length; i++)
		if (i + 1 != before && !is_of_class((unsigned char)word[i]))
			return 0;
	// A path begins like that.
	if (before == 1 || word[0] == '.' || before == length)
		return 0;
	memmove(word, word + before, length - before);
	return length - before;
}

/* Of the first word of a command what is no path: a jar, or a class. */
static size_t keep_program(char *word, size_t length)
{
	const char *slash = length ? memrchr(word, '/', length) : NULL;
	size_t before = slash ? (size_t)(slash + 1 - word) : 0;

	if (!length)
		return 0;
	if (!ends_with(word + before, length - before, ".jar"))
		return keep_class(word, length);
	memmove(word, word + before, length - before);
	return length - before;
}

static const char *read_name(const struct runtime_process *process,
			     const struct runtime_memory *memory)
{
	const struct hotspot_layout *layout = (const void *)process->layout;
	uint64_t address = process->base + layout->objects[HOTSPOT_VM_INFO - HOTSPOT_WORDS], text;
	char begin[INFO_BYTES];

	if (address == process->base || !runtime_read_words(memory, &address, 1, &text))
		return "";
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t bytes = strlen(names[i].begin);

		if (memory->read(memory->context, text, begin, bytes) &&
		    !memcmp(begin, names[i].begin, bytes))
			return names[i].name;
	}
	return "";
}

enum runtime_outcome hotspot_describe(const struct runtime_process *process,
				      const struct runtime_memory *memory,
				      const struct runtime_lines *to)
{
	const struct hotspot_layout *layout = (const void *)process->layout;
	uint32_t command = layout->objects[HOTSPOT_COMMAND - HOTSPOT_WORDS];
	char release[RELEASE_BYTES], program[COMMAND_BYTES];
	struct runtime_line line = { .function = release, .file = program };

	if (layout->words[HOTSPOT_VM_RELEASE])
		line.function_bytes =
			read_word(memory, process->base + layout->words[HOTSPOT_VM_RELEASE],
				  release, sizeof(release));
	if (!line.function_bytes)
		return RUNTIME_UNREADABLE;
	if (command)
		line.file_bytes = keep_program(program, read_word(memory, process->base + command,
								  program, sizeof(program)));
	line.system_name = read_name(process, memory);
	line.system_name_bytes = strlen(line.system_name);
	return to->add(to->context, &line) ? RUNTIME_NAMED : RUNTIME_MALFORMED;
}

// SPDX-License-Identifier: Apache-2.0
/* Where a JVM's structures have what names its frames. */
#include "hotspot.h"

#include <stdio.h>
#include <string.h>

enum {
	FARTHEST = 4096,      /* offset in a structure of the JVM */
	SETTINGS_MOST = 4096, /* that are looked at; JDK 17 has 1,415 */
	VERSION_FIRST = 8,
	VERSION_LAST = 99,
	/* Where an interpreted frame says which bytecode runs: since JDK 9 it has another word,
	 * the class, before (frame_x86.hpp). */
	BCP_BELOW = 8 * 8,
	BCP_BELOW_8 = 7 * 8,
};

/* Not an offset but something in the library itself. */
static bool is_static(size_t word)
{
	return word == HOTSPOT_HEAPS || word == HOTSPOT_INTERPRETER || word == HOTSPOT_VM_MAJOR ||
	       word == HOTSPOT_VM_RELEASE || word == HOTSPOT_FLAGS || word == HOTSPOT_FLAG_COUNT;
}

static bool read_offsets(const struct hotspot_layout *layout, uint64_t base,
			 const struct runtime_memory *memory, uint16_t of[HOTSPOT_WORDS])
{
	for (size_t i = 0; i < HOTSPOT_WORDS; i++) {
		uint64_t address = base + layout->words[i], word;

		of[i] = 0;
		if (!layout->words[i] || is_static(i))
			continue;
		if (!runtime_read_words(memory, &address, 1, &word) || word > FARTHEST)
			return false;
		of[i] = (uint16_t)word;
	}
	return true;
}

/* The version of the JDK; 0: it has none yet, or none that can be. */
static uint16_t read_version(const struct hotspot_layout *layout, uint64_t base,
			     const struct runtime_memory *memory)
{
	uint32_t major;

	// HotSpot 25 is that of JDK 8, too.
	if (layout->heap_bytes)
		return VERSION_FIRST;
	if (!memory->read(memory->context, base + layout->words[HOTSPOT_VM_MAJOR], &major,
			  sizeof(major)) ||
	    major <= VERSION_FIRST || major > VERSION_LAST)
		return 0;
	return (uint16_t)major;
}

/* As the JVM calls it, as far as there is room. */
static void read_release(const struct hotspot_layout *layout, uint64_t base,
			 const struct runtime_memory *memory, struct runtime_found *ret)
{
	uint64_t address = base + layout->words[HOTSPOT_VM_RELEASE], text;

	if (!runtime_read_words(memory, &address, 1, &text))
		return;
	for (size_t i = 0; i + 1 < sizeof(ret->version); i++) {
		char letter;

		if (!memory->read(memory->context, text + i, &letter, 1) || letter <= ' ' ||
		    letter > '~')
			break;
		ret->version[i] = letter;
	}
}

/* The settings that matter, whose values are 0 or 1, and what they say. */
static const struct {
	const char *name;
	uint16_t setting; /* of enum hotspot_setting */
} known_settings[] = {
	{ "DebugNonSafepoints", HOTSPOT_TELLS_ALL },
	{ "UseCompressedOops", HOTSPOT_SHORT_POINTERS },
	{ "UseCompressedClassPointers", HOTSPOT_SHORT_CLASSES },
	{ "UseCompactObjectHeaders", HOTSPOT_COMPACT },
	{ "UseSerialGC", HOTSPOT_MOVES_IN_PAUSES },
	{ "UseParallelGC", HOTSPOT_MOVES_IN_PAUSES },
	{ "UseG1GC", HOTSPOT_MOVES_IN_PAUSES },
	{ "UseEpsilonGC", HOTSPOT_MOVES_IN_PAUSES },
	{ "UseConcMarkSweepGC", HOTSPOT_MOVES_IN_PAUSES }, // up to JDK 13
};

enum { KNOWN_SETTINGS = sizeof(known_settings) / sizeof(known_settings[0]) };

/* The setting whose name is at @name has a value at @value: if it matters, to *@settings. */
static void take_setting(const struct runtime_memory *memory, uint64_t name, uint64_t value,
			 uint16_t *settings)
{
	char found[32];
	uint8_t is_on;

	for (size_t i = 0; i < KNOWN_SETTINGS; i++) {
		size_t bytes = strlen(known_settings[i].name) + 1;

		if (!memory->read(memory->context, name, found, bytes) ||
		    memcmp(found, known_settings[i].name, bytes) != 0 ||
		    !memory->read(memory->context, value, &is_on, sizeof(is_on)))
			continue;
		if (is_on)
			*settings |= known_settings[i].setting;
		else if (known_settings[i].setting == HOTSPOT_SHORT_CLASSES)
			*settings &= (uint16_t)~HOTSPOT_SHORT_CLASSES;
	}
}

/* Of enum hotspot_setting, those that are on. */
static uint16_t read_settings(const struct hotspot_layout *layout, uint64_t base,
			      const struct runtime_memory *memory, const uint16_t *of)
{
	const uint64_t addresses[] = { base + layout->words[HOTSPOT_FLAGS],
				       base + layout->words[HOTSPOT_FLAG_COUNT] };
	// A version that cannot do without has no such setting.
	uint16_t settings = HOTSPOT_SHORT_CLASSES;
	uint64_t array[2], words[2];

	if (!layout->words[HOTSPOT_FLAGS] || !layout->words[HOTSPOT_FLAG_COUNT] ||
	    !layout->flag_bytes || !runtime_read_words(memory, addresses, 2, array))
		return 0;
	for (uint64_t i = 0; i < array[1] && i < SETTINGS_MOST; i++) {
		uint64_t at = array[0] + i * layout->flag_bytes;
		const uint64_t members[] = { at + of[HOTSPOT_FLAG_NAME],
					     at + of[HOTSPOT_FLAG_VALUE] };

		if (!runtime_read_words(memory, members, 2, words))
			return 0;
		// The last one has no name.
		if (words[0])
			take_setting(memory, words[0], words[1], &settings);
	}
	return settings;
}

static struct hotspot_data tell(const struct hotspot_layout *layout, const uint16_t *of,
				uint16_t version)
{
	uint16_t block = (uint16_t)layout->block_bytes;
	uint16_t other = layout->words[HOTSPOT_NMETHOD_DEOPT_MH] ? HOTSPOT_NMETHOD_DEOPT_MH
								 : HOTSPOT_NMETHOD_DEOPT;

	return (struct hotspot_data){
		.compile_id = (uint16_t)(block + of[HOTSPOT_NMETHOD_ID]),
		.deopt = { (uint16_t)(block + of[HOTSPOT_NMETHOD_DEOPT]),
			   (uint16_t)(block + of[other]) },
		.deopt_base = layout->deopt_bytes == sizeof(uint32_t) ? block : 0,
		.original = (uint16_t)(block + of[HOTSPOT_NMETHOD_ORIGINAL]),
		.bcp = version == VERSION_FIRST ? BCP_BELOW_8 : BCP_BELOW,
		.method_const = of[HOTSPOT_METHOD_CONST],
		.const_pool = of[HOTSPOT_CONST_POOL],
		.const_identity = of[HOTSPOT_CONST_CODE_BYTES],
		.pool_holder = of[HOTSPOT_POOL_HOLDER],
		// The number of redefinitions follows the length in all versions. JDK 8 counts only
		// merged pools: it stays 0 if the new constants equal or extend the old ones.
		.pool_version = of[HOTSPOT_POOL_LENGTH],
		.klass_name = of[HOTSPOT_KLASS_NAME],
	};
}

/* Can they be offsets in the structures of a JVM? Members that follow each other differ. */
static bool add_up(const struct hotspot_layout *layout, const struct hotspot_offsets *offsets)
{
	const struct hotspot_data *told = &offsets->told;
	const uint16_t *of = offsets->of;

	return told->compile_id <= HOTSPOT_HEAD_BYTES - sizeof(uint64_t) &&
	       told->original <= HOTSPOT_HEAD_BYTES - sizeof(uint64_t) &&
	       told->deopt[0] <= HOTSPOT_HEAD_BYTES - sizeof(uint64_t) &&
	       told->deopt[1] <= HOTSPOT_HEAD_BYTES - sizeof(uint64_t) &&
	       of[HOTSPOT_METHOD_CONST] && of[HOTSPOT_KLASS_NAME] && of[HOTSPOT_POOL_HOLDER] &&
	       of[HOTSPOT_SYMBOL_BODY] > of[HOTSPOT_SYMBOL_LENGTH] &&
	       of[HOTSPOT_CONST_NAME] != of[HOTSPOT_CONST_SIGNATURE] &&
	       of[HOTSPOT_CONST_SIGNATURE] + sizeof(uint16_t) <= layout->const_bytes &&
	       of[HOTSPOT_CONST_CODE_BYTES] + sizeof(uint16_t) <= layout->const_bytes &&
	       of[HOTSPOT_POOL_LENGTH] + sizeof(uint64_t) <= layout->pool_bytes &&
	       of[HOTSPOT_NMETHOD_ID] && of[HOTSPOT_NMETHOD_METHOD] && of[HOTSPOT_NMETHOD_PCS];
}

/* Lists of threads are of either kind, and other words are not about threads. */
static bool may_be_missing(size_t number)
{
	return number == HOTSPOT_THREADS || number == HOTSPOT_FIRST_THREAD ||
	       number == HOTSPOT_LIST_LENGTH || number == HOTSPOT_LIST_ITEMS ||
	       number == HOTSPOT_THREAD_NEXT || number == HOTSPOT_COMMAND ||
	       number == HOTSPOT_VM_INFO || number == HOTSPOT_THREAD_PC;
}

/* Is there a list of threads of either kind? */
static bool has_list(const struct hotspot_layout *layout)
{
	const uint32_t *objects = layout->objects;

	if (objects[HOTSPOT_THREADS - HOTSPOT_WORDS])
		return objects[HOTSPOT_LIST_LENGTH - HOTSPOT_WORDS] &&
		       objects[HOTSPOT_LIST_ITEMS - HOTSPOT_WORDS];
	return objects[HOTSPOT_FIRST_THREAD - HOTSPOT_WORDS] &&
	       objects[HOTSPOT_THREAD_NEXT - HOTSPOT_WORDS];
}

/* What names of threads need; false: something is missing. */
static bool find_objects(const struct hotspot_layout *layout, uint64_t base,
			 const struct runtime_memory *memory, uint16_t to[HOTSPOT_OBJECTS])
{
	if (!has_list(layout))
		return false;
	for (size_t i = 0; i < HOTSPOT_OBJECTS; i++) {
		uint64_t address = base + layout->objects[i], word;
		size_t number = i + HOTSPOT_WORDS;

		if (!layout->objects[i] && !may_be_missing(number))
			return false;
		if (!layout->objects[i] || number < HOTSPOT_STATICS_LIMIT)
			continue;
		if (!runtime_read_words(memory, &address, 1, &word) || word > FARTHEST)
			return false;
		to[i] = (uint16_t)word;
	}
	return true;
}

/* Offset of the pc at which a signal has found a thread, in that; 0: not known. */
static uint16_t find_saved_pc(const struct hotspot_layout *layout, uint64_t base,
			      const struct runtime_memory *memory)
{
	uint64_t address = layout->objects[HOTSPOT_THREAD_PC - HOTSPOT_WORDS], word;

	if (!address)
		return 0;
	address += base;
	return runtime_read_words(memory, &address, 1, &word) && word <= FARTHEST ? (uint16_t)word
										  : 0;
}

void hotspot_find_offsets(const struct hotspot_layout *layout, uint64_t base,
			  const struct runtime_memory *memory, struct runtime_found *ret)
{
	struct hotspot_offsets offsets = { 0 };

	if (layout->words[HOTSPOT_VM_RELEASE])
		read_release(layout, base, memory, ret);
	if (layout->form == HOTSPOT_UNNAMED || !read_offsets(layout, base, memory, offsets.of))
		return;
	offsets.version = read_version(layout, base, memory);
	if (!offsets.version)
		return;
	offsets.told = tell(layout, offsets.of, offsets.version);
	offsets.told.saved_pc = find_saved_pc(layout, base, memory);
	if (!add_up(layout, &offsets))
		return;
	offsets.settings = read_settings(layout, base, memory, offsets.of);
	offsets.names_threads = find_objects(layout, base, memory, offsets.objects) &&
				offsets.settings & HOTSPOT_MOVES_IN_PAUSES;
	memcpy(ret->data, &offsets, sizeof(offsets));
	ret->data_bytes = sizeof(offsets);
}

// SPDX-License-Identifier: Apache-2.0
#include "hotspot.h"

#include "unwind/unwind.h"

#include <elf.h>
#include <string.h>

enum {
	MAX_ENTRIES = 2048,        /* of an array; JDK 17 has 788 */
	PART_ENTRIES = 256,        /* of which are looked at together */
	MAX_RELOCATIONS = 1 << 20, /* JDK 25 has 124,000 */
};

/* What the words of 8 bytes are of an entry of gHotSpotVMStructs... */
enum {
	STRUCT_TYPE,   /* address of a name, as are the next two; 0 behind the last entry */
	STRUCT_FIELD,  /* what it is called there */
	STRUCT_VALUE,  /* the type that it has itself */
	STRUCT_STATIC, /* 32 bits: is it one of all? */
	STRUCT_OFFSET, /* 0 in the file: the library writes it */
	STRUCT_ADDRESS,
	STRUCT_WORDS,
};

/* ...and of one of gHotSpotVMTypes. */
enum {
	TYPE_NAME, /* as above */
	TYPE_SIZE = 4,
	TYPE_WORDS,
};

/* What is looked for. Of several for one word the first that is there counts. */
static const struct field {
	const char *type, *name, *value;
	int word; /* enum hotspot_word, or hotspot_object */
	bool is_static;
	uint8_t bytes; /* of those whose size differs between versions */
} fields[] = {
	{ "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", HOTSPOT_HEAPS, true, 0 },
	// JDK 8.
	{ "CodeCache", "_heap", "CodeHeap*", HOTSPOT_HEAPS, true, 8 },
	{ "AbstractInterpreter", "_code", "StubQueue*", HOTSPOT_INTERPRETER, true, 0 },
	{ "GrowableArrayBase", "_len", "int", HOTSPOT_ARRAY_LENGTH, false, 0 },
	// Up to JDK 14.
	{ "GenericGrowableArray", "_len", "int", HOTSPOT_ARRAY_LENGTH, false, 0 },
	{ "GrowableArray<int>", "_data", "int*", HOTSPOT_ARRAY_ITEMS, false, 0 },
	{ "CodeHeap", "_memory", "VirtualSpace", HOTSPOT_HEAP_MEMORY, false, 0 },
	{ "CodeHeap", "_segmap", "VirtualSpace", HOTSPOT_HEAP_SEGMENTS, false, 0 },
	{ "CodeHeap", "_log2_segment_size", "int", HOTSPOT_HEAP_SHIFT, false, 0 },
	{ "VirtualSpace", "_low_boundary", "char*", HOTSPOT_SPACE_LOW, false, 0 },
	{ "VirtualSpace", "_high_boundary", "char*", HOTSPOT_SPACE_HIGH, false, 0 },
	{ "StubQueue", "_stub_buffer", "address", HOTSPOT_STUBS_START, false, 0 },
	{ "StubQueue", "_queue_end", "int", HOTSPOT_STUBS_BYTES, false, 0 },
	{ "CodeBlob", "_name", "const char*", HOTSPOT_BLOB_NAME, false, 0 },
	{ "CodeBlob", "_code_begin", "address", HOTSPOT_BLOB_CODE, false, 8 },
	{ "CodeBlob", "_code_offset", "int", HOTSPOT_BLOB_CODE, false, 4 },
	{ "CodeBlob", "_frame_complete_offset", "int", HOTSPOT_BLOB_COMPLETE, false, 4 },
	{ "CodeBlob", "_frame_complete_offset", "int16_t", HOTSPOT_BLOB_COMPLETE, false, 2 },
	{ "CodeBlob", "_frame_size", "int", HOTSPOT_BLOB_FRAME_WORDS, false, 0 },

	{ "Abstract_VM_Version", "_vm_major_version", "int", HOTSPOT_VM_MAJOR, true, 0 },
	{ "Abstract_VM_Version", "_s_vm_release", "const char*", HOTSPOT_VM_RELEASE, true, 0 },
	{ "JVMFlag", "flags", "JVMFlag*", HOTSPOT_FLAGS, true, 0 },
	{ "JVMFlag", "numFlags", "size_t", HOTSPOT_FLAG_COUNT, true, 0 },
	{ "JVMFlag", "_name", "const char*", HOTSPOT_FLAG_NAME, false, 0 },
	{ "JVMFlag", "_addr", NULL, HOTSPOT_FLAG_VALUE, false, 0 },
	// JDK 8.
	{ "Flag", "flags", "Flag*", HOTSPOT_FLAGS, true, 0 },
	{ "Flag", "numFlags", "size_t", HOTSPOT_FLAG_COUNT, true, 0 },
	{ "Flag", "_name", "const char*", HOTSPOT_FLAG_NAME, false, 0 },
	{ "Flag", "_addr", NULL, HOTSPOT_FLAG_VALUE, false, 0 },
	{ "Method", "_constMethod", "ConstMethod*", HOTSPOT_METHOD_CONST, false, 0 },
	{ "ConstMethod", "_constants", "ConstantPool*", HOTSPOT_CONST_POOL, false, 0 },
	{ "ConstMethod", "_flags", "u2", HOTSPOT_CONST_FLAGS, false, 0 },
	// From JDK 21 on.
	{ "ConstMethod", "_flags._flags", "u4", HOTSPOT_CONST_FLAGS, false, 0 },
	{ "ConstMethod", "_code_size", "u2", HOTSPOT_CONST_CODE_BYTES, false, 0 },
	{ "ConstMethod", "_name_index", "u2", HOTSPOT_CONST_NAME, false, 0 },
	{ "ConstMethod", "_signature_index", "u2", HOTSPOT_CONST_SIGNATURE, false, 0 },
	{ "ConstantPool", "_pool_holder", "InstanceKlass*", HOTSPOT_POOL_HOLDER, false, 0 },
	{ "ConstantPool", "_length", "int", HOTSPOT_POOL_LENGTH, false, 0 },
	{ "ConstantPool", "_source_file_name_index", "u2", HOTSPOT_POOL_SOURCE, false, 0 },
	{ "InstanceKlass", "_source_file_name_index", "u2", HOTSPOT_KLASS_SOURCE, false, 0 },
	{ "Klass", "_name", "Symbol*", HOTSPOT_KLASS_NAME, false, 0 },
	{ "Symbol", "_length", NULL, HOTSPOT_SYMBOL_LENGTH, false, 0 },
	{ "Symbol", "_body", NULL, HOTSPOT_SYMBOL_BODY, false, 0 },
	{ "CodeBlob", "_size", "int", HOTSPOT_BLOB_BYTES, false, 0 },
	{ "CodeBlob", "_data_offset", "int", HOTSPOT_BLOB_DATA, false, 0 },
	{ "CodeBlob", "_mutable_data", "address", HOTSPOT_BLOB_MUTABLE, false, 0 },
	{ "CodeBlob", "_mutable_data_size", "int", HOTSPOT_BLOB_MUTABLE_BYTES, false, 0 },
	{ "CodeBlob", "_relocation_size", "int", HOTSPOT_BLOB_RELOCATIONS, false, 0 },
	{ "nmethod", "_method", "Method*", HOTSPOT_NMETHOD_METHOD, false, 0 },
	{ "CompiledMethod", "_method", "Method*", HOTSPOT_NMETHOD_METHOD, false, 0 },
	{ "nmethod", "_compile_id", "int", HOTSPOT_NMETHOD_ID, false, 0 },
	{ "nmethod", "_orig_pc_offset", "int", HOTSPOT_NMETHOD_ORIGINAL, false, 0 },
	{ "CompiledMethod", "_deopt_handler_begin", "address", HOTSPOT_NMETHOD_DEOPT, false, 8 },
	{ "CompiledMethod", "_deopt_mh_handler_begin", "address", HOTSPOT_NMETHOD_DEOPT_MH, false,
	  8 },
	{ "nmethod", "_deoptimize_offset", "int", HOTSPOT_NMETHOD_DEOPT, false, 4 },
	{ "nmethod", "_deoptimize_mh_offset", "int", HOTSPOT_NMETHOD_DEOPT_MH, false, 4 },
	{ "nmethod", "_deopt_handler_offset", "int", HOTSPOT_NMETHOD_DEOPT, false, 4 },
	{ "nmethod", "_deopt_mh_handler_offset", "int", HOTSPOT_NMETHOD_DEOPT_MH, false, 4 },
	// From JDK 26 on.
	{ "nmethod", "_deopt_handler_entry_offset", "int", HOTSPOT_NMETHOD_DEOPT, false, 4 },
	{ "nmethod", "_scopes_pcs_offset", "int", HOTSPOT_NMETHOD_PCS, false, 0 },
	{ "nmethod", "_dependencies_offset", "int", HOTSPOT_NMETHOD_PCS_LIMIT, false, 0 },
	{ "nmethod", "_scopes_data_offset", "int", HOTSPOT_NMETHOD_SCOPES, false, 4 },
	{ "CompiledMethod", "_scopes_data_begin", "address", HOTSPOT_NMETHOD_SCOPES, false, 8 },
	{ "nmethod", "_metadata_offset", "int", HOTSPOT_NMETHOD_METADATA, false, 4 },
	{ "nmethod", "_metadata_offset", "u2", HOTSPOT_NMETHOD_METADATA, false, 2 },
	{ "nmethod", "_immutable_data", "address", HOTSPOT_NMETHOD_DATA, false, 0 },
	{ "nmethod", "_immutable_data_size", "int", HOTSPOT_NMETHOD_DATA_BYTES, false, 0 },

	{ "ThreadsSMRSupport", "_java_thread_list", "ThreadsList*", HOTSPOT_THREADS, true, 0 },
	{ "ThreadsList", "_length", NULL, HOTSPOT_LIST_LENGTH, false, 0 },
	{ "ThreadsList", "_threads", NULL, HOTSPOT_LIST_ITEMS, false, 0 },
	// Up to JDK 11.
	{ "Threads", "_thread_list", "JavaThread*", HOTSPOT_FIRST_THREAD, true, 0 },
	{ "JavaThread", "_next", "JavaThread*", HOTSPOT_THREAD_NEXT, false, 0 },
	{ "JavaThread", "_osthread", "OSThread*", HOTSPOT_THREAD_SYSTEM, false, 0 },
	{ "Thread", "_osthread", "OSThread*", HOTSPOT_THREAD_SYSTEM, false, 0 },
	{ "JavaThread", "_threadObj", "oop", HOTSPOT_THREAD_OBJECT, false, 0 },
	{ "JavaThread", "_threadObj", "OopHandle", HOTSPOT_THREAD_OBJECT, false, 1 },
	{ "JavaThread", "_saved_exception_pc", "address", HOTSPOT_THREAD_PC, false, 0 },
	{ "OSThread", "_thread_id", NULL, HOTSPOT_SYSTEM_ID, false, 0 },
	{ "Universe", "_collectedHeap", "CollectedHeap*", HOTSPOT_HEAP, true, 0 },
	{ "CollectedHeap", "_is_gc_active", "bool", HOTSPOT_HEAP_ACTIVE, false, 0 },
	// From JDK 21 on.
	{ "CollectedHeap", "_is_stw_gc_active", "bool", HOTSPOT_HEAP_ACTIVE, false, 0 },
	{ "CollectedHeap", "_total_collections", "unsigned int", HOTSPOT_HEAP_COLLECTIONS, false,
	  0 },
	{ "CompressedOops", "_base", "address", HOTSPOT_OOP_BASE, true, 0 },
	{ "CompressedOops", "_shift", "int", HOTSPOT_OOP_SHIFT, true, 0 },
	{ "CompressedKlassPointers", "_base", "address", HOTSPOT_CLASS_BASE, true, 0 },
	{ "CompressedKlassPointers", "_shift", "int", HOTSPOT_CLASS_SHIFT, true, 0 },
	// Up to JDK 21.
	{ "CompressedOops", "_narrow_oop._base", "address", HOTSPOT_OOP_BASE, true, 0 },
	{ "CompressedOops", "_narrow_oop._shift", "int", HOTSPOT_OOP_SHIFT, true, 0 },
	{ "CompressedKlassPointers", "_narrow_klass._base", "address", HOTSPOT_CLASS_BASE, true,
	  0 },
	{ "CompressedKlassPointers", "_narrow_klass._shift", "int", HOTSPOT_CLASS_SHIFT, true, 0 },
	// Up to JDK 11.
	{ "Universe", "_narrow_oop._base", "address", HOTSPOT_OOP_BASE, true, 0 },
	{ "Universe", "_narrow_oop._shift", "int", HOTSPOT_OOP_SHIFT, true, 0 },
	{ "Universe", "_narrow_klass._base", "address", HOTSPOT_CLASS_BASE, true, 0 },
	{ "Universe", "_narrow_klass._shift", "int", HOTSPOT_CLASS_SHIFT, true, 0 },
	{ "Arguments", "_java_command", "char*", HOTSPOT_COMMAND, true, 0 },
	{ "Abstract_VM_Version", "_s_internal_vm_info_string", "const char*", HOTSPOT_VM_INFO, true,
	  0 },
	{ "Klass", "_super", "Klass*", HOTSPOT_KLASS_SUPER, false, 0 },
	{ "InstanceKlass", "_constants", "ConstantPool*", HOTSPOT_KLASS_POOL, false, 0 },
	{ "InstanceKlass", "_fields", "Array<u2>*", HOTSPOT_KLASS_FIELDS, false, 0 },
	// From JDK 21 on.
	{ "InstanceKlass", "_fieldinfo_stream", "Array<u1>*", HOTSPOT_KLASS_FIELDS, false, 1 },
};

/* The types whose size is looked for. */
static const char *const types[] = { "HeapBlock", "ConstMethod", "ConstantPool",
				     "PcDesc",    "JVMFlag",     "Flag" };

enum { HEAP_BLOCK, CONST_METHOD, CONSTANT_POOL, PC_DESC, JVM_FLAG, FLAG, TYPES };

enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

struct search {
	const struct elf_view *view;
	uint64_t found[FIELDS];     /* ELF address of what is in the words; 0: not there */
	uint64_t type_bytes[TYPES]; /* 0: not there */
};

/* ---- words of the file, as the dynamic linker leaves them ---- */

static uint64_t symbol_value(const struct elf_piece *symbols, uint64_t index)
{
	Elf64_Sym symbol;

	if (index >= symbols->length / sizeof(symbol))
		return 0;
	memcpy(&symbol, symbols->bytes + index * sizeof(symbol), sizeof(symbol));
	return symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value;
}

/* Packed relocations (DT_RELR) need nothing: what they add to stands in the file. */
static void words_relocate(const struct elf_view *view, uint64_t address, uint64_t *words,
			   size_t count)
{
	struct elf_piece symbols = elf_view_at(view, elf_view_dynamic(view, DT_SYMTAB));
	struct elf_piece table = elf_view_at(view, elf_view_dynamic(view, DT_RELA));
	uint64_t bytes = elf_view_dynamic(view, DT_RELASZ);
	Elf64_Rela entry;

	if (bytes > table.length)
		bytes = table.length;
	for (size_t i = 0; i < MAX_RELOCATIONS && i < bytes / sizeof(entry); i++) {
		uint64_t distance;

		memcpy(&entry, table.bytes + i * sizeof(entry), sizeof(entry));
		distance = entry.r_offset - address;
		if (distance % sizeof(*words) || distance / sizeof(*words) >= count)
			continue;
		if (ELF64_R_TYPE(entry.r_info) == R_X86_64_RELATIVE)
			words[distance / sizeof(*words)] = (uint64_t)entry.r_addend;
		else if (ELF64_R_TYPE(entry.r_info) == R_X86_64_64)
			words[distance / sizeof(*words)] =
				symbol_value(&symbols, ELF64_R_SYM(entry.r_info)) +
				(uint64_t)entry.r_addend;
	}
}

/* @count words from @address on, or as many as there are before the segment ends. */
static size_t words_read(const struct elf_view *view, uint64_t address, uint64_t *words,
			 size_t count)
{
	struct elf_piece piece = elf_view_at(view, address);

	if (count > piece.length / sizeof(*words))
		count = piece.length / sizeof(*words);
	if (!count)
		return 0;
	memcpy(words, piece.bytes, count * sizeof(*words));
	words_relocate(view, address, words, count);
	return count;
}

/* Is this what the file has at @address? */
static bool is_name(const struct elf_view *view, uint64_t address, const char *name)
{
	struct elf_piece piece = elf_view_at(view, address);
	size_t bytes = strlen(name) + 1;

	return bytes <= piece.length && !memcmp(piece.bytes, name, bytes);
}

/* ---- the arrays ---- */

typedef void (*take_function)(struct search *search, uint64_t address, const uint64_t *entry);

/*
 * Give each entry of the array to which the variable called @pointer points. False when there is
 * none, or no end of it.
 */
static bool array_visit(struct search *search, const char *pointer, size_t entry_words,
			take_function take)
{
	uint64_t variable = elf_view_object(search->view, pointer), address;
	uint64_t words[PART_ENTRIES * STRUCT_WORDS];

	if (!variable || !words_read(search->view, variable, &address, 1))
		return false;
	for (size_t done = 0; done < MAX_ENTRIES; done += PART_ENTRIES) {
		size_t count = words_read(search->view, address, words, PART_ENTRIES * entry_words);

		for (size_t at = 0; at + entry_words <= count; at += entry_words) {
			if (!words[at])
				return true;
			take(search, address + at * sizeof(*words), &words[at]);
		}
		if (count < PART_ENTRIES * entry_words)
			return false;
		address += count * sizeof(*words);
	}
	return false;
}

static bool field_matches(const struct field *field, const struct elf_view *view,
			  const uint64_t *entry)
{
	return is_name(view, entry[STRUCT_TYPE], field->type) &&
	       is_name(view, entry[STRUCT_FIELD], field->name) &&
	       (!field->value || is_name(view, entry[STRUCT_VALUE], field->value)) &&
	       (uint32_t)entry[STRUCT_STATIC] == field->is_static;
}

static void take_struct(struct search *search, uint64_t address, const uint64_t *entry)
{
	for (size_t i = 0; i < FIELDS; i++)
		if (!search->found[i] && field_matches(&fields[i], search->view, entry))
			search->found[i] = fields[i].is_static
						   ? entry[STRUCT_ADDRESS]
						   : address + STRUCT_OFFSET * sizeof(*entry);
}

static void take_type(struct search *search, uint64_t address, const uint64_t *entry)
{
	(void)address;
	for (size_t i = 0; i < TYPES; i++)
		if (!search->type_bytes[i] && is_name(search->view, entry[TYPE_NAME], types[i]))
			search->type_bytes[i] = entry[TYPE_SIZE];
}

/* ---- all of it ---- */

/* What the size of the field behind @word says, where versions differ. */
static void note_bytes(struct hotspot_layout *hotspot, int word, uint8_t bytes)
{
	switch (word) {
	case HOTSPOT_THREAD_OBJECT:
		hotspot->object_handle = bytes;
		break;
	case HOTSPOT_KLASS_FIELDS:
		hotspot->fields_packed = bytes;
		break;
	case HOTSPOT_BLOB_CODE:
		hotspot->code_bytes = bytes;
		break;
	case HOTSPOT_BLOB_COMPLETE:
		hotspot->complete_bytes = bytes;
		break;
	case HOTSPOT_HEAPS:
		hotspot->heap_bytes = bytes;
		break;
	case HOTSPOT_NMETHOD_DEOPT:
		hotspot->deopt_bytes = bytes;
		break;
	case HOTSPOT_NMETHOD_METADATA:
		hotspot->metadata_bytes = bytes;
		break;
	default:
		break;
	}
}

static bool has_words(const struct hotspot_layout *hotspot, const enum hotspot_word *words,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!hotspot->words[words[i]])
			return false;
	return true;
}

#define HAS_WORDS(hotspot, ...)                                                                    \
	has_words(hotspot, (const enum hotspot_word[]){ __VA_ARGS__ },                             \
		  sizeof((const enum hotspot_word[]){ __VA_ARGS__ }) / sizeof(enum hotspot_word))

/* The form of nmethods that the words that are there make; of names all of one or none. */
static enum hotspot_form form_of(const struct hotspot_layout *hotspot)
{
	if (!HAS_WORDS(hotspot, HOTSPOT_VM_MAJOR, HOTSPOT_VM_RELEASE, HOTSPOT_METHOD_CONST,
		       HOTSPOT_CONST_POOL, HOTSPOT_CONST_FLAGS, HOTSPOT_CONST_CODE_BYTES,
		       HOTSPOT_CONST_NAME, HOTSPOT_CONST_SIGNATURE, HOTSPOT_POOL_HOLDER,
		       HOTSPOT_POOL_LENGTH, HOTSPOT_KLASS_NAME, HOTSPOT_SYMBOL_LENGTH,
		       HOTSPOT_SYMBOL_BODY, HOTSPOT_BLOB_BYTES, HOTSPOT_NMETHOD_METHOD,
		       HOTSPOT_NMETHOD_ID, HOTSPOT_NMETHOD_ORIGINAL, HOTSPOT_NMETHOD_DEOPT,
		       HOTSPOT_NMETHOD_PCS, HOTSPOT_NMETHOD_SCOPES) ||
	    !(hotspot->words[HOTSPOT_POOL_SOURCE] || hotspot->words[HOTSPOT_KLASS_SOURCE]))
		return HOTSPOT_UNNAMED;
	if (HAS_WORDS(hotspot, HOTSPOT_NMETHOD_DATA, HOTSPOT_NMETHOD_DATA_BYTES)) {
		if (HAS_WORDS(hotspot, HOTSPOT_BLOB_MUTABLE, HOTSPOT_BLOB_MUTABLE_BYTES,
			      HOTSPOT_BLOB_RELOCATIONS))
			return HOTSPOT_MUTABLE;
		return HAS_WORDS(hotspot, HOTSPOT_NMETHOD_METADATA, HOTSPOT_BLOB_DATA) &&
				       hotspot->metadata_bytes == sizeof(uint16_t)
			       ? HOTSPOT_SPLIT
			       : HOTSPOT_UNNAMED;
	}
	if (!HAS_WORDS(hotspot, HOTSPOT_NMETHOD_METADATA, HOTSPOT_NMETHOD_PCS_LIMIT) ||
	    hotspot->metadata_bytes != sizeof(uint32_t))
		return HOTSPOT_UNNAMED;
	return hotspot->heap_bytes ? HOTSPOT_OFFSETS_8 : HOTSPOT_POINTED;
}

/* Of what only names need. */
static bool names_check(const struct hotspot_layout *hotspot)
{
	if (hotspot->form == HOTSPOT_UNNAMED)
		return true;
	return hotspot->form == form_of(hotspot) &&
	       (hotspot->deopt_bytes == 4 || hotspot->deopt_bytes == 8) && hotspot->const_bytes &&
	       hotspot->pool_bytes && hotspot->place_bytes == 4 * sizeof(uint32_t);
}

static struct hotspot_layout search_result(const struct search *search)
{
	struct hotspot_layout hotspot = { 0 };
	const uint64_t *bytes = search->type_bytes;

	for (size_t i = FIELDS; i--;) {
		int word = fields[i].word;

		if (!search->found[i])
			continue;
		if (word < HOTSPOT_WORDS)
			hotspot.words[word] = search->found[i];
		else if (search->found[i] <= UINT32_MAX)
			hotspot.objects[word - HOTSPOT_WORDS] = (uint32_t)search->found[i];
		note_bytes(&hotspot, word, fields[i].bytes);
	}
	if (bytes[HEAP_BLOCK] <= UINT32_MAX)
		hotspot.block_bytes = (uint32_t)bytes[HEAP_BLOCK];
	hotspot.form = (uint8_t)form_of(&hotspot);
	if (bytes[CONST_METHOD] > UINT16_MAX || bytes[CONSTANT_POOL] > UINT16_MAX ||
	    bytes[PC_DESC] > UINT16_MAX)
		hotspot.form = HOTSPOT_UNNAMED;
	hotspot.const_bytes = (uint16_t)bytes[CONST_METHOD];
	hotspot.pool_bytes = (uint16_t)bytes[CONSTANT_POOL];
	hotspot.place_bytes = (uint16_t)bytes[PC_DESC];
	if (bytes[JVM_FLAG] + bytes[FLAG] <= UINT16_MAX)
		hotspot.flag_bytes = (uint16_t)(bytes[JVM_FLAG] + bytes[FLAG]);
	if (!names_check(&hotspot))
		hotspot.form = HOTSPOT_UNNAMED;
	return hotspot;
}

bool hotspot_read(const struct runtime_file *file, void *layout_ret)
{
	const struct elf_view *view = file->view;
	const char *name = view->machine == EM_X86_64 ? elf_view_soname(view) : NULL;
	struct search search = { .view = view };
	struct hotspot_layout hotspot;

	// Any other file costs no more than this.
	if (!name || strcmp(name, "libjvm.so") != 0 ||
	    !array_visit(&search, "gHotSpotVMStructs", STRUCT_WORDS, take_struct) ||
	    !array_visit(&search, "gHotSpotVMTypes", TYPE_WORDS, take_type))
		return false;
	hotspot = search_result(&search);
	if (!hotspot_check(&hotspot))
		return false;
	memcpy(layout_ret, &hotspot, sizeof(hotspot));
	return true;
}

bool hotspot_check(const void *layout)
{
	const struct hotspot_layout *hotspot = layout;

	for (size_t i = 0; i < HOTSPOT_WORDS; i++) {
		uint64_t word = hotspot->words[i];
		bool is_walks = i < HOTSPOT_WALK_WORDS;

		if ((!word && is_walks) || word % (is_walks ? 8 : 4) || word >= 1ull << 47)
			return false;
	}
	for (size_t i = 0; i < HOTSPOT_OBJECTS; i++)
		if (hotspot->objects[i] % 4)
			return false;
	return hotspot->object_handle <= 1 && hotspot->fields_packed <= 1 &&
	       (hotspot->block_bytes == 8 || hotspot->block_bytes == 16) &&
	       (hotspot->code_bytes == 4 || hotspot->code_bytes == 8) &&
	       (hotspot->complete_bytes == 2 || hotspot->complete_bytes == 4) &&
	       (hotspot->heap_bytes == 0 || hotspot->heap_bytes == 8) && names_check(hotspot);
}

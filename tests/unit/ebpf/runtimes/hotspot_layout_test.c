// SPDX-License-Identifier: Apache-2.0
/*
 * What libjvm.so says of its code cache: of the JDKs that this machine has, and of small files made
 * like it, which lie in one way each.
 */
#include "elf_files.h"

#include "receiver/ebpf/runtimes/hotspot/hotspot.h"
#include "receiver/ebpf/worker/answer.h"
#include "tests/unit/ebpf/unwind/made_elf.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- made files ---- */

enum {
	NAMES = 0x1000, /* addresses of sections, each of which is a segment */
	SYMBOLS = 0x2000,
	STRINGS = 0x3000,
	DYNAMIC = 0x4000,
	RELOCATIONS = 0x10000,
	DATA = 0x20000,
	TYPES_AT = 0x20, /* in the data, which begins with both pointers */
	STRUCTS_AT = 0x100,
	ENTRY_BYTES = 48,
	MAX_FIELDS = 64,
	MAX_FILLERS = 300,
	HEAPS = 0x123450, /* where the variables are, outside of the file's bytes */
	INTERPRETER = 0x123458,
};

struct made_field {
	const char *type, *name, *value;
	uint64_t address; /* of a static one */
};

/* How pointers get their values. */
enum made_pointers { BY_RELOCATION, BY_FILE, BY_SYMBOL };

struct made_jvm {
	uint16_t machine;
	const char *soname, *structs, *types; /* what is called so; NULL: nothing */
	unsigned int symbol_type;
	struct made_field fields[MAX_FIELDS];
	size_t count;
	size_t fillers; /* other entries, before those */
	bool not_static[MAX_FIELDS];
	const char *block; /* name of the type HeapBlock */
	uint64_t block_bytes;
	enum made_pointers pointers;
	uint32_t symbol; /* number of that which is where the data begin */
	uint64_t shift;  /* of the array of fields */
	size_t cut, strings_cut;
	bool without_sections;
};

/* The place of each is its enum hotspot_word. */
static const struct made_jvm newest = {
	.machine = EM_X86_64,
	.soname = "libjvm.so",
	.structs = "gHotSpotVMStructs",
	.types = "gHotSpotVMTypes",
	.symbol_type = STT_OBJECT,
	.fields = {
		{ "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", HEAPS },
		{ "AbstractInterpreter", "_code", "StubQueue*", INTERPRETER },
		{ "GrowableArrayBase", "_len", "int", 0 },
		{ "GrowableArray<int>", "_data", "int*", 0 },
		{ "CodeHeap", "_memory", "VirtualSpace", 0 },
		{ "CodeHeap", "_segmap", "VirtualSpace", 0 },
		{ "CodeHeap", "_log2_segment_size", "int", 0 },
		{ "VirtualSpace", "_low_boundary", "char*", 0 },
		{ "VirtualSpace", "_high_boundary", "char*", 0 },
		{ "StubQueue", "_stub_buffer", "address", 0 },
		{ "StubQueue", "_queue_end", "int", 0 },
		{ "CodeBlob", "_name", "const char*", 0 },
		{ "CodeBlob", "_code_offset", "int", 0 },
		{ "CodeBlob", "_frame_complete_offset", "int16_t", 0 },
		{ "CodeBlob", "_frame_size", "int", 0 },
	},
	.count = HOTSPOT_WALK_WORDS,
	.block = "HeapBlock",
	.block_bytes = 8,
	.symbol = 3,
};

/* The parts of the file that is being made. */
struct making {
	const struct made_jvm *jvm;
	char strings[8192];
	size_t strings_bytes;
	Elf64_Rela relocations[3 * (MAX_FILLERS + MAX_FIELDS) + 8];
	size_t relocation_count;
	uint8_t data[STRUCTS_AT + (MAX_FILLERS + MAX_FIELDS + 1) * ENTRY_BYTES + 8];
};

static struct made_elf elf;

/* Types whose sizes names need. */
static const struct {
	const char *name;
	uint64_t bytes;
} named_types[] = { { "ConstMethod", 48 }, { "ConstantPool", 72 }, { "PcDesc", 16 } };

static uint64_t add_string(struct making *making, const char *text)
{
	uint64_t address = STRINGS + making->strings_bytes;

	assert_true(making->strings_bytes + strlen(text) < sizeof(making->strings));
	memcpy(making->strings + making->strings_bytes, text, strlen(text) + 1);
	making->strings_bytes += strlen(text) + 1;
	return address;
}

static void put(struct making *making, uint64_t at, uint64_t value)
{
	assert_true(at + sizeof(value) <= sizeof(making->data));
	memcpy(making->data + at, &value, sizeof(value));
}

static void put_pointer(struct making *making, uint64_t at, uint64_t value)
{
	size_t left = sizeof(making->relocations) / sizeof(Elf64_Rela) - making->relocation_count;

	if (making->jvm->pointers == BY_FILE) {
		put(making, at, value);
		return;
	}
	// From the end on: linkers may, but need not, put them in order.
	assert_true(left);
	making->relocation_count++;
	making->relocations[left - 1] = (Elf64_Rela){
		.r_offset = DATA + at,
		.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
		.r_addend = (int64_t)value,
	};
	if (making->jvm->pointers == BY_SYMBOL) {
		making->relocations[left - 1].r_info =
			ELF64_R_INFO((uint64_t)making->jvm->symbol, R_X86_64_64);
		making->relocations[left - 1].r_addend -= DATA;
	}
}

static void put_fields(struct making *making, const struct made_jvm *jvm)
{
	uint64_t at = STRUCTS_AT + jvm->shift, other = add_string(making, "Klass");

	for (size_t i = 0; i < jvm->fillers; i++, at += ENTRY_BYTES) {
		put_pointer(making, at, other);
		put_pointer(making, at + 8, other);
		put_pointer(making, at + 16, other);
	}
	for (size_t i = 0; i < jvm->count; i++, at += ENTRY_BYTES) {
		const struct made_field *field = &jvm->fields[i];

		put_pointer(making, at, add_string(making, field->type));
		put_pointer(making, at + 8, add_string(making, field->name));
		put_pointer(making, at + 16, add_string(making, field->value));
		put(making, at + 24, field->address && !jvm->not_static[i]);
		if (field->address)
			put_pointer(making, at + 40, field->address);
	}
}

static size_t data_bytes(const struct made_jvm *jvm)
{
	return STRUCTS_AT + jvm->shift + (jvm->fillers + jvm->count + 1) * ENTRY_BYTES - jvm->cut;
}

static void put_data(struct making *making, const struct made_jvm *jvm)
{
	put_pointer(making, 0, DATA + STRUCTS_AT + jvm->shift);
	put_pointer(making, 8, DATA + TYPES_AT);
	put_pointer(making, TYPES_AT, add_string(making, "Klass"));
	put(making, TYPES_AT + 32, 200);
	put_pointer(making, TYPES_AT + 40, add_string(making, jvm->block));
	put(making, TYPES_AT + 40 + 32, jvm->block_bytes);
	for (size_t i = 0; i < sizeof(named_types) / sizeof(named_types[0]); i++) {
		uint64_t at = TYPES_AT + (2 + i) * 40;

		put_pointer(making, at, add_string(making, named_types[i].name));
		put(making, at + 32, named_types[i].bytes);
	}
	put_fields(making, jvm);
}

static void add_symbols(const struct made_jvm *jvm)
{
	Elf64_Sym symbols[4] = { 0 };
	const char *const called[4] = { jvm->soname, jvm->structs, jvm->types, "base" };
	char names[256] = "";
	size_t bytes = 1;
	Elf64_Dyn dynamic[6] = {
		{ DT_STRTAB, { NAMES } },
		{ DT_SYMTAB, { SYMBOLS } },
		{ DT_RELA, { RELOCATIONS } },
		{ DT_RELASZ, { elf.sections[elf.count - 1].length } },
		{ jvm->soname ? DT_SONAME : DT_DEBUG, { 1 } },
	};

	for (size_t i = 0; i < 4; i++) {
		const char *name = called[i] ? called[i] : "nothing";

		if (i)
			symbols[i] = (Elf64_Sym){
				.st_name = (Elf64_Word)bytes,
				.st_info = ELF64_ST_INFO(STB_GLOBAL, jvm->symbol_type),
				.st_shndx = 1,
				.st_value = i == 3 ? DATA : DATA + (i - 1) * 8,
			};
		memcpy(names + bytes, name, strlen(name) + 1);
		bytes += strlen(name) + 1;
	}
	made_elf_add(&elf, ".dynstr", NAMES, names, bytes, 0);
	made_elf_add(&elf, ".dynsym", SYMBOLS, symbols, sizeof(symbols), 0);
	made_elf_add_typed(&elf, ".dynamic", DYNAMIC, dynamic, sizeof(dynamic), SHF_WRITE,
			   PT_DYNAMIC);
}

static void make(const struct made_jvm *jvm)
{
	static struct making making;
	const Elf64_Rela *end = making.relocations + sizeof(making.relocations) / sizeof(*end);

	memset(&making, 0, sizeof(making));
	making.jvm = jvm;
	put_data(&making, jvm);
	made_elf_begin(&elf, jvm->machine);
	made_elf_add(&elf, ".text", 0x30000, "code", 4, SHF_EXECINSTR);
	made_elf_add(&elf, ".data", DATA, making.data, data_bytes(jvm), SHF_WRITE);
	made_elf_add(&elf, ".rodata", STRINGS, making.strings,
		     making.strings_bytes - jvm->strings_cut, 0);
	made_elf_add(&elf, ".rela.dyn", RELOCATIONS, end - making.relocation_count,
		     making.relocation_count * sizeof(*end), 0);
	add_symbols(jvm);
	made_elf_finish(&elf, !jvm->without_sections);
}

/* Read from memory that ends where the file ends. */
static bool read_made(const struct made_jvm *jvm, struct hotspot_layout *ret)
{
	struct elf_file file;
	struct elf_view view;
	bool found;

	make(jvm);
	elf_file_init(&file, elf.bytes, elf.size);
	assert_true(elf_view_init(&view, file.bytes, file.size));
	found = hotspot_read(&(struct runtime_file){ .view = &view }, ret);
	elf_file_deinit(&file);
	return found;
}

static bool is_found(const struct made_jvm *jvm)
{
	struct hotspot_layout hotspot;

	return read_made(jvm, &hotspot);
}

/* Where the offset is of the field at that place of the array. */
static uint64_t offset_of(const struct made_jvm *jvm, size_t index)
{
	return DATA + STRUCTS_AT + (jvm->fillers + index) * ENTRY_BYTES + 32;
}

static void expect_newest(const struct made_jvm *jvm)
{
	struct hotspot_layout hotspot;

	assert_true(read_made(jvm, &hotspot));
	assert_int_equal(hotspot.words[HOTSPOT_HEAPS], HEAPS);
	assert_int_equal(hotspot.words[HOTSPOT_INTERPRETER], INTERPRETER);
	for (size_t i = HOTSPOT_INTERPRETER + 1; i < HOTSPOT_WALK_WORDS; i++)
		assert_int_equal(hotspot.words[i], offset_of(jvm, i));
	assert_int_equal(hotspot.block_bytes, 8);
	assert_int_equal(hotspot.code_bytes, 4);
	assert_int_equal(hotspot.complete_bytes, 2);
}

static void test_words_are_found_however_pointers_are_told(void **state)
{
	struct made_jvm jvm = newest;

	(void)state;
	expect_newest(&jvm);
	jvm.pointers = BY_FILE;
	expect_newest(&jvm);
	jvm.pointers = BY_SYMBOL;
	expect_newest(&jvm);
}

static void test_words_are_found_in_a_long_array(void **state)
{
	struct made_jvm jvm = newest;

	(void)state;
	// Some of them before, some behind a part of it.
	for (jvm.fillers = 235; jvm.fillers < 260; jvm.fillers += 6)
		expect_newest(&jvm);
	jvm.fillers = MAX_FILLERS;
	expect_newest(&jvm);
}

static void test_older_versions_call_things_otherwise(void **state)
{
	struct made_jvm jvm = newest;
	struct hotspot_layout hotspot;

	(void)state;
	jvm.fields[HOTSPOT_ARRAY_LENGTH].type = "GenericGrowableArray";
	jvm.fields[HOTSPOT_BLOB_COMPLETE].value = "int";
	jvm.block_bytes = 16;
	assert_true(read_made(&jvm, &hotspot));
	assert_int_equal(hotspot.words[HOTSPOT_ARRAY_LENGTH],
			 offset_of(&jvm, HOTSPOT_ARRAY_LENGTH));
	assert_int_equal(hotspot.complete_bytes, 4);
	assert_int_equal(hotspot.block_bytes, 16);
	// Of both, the address.
	jvm.fields[jvm.count] = (struct made_field){ "CodeBlob", "_code_begin", "address", 0 };
	jvm.count++;
	assert_true(read_made(&jvm, &hotspot));
	assert_int_equal(hotspot.words[HOTSPOT_BLOB_CODE], offset_of(&jvm, jvm.count - 1));
	assert_int_equal(hotspot.code_bytes, 8);
}

/* A program that is the newest but for @change is not HotSpot's, as far as can be told. */
#define NOT_FOUND(change)                                                                          \
	do {                                                                                       \
		struct made_jvm jvm = newest;                                                      \
                                                                                                   \
		change;                                                                            \
		if (is_found(&jvm))                                                                \
			fail_msg("found: %s", #change);                                            \
	} while (0)

static void test_all_fields_are_needed(void **state)
{
	(void)state;
	for (size_t i = 0; i < newest.count; i++) {
		NOT_FOUND(jvm.fields[i] = jvm.fields[--jvm.count]);
		NOT_FOUND(jvm.fields[i].name = "_another");
		NOT_FOUND(jvm.fields[i].type = "Another");
		NOT_FOUND(jvm.fields[i].value = "bool");
	}
}

static void test_variables_are_where_variables_can_be(void **state)
{
	static const uint64_t wrong[] = { HEAPS + 4, 1ull << 47, UINT64_MAX - 7 };

	(void)state;
	for (size_t i = 0; i <= HOTSPOT_INTERPRETER; i++) {
		for (size_t j = 0; j < sizeof(wrong) / sizeof(wrong[0]); j++)
			NOT_FOUND(jvm.fields[i].address = wrong[j]);
		NOT_FOUND(jvm.fields[i].address = 0);
		NOT_FOUND(jvm.not_static[i] = true);
	}
}

static void test_blocks_have_a_size_that_is_known(void **state)
{
	static const uint64_t wrong[] = { 0, 12, 24, 1ull << 32 | 16 };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		NOT_FOUND(jvm.block_bytes = wrong[i]);
	NOT_FOUND(jvm.block = "HeapBlock::Header");
}

static void test_other_files_are_not_looked_at(void **state)
{
	static const char *const others[] = { NULL, "libjvm.so.1", "libjvm", "libc.so.6" };

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		NOT_FOUND(jvm.soname = others[i]);
	NOT_FOUND(jvm.machine = EM_AARCH64);
	NOT_FOUND(jvm.structs = NULL);
	NOT_FOUND(jvm.types = NULL);
	NOT_FOUND(jvm.symbol_type = STT_FUNC);
	NOT_FOUND(jvm.without_sections = true);
}

static void test_names_end_inside_their_segment(void **state)
{
	(void)state;
	// The last of them is the type of the last field.
	NOT_FOUND(jvm.strings_cut = 1);
	NOT_FOUND(jvm.strings_cut = 4);
}

static void test_arrays_end_inside_their_segment(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < data_bytes(&newest); cut += 13)
		NOT_FOUND(jvm.cut = cut);
	NOT_FOUND(jvm.shift = 4);
}

static void test_symbols_may_be_missing(void **state)
{
	static const uint32_t missing[] = { 0, 4, 1 << 20, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		NOT_FOUND((jvm.pointers = BY_SYMBOL, jvm.symbol = missing[i]));
}

/* Whatever comes of noise passes the check. */
static void test_noise_does_no_harm(void **state)
{
	struct elf_file file;
	unsigned int found = 0;

	(void)state;
	make(&newest);
	elf_file_init(&file, elf.bytes, elf.size);
	srandom(7);
	for (unsigned int round = 0; round < 20000; round++) {
		struct hotspot_layout hotspot;
		struct elf_view view;

		memcpy(file.bytes, elf.bytes, elf.size);
		for (long flips = 1 + random() % 8; flips; flips--)
			file.bytes[(size_t)random() % file.size] ^= (uint8_t)(1 << random() % 8);
		if (!elf_view_init(&view, file.bytes, file.size) ||
		    !hotspot_read(&(struct runtime_file){ .view = &view }, &hotspot))
			continue;
		found++;
		assert_true(hotspot_check(&hotspot));
	}
	// Not all of the file is about that.
	assert_in_range(found, 100, 19000);
	elf_file_deinit(&file);
}

/* ---- what only names need ---- */

/* What all of them have... */
static const struct made_field names_of_all[] = {
	{ "Abstract_VM_Version", "_vm_major_version", "int", HEAPS + 0x104 },
	{ "Abstract_VM_Version", "_s_vm_release", "const char*", HEAPS + 0x110 },
	{ "Method", "_constMethod", "ConstMethod*", 0 },
	{ "ConstMethod", "_constants", "ConstantPool*", 0 },
	{ "ConstMethod", "_code_size", "u2", 0 },
	{ "ConstMethod", "_name_index", "u2", 0 },
	{ "ConstMethod", "_signature_index", "u2", 0 },
	{ "ConstantPool", "_pool_holder", "InstanceKlass*", 0 },
	{ "ConstantPool", "_length", "int", 0 },
	{ "Klass", "_name", "Symbol*", 0 },
	{ "Symbol", "_length", "u2", 0 },
	{ "Symbol", "_body", "unsigned short", 0 },
	{ "CodeBlob", "_size", "int", 0 },
	{ "nmethod", "_compile_id", "int", 0 },
	{ "nmethod", "_orig_pc_offset", "int", 0 },
	{ "nmethod", "_scopes_pcs_offset", "int", 0 },
};

enum { NAMES_OF_ALL = sizeof(names_of_all) / sizeof(names_of_all[0]), NAMES_OF_FORM = 9 };

/* ...and by version. */
static const struct names {
	enum hotspot_form form;
	uint8_t deopt_bytes;
	struct made_field fields[NAMES_OF_FORM];
} names_of_versions[] = {
	{
		HOTSPOT_OFFSETS_8,
		4,
		{
			{ "ConstMethod", "_flags", "u2", 0 },
			{ "InstanceKlass", "_source_file_name_index", "u2", 0 },
			{ "nmethod", "_method", "Method*", 0 },
			{ "nmethod", "_deoptimize_offset", "int", 0 },
			{ "nmethod", "_dependencies_offset", "int", 0 },
			{ "nmethod", "_scopes_data_offset", "int", 0 },
			{ "nmethod", "_metadata_offset", "int", 0 },
		},
	},
	{
		HOTSPOT_POINTED,
		8,
		{
			{ "ConstMethod", "_flags", "u2", 0 },
			{ "ConstantPool", "_source_file_name_index", "u2", 0 },
			{ "CompiledMethod", "_method", "Method*", 0 },
			{ "CompiledMethod", "_deopt_handler_begin", "address", 0 },
			{ "nmethod", "_dependencies_offset", "int", 0 },
			{ "CompiledMethod", "_scopes_data_begin", "address", 0 },
			{ "nmethod", "_metadata_offset", "int", 0 },
		},
	},
	{
		HOTSPOT_SPLIT,
		4,
		{
			{ "ConstMethod", "_flags._flags", "u4", 0 },
			{ "ConstantPool", "_source_file_name_index", "u2", 0 },
			{ "nmethod", "_method", "Method*", 0 },
			{ "nmethod", "_deopt_handler_offset", "int", 0 },
			{ "nmethod", "_scopes_data_offset", "int", 0 },
			{ "nmethod", "_metadata_offset", "u2", 0 },
			{ "nmethod", "_immutable_data", "address", 0 },
			{ "nmethod", "_immutable_data_size", "int", 0 },
			{ "CodeBlob", "_data_offset", "int", 0 },
		},
	},
	{
		HOTSPOT_MUTABLE,
		4,
		{
			{ "ConstMethod", "_flags._flags", "u4", 0 },
			{ "ConstantPool", "_source_file_name_index", "u2", 0 },
			{ "nmethod", "_method", "Method*", 0 },
			{ "nmethod", "_deopt_handler_entry_offset", "int", 0 },
			{ "nmethod", "_scopes_data_offset", "int", 0 },
			{ "nmethod", "_immutable_data", "address", 0 },
			{ "nmethod", "_immutable_data_size", "int", 0 },
			{ "CodeBlob", "_mutable_data", "address", 0 },
			{ "CodeBlob", "_relocation_size", "int", 0 },
		},
	},
};

enum { VERSIONS = sizeof(names_of_versions) / sizeof(names_of_versions[0]) };

static void add_field(struct made_jvm *jvm, const struct made_field *field)
{
	assert_true(jvm->count < MAX_FIELDS);
	jvm->fields[jvm->count++] = *field;
}

/* Returns the number of the first of the fields that names need. */
static size_t add_names(struct made_jvm *jvm, const struct names *names)
{
	static const struct made_field mutable_bytes = { "CodeBlob", "_mutable_data_size", "int",
							 0 };
	size_t first = jvm->count;

	if (names->form == HOTSPOT_OFFSETS_8)
		jvm->fields[HOTSPOT_HEAPS] =
			(struct made_field){ "CodeCache", "_heap", "CodeHeap*", HEAPS };
	for (size_t i = 0; i < NAMES_OF_ALL; i++)
		add_field(jvm, &names_of_all[i]);
	for (size_t i = 0; i < NAMES_OF_FORM && names->fields[i].type; i++)
		add_field(jvm, &names->fields[i]);
	if (names->form == HOTSPOT_MUTABLE)
		add_field(jvm, &mutable_bytes);
	return first;
}

static void test_names_are_of_a_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < VERSIONS; i++) {
		struct made_jvm jvm = newest;
		struct hotspot_layout hotspot;

		add_names(&jvm, &names_of_versions[i]);
		assert_true(read_made(&jvm, &hotspot));
		assert_int_equal(hotspot.form, names_of_versions[i].form);
		assert_int_equal(hotspot.deopt_bytes, names_of_versions[i].deopt_bytes);
		assert_int_equal(hotspot.const_bytes, 48);
		assert_int_equal(hotspot.pool_bytes, 72);
		assert_int_equal(hotspot.words[HOTSPOT_VM_MAJOR], HEAPS + 0x104);
		assert_int_equal(hotspot.heap_bytes, hotspot.form == HOTSPOT_OFFSETS_8 ? 8 : 0);
		assert_true(hotspot_check(&hotspot));
	}
}

/* It is walked all the same. */
static void test_without_a_field_there_are_no_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < VERSIONS; i++) {
		struct made_jvm whole = newest;
		size_t first = add_names(&whole, &names_of_versions[i]);

		for (size_t at = first; at < whole.count; at++) {
			struct made_jvm jvm = whole;
			struct hotspot_layout hotspot;

			jvm.fields[at].name = "_another";
			assert_true(read_made(&jvm, &hotspot));
			if (hotspot.form != HOTSPOT_UNNAMED)
				fail_msg("named without %s", whole.fields[at].name);
			assert_true(hotspot_check(&hotspot));
		}
	}
}

/* ---- the JDKs of this machine ---- */

struct jdk {
	struct elf_file file;
	struct elf_view view;
};

static void jdk_open(struct jdk *jdk, const char *path)
{
	if (access(path, R_OK))
		skip(); // it is not installed
	elf_file_read(&jdk->file, path);
	assert_true(elf_view_init(&jdk->view, jdk->file.bytes, jdk->file.size));
}

/* What the name is to which the word at @address points, by the section of relocations. */
static const char *name_at(const struct jdk *jdk, uint64_t address)
{
	struct elf_piece section = elf_view_section(&jdk->view, ".rela.dyn");

	for (size_t at = 0; at + sizeof(Elf64_Rela) <= section.length; at += sizeof(Elf64_Rela)) {
		Elf64_Rela entry;

		memcpy(&entry, section.bytes + at, sizeof(entry));
		if (entry.r_offset == address)
			return (const char *)elf_view_at(&jdk->view, (uint64_t)entry.r_addend)
				.bytes;
	}
	fail_msg("nothing at 0x%llx", (unsigned long long)address);
	return NULL;
}

/* The words are the offsets of these fields; symbols tell where the variables are. */
static void expect_words(const struct jdk *jdk, const struct hotspot_layout *hotspot,
			 const struct made_jvm *expected)
{
	assert_int_equal(hotspot->words[HOTSPOT_HEAPS],
			 elf_view_object(&jdk->view, "_ZN9CodeCache6_heapsE"));
	assert_int_equal(hotspot->words[HOTSPOT_INTERPRETER],
			 elf_view_object(&jdk->view, "_ZN19AbstractInterpreter5_codeE"));
	for (size_t i = HOTSPOT_INTERPRETER + 1; i < HOTSPOT_WALK_WORDS; i++) {
		uint64_t entry = hotspot->words[i] - 32;

		assert_string_equal(name_at(jdk, entry), expected->fields[i].type);
		assert_string_equal(name_at(jdk, entry + 8), expected->fields[i].name);
		assert_string_equal(name_at(jdk, entry + 16), expected->fields[i].value);
	}
}

/* All that names of threads need, of this kind. */
static void expect_objects(const struct hotspot_layout *hotspot, bool fields_packed)
{
	for (int i = HOTSPOT_WORDS; i < HOTSPOT_ALL_WORDS; i++)
		// Up to JDK 11.
		assert_int_equal(!hotspot->objects[i - HOTSPOT_WORDS],
				 i == HOTSPOT_FIRST_THREAD || i == HOTSPOT_THREAD_NEXT);
	assert_int_equal(hotspot->object_handle, 1);
	assert_int_equal(hotspot->fields_packed, fields_packed);
}

/* As the profiler gets it. */
static void expect_answer(const struct jdk *jdk, const struct hotspot_layout *expected)
{
	struct worker_page pages[WORKER_MAX_PAGES];
	CLEANUP_FREE void *body = NULL;
	struct worker_answer answer;
	struct image image;
	uint64_t first;
	size_t bytes;

	image_init(&image, jdk->file.bytes, jdk->file.size);
	assert_int_equal(image_read_source(&image), 0);
	first = image.text.first;
	for (size_t count = 0; count < 2; count++) {
		assert_int_equal(answer_write_pages(&image, &first, count, &body, &bytes), 0);
		assert_true(answer_read_pages(body, bytes, &first, count, pages, &answer));
		assert_int_equal(answer.page_count, count);
		assert_int_equal(answer.runtime_count, 1);
		assert_int_equal(answer.runtimes[0].runtime->number, RUNTIME_HOTSPOT);
		assert_memory_equal(answer.runtimes[0].layout, expected, sizeof(*expected));
		free(TAKE(body));
	}
	image_deinit(&image);
}

static void test_jdk_17(void **state)
{
	struct made_jvm expected = newest;
	struct hotspot_layout hotspot;
	struct jdk jdk;

	(void)state;
	jdk_open(&jdk, "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so");
	expected.fields[HOTSPOT_BLOB_CODE].name = "_code_begin";
	expected.fields[HOTSPOT_BLOB_CODE].value = "address";
	expected.fields[HOTSPOT_BLOB_COMPLETE].value = "int";
	assert_true(hotspot_read(&(struct runtime_file){ .view = &jdk.view }, &hotspot));
	expect_words(&jdk, &hotspot, &expected);
	assert_int_equal(hotspot.block_bytes, 16);
	assert_int_equal(hotspot.code_bytes, 8);
	assert_int_equal(hotspot.complete_bytes, 4);
	assert_int_equal(hotspot.form, HOTSPOT_POINTED);
	assert_int_equal(hotspot.deopt_bytes, 8);
	expect_objects(&hotspot, false);
	expect_answer(&jdk, &hotspot);
	elf_file_deinit(&jdk.file);
}

static void test_jdk_25(void **state)
{
	struct hotspot_layout hotspot;
	struct jdk jdk;

	(void)state;
	jdk_open(&jdk, "/usr/lib/jvm/temurin-25-jdk-amd64/lib/server/libjvm.so");
	assert_true(hotspot_read(&(struct runtime_file){ .view = &jdk.view }, &hotspot));
	expect_words(&jdk, &hotspot, &newest);
	assert_int_equal(hotspot.block_bytes, 8);
	assert_int_equal(hotspot.code_bytes, 4);
	assert_int_equal(hotspot.complete_bytes, 2);
	assert_int_equal(hotspot.form, HOTSPOT_MUTABLE);
	assert_int_equal(hotspot.deopt_bytes, 4);
	expect_objects(&hotspot, true);
	expect_answer(&jdk, &hotspot);
	elf_file_deinit(&jdk.file);
}

/* ---- what a worker may say ---- */

static struct hotspot_layout sound_layout(void)
{
	struct hotspot_layout layout = { .block_bytes = 16, .code_bytes = 8, .complete_bytes = 4 };

	for (size_t i = 0; i < HOTSPOT_WALK_WORDS; i++)
		layout.words[i] = 0x1000 + 8 * i;
	return layout;
}

#define REFUSED(statement)                                                                         \
	do {                                                                                       \
		struct hotspot_layout layout = sound_layout();                                     \
                                                                                                   \
		statement;                                                                         \
		if (hotspot_check(&layout))                                                        \
			fail_msg("accepted: %s", #statement);                                      \
	} while (0)

static void test_what_cannot_be_is_refused(void **state)
{
	struct hotspot_layout sound = sound_layout();

	(void)state;
	assert_true(hotspot_check(&sound));
	sound.words[0] = (1ull << 47) - 8;
	sound.block_bytes = 8;
	sound.code_bytes = 4;
	sound.complete_bytes = 2;
	assert_true(hotspot_check(&sound));
	for (size_t i = 0; i < HOTSPOT_WALK_WORDS; i++) {
		REFUSED(layout.words[i] = 0);
		REFUSED(layout.words[i] += 4);
		REFUSED(layout.words[i]++);
		REFUSED(layout.words[i] = 1ull << 47);
		REFUSED(layout.words[i] = UINT64_MAX - 7);
	}
	REFUSED(layout.block_bytes = 0);
	REFUSED(layout.block_bytes = 12);
	REFUSED(layout.block_bytes = 24);
	REFUSED(layout.code_bytes = 0);
	REFUSED(layout.code_bytes = 2);
	REFUSED(layout.complete_bytes = 0);
	REFUSED(layout.complete_bytes = 8);
	REFUSED(layout.heap_bytes = 4);
	REFUSED(layout.objects[3] = 2);
	REFUSED(layout.object_handle = 2);
	REFUSED(layout.fields_packed = 2);
	// Of a form it has all words of that, or it is of none.
	for (uint8_t form = HOTSPOT_UNNAMED + 1; form < HOTSPOT_FORMS + 3; form++)
		REFUSED(layout.form = form);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_are_found_however_pointers_are_told),
		cmocka_unit_test(test_words_are_found_in_a_long_array),
		cmocka_unit_test(test_older_versions_call_things_otherwise),
		cmocka_unit_test(test_all_fields_are_needed),
		cmocka_unit_test(test_variables_are_where_variables_can_be),
		cmocka_unit_test(test_blocks_have_a_size_that_is_known),
		cmocka_unit_test(test_other_files_are_not_looked_at),
		cmocka_unit_test(test_names_end_inside_their_segment),
		cmocka_unit_test(test_arrays_end_inside_their_segment),
		cmocka_unit_test(test_symbols_may_be_missing),
		cmocka_unit_test(test_noise_does_no_harm),
		cmocka_unit_test(test_names_are_of_a_form),
		cmocka_unit_test(test_without_a_field_there_are_no_names),
		cmocka_unit_test(test_jdk_17),
		cmocka_unit_test(test_jdk_25),
		cmocka_unit_test(test_what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

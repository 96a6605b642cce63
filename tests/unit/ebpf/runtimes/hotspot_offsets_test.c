// SPDX-License-Identifier: Apache-2.0
/* Where a JVM's structures have what names its frames, by what its tables say. */
#include "receiver/ebpf/runtimes/hotspot/hotspot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { BASE = 0x7f550000, WORDS_AT = 0x1000, TEXT_AT = 0x2000, PLACE_BYTES = 16 };

/* A JVM that tells offsets, each in a word of 8 bytes, and its version. */
struct jvm {
	struct hotspot_layout layout;
	uint64_t words[HOTSPOT_WORDS];
	struct setting {
		uint64_t value, name, others;
	} settings[3];
	char setting_names[2][24];
	uint8_t value;
	const char *release;
	size_t reads, most_reads; /* those beyond fail */
};

enum {
	SETTINGS_AT = 0x10000,
	SETTINGS_BYTES = offsetof(struct jvm, release) - offsetof(struct jvm, settings),
};

static bool read_jvm(void *context, uint64_t address, void *to, size_t bytes)
{
	struct jvm *jvm = context;
	uint64_t text = address - BASE - TEXT_AT, words = address - BASE - WORDS_AT;

	if (++jvm->reads > jvm->most_reads)
		return false;
	if (text <= strlen(jvm->release) && bytes <= strlen(jvm->release) + 1 - text) {
		memcpy(to, jvm->release + text, bytes);
		return true;
	}
	if (address - SETTINGS_AT < SETTINGS_BYTES && bytes <= SETTINGS_BYTES &&
	    address - SETTINGS_AT <= SETTINGS_BYTES - bytes) {
		memcpy(to, (const char *)jvm->settings + (address - SETTINGS_AT), bytes);
		return true;
	}
	if (words > sizeof(jvm->words) - bytes)
		return false;
	memcpy(to, (const char *)jvm->words + words, bytes);
	return true;
}

static void renew(void *context)
{
	(void)context;
}

static struct jvm make(enum hotspot_form form, uint32_t major)
{
	struct jvm jvm = {
		.layout = { .block_bytes = 16,
			    .code_bytes = 8,
			    .complete_bytes = 4,
			    .deopt_bytes = 8,
			    .heap_bytes = form == HOTSPOT_OFFSETS_8 ? 8 : 0,
			    .form = (uint8_t)form,
			    .const_bytes = 48,
			    .pool_bytes = 72,
			    .place_bytes = PLACE_BYTES },
		.release = "17.0.15+6-Debian-1deb12u1",
		.most_reads = SIZE_MAX,
	};

	for (size_t i = 0; i < HOTSPOT_WORDS; i++) {
		jvm.layout.words[i] = WORDS_AT + 8 * i;
		// Offsets differ, and those of small structures are small.
		jvm.words[i] = 2 * i + 8;
	}
	jvm.words[HOTSPOT_CONST_CODE_BYTES] = 32;
	jvm.words[HOTSPOT_CONST_NAME] = 34;
	jvm.words[HOTSPOT_CONST_SIGNATURE] = 36;
	jvm.words[HOTSPOT_POOL_LENGTH] = 60;
	jvm.words[HOTSPOT_VM_MAJOR] = major;
	jvm.words[HOTSPOT_VM_RELEASE] = BASE + TEXT_AT;
	return jvm;
}

static struct hotspot_offsets *find(struct jvm *jvm, struct runtime_found *found)
{
	const struct runtime_memory memory = { read_jvm, renew, jvm };

	*found = (struct runtime_found){ 0 };
	jvm->reads = 0;
	hotspot_find_offsets(&jvm->layout, BASE, &memory, found);
	assert_true(runtime_found_check(found));
	return found->data_bytes ? (struct hotspot_offsets *)found->data : NULL;
}

static void test_offsets_are_as_the_tables_say(void **state)
{
	struct jvm jvm = make(HOTSPOT_POINTED, 17);
	const struct hotspot_offsets *offsets;
	struct runtime_found found;

	(void)state;
	offsets = find(&jvm, &found);
	assert_non_null(offsets);
	assert_int_equal(offsets->version, 17);
	assert_int_equal(offsets->of[HOTSPOT_KLASS_NAME], jvm.words[HOTSPOT_KLASS_NAME]);
	// The kernel side counts from the block on.
	assert_int_equal(offsets->told.compile_id, 16 + jvm.words[HOTSPOT_NMETHOD_ID]);
	assert_int_equal(offsets->told.deopt[0], 16 + jvm.words[HOTSPOT_NMETHOD_DEOPT]);
	assert_int_equal(offsets->told.deopt[1], 16 + jvm.words[HOTSPOT_NMETHOD_DEOPT_MH]);
	assert_int_equal(offsets->told.deopt_base, 0);
	assert_int_equal(offsets->told.bcp, 64);
	assert_int_equal(offsets->told.const_identity, 32);
	assert_int_equal(offsets->told.pool_version, jvm.words[HOTSPOT_POOL_LENGTH]);
	// As much of it as there is room for.
	assert_string_equal(found.version, "17.0.15+6-Debian-1deb12");
}

static void test_versions_differ(void **state)
{
	struct jvm jvm = make(HOTSPOT_OFFSETS_8, 25);
	const struct hotspot_offsets *offsets;
	struct runtime_found found;

	(void)state;
	// JDK 8 has a HotSpot that is called 25.
	offsets = find(&jvm, &found);
	assert_non_null(offsets);
	assert_int_equal(offsets->version, 8);
	assert_int_equal(offsets->told.bcp, 56);
	jvm = make(HOTSPOT_MUTABLE, 27);
	jvm.layout.deopt_bytes = 4;
	jvm.layout.words[HOTSPOT_NMETHOD_DEOPT_MH] = 0;
	offsets = find(&jvm, &found);
	assert_non_null(offsets);
	assert_int_equal(offsets->version, 27);
	assert_int_equal(offsets->told.deopt_base, 16);
	assert_int_equal(offsets->told.deopt[1], offsets->told.deopt[0]);
}

/* Walks do without: then stacks end where only that tells how they go on. */
static void test_a_thread_may_say_where_a_signal_has_found_it(void **state)
{
	struct jvm jvm = make(HOTSPOT_POINTED, 17);
	const struct hotspot_offsets *offsets;
	struct runtime_found found;

	(void)state;
	offsets = find(&jvm, &found);
	assert_non_null(offsets);
	assert_int_equal(offsets->told.saved_pc, 0);
	// Where a word stands that is an offset: that of a class's name.
	jvm.layout.objects[HOTSPOT_THREAD_PC - HOTSPOT_WORDS] = WORDS_AT + 8 * HOTSPOT_KLASS_NAME;
	offsets = find(&jvm, &found);
	assert_non_null(offsets);
	assert_int_equal(offsets->told.saved_pc, jvm.words[HOTSPOT_KLASS_NAME]);
	// And one that is none: an address.
	jvm.layout.objects[HOTSPOT_THREAD_PC - HOTSPOT_WORDS] = WORDS_AT + 8 * HOTSPOT_VM_RELEASE;
	offsets = find(&jvm, &found);
	assert_non_null(offsets);
	assert_int_equal(offsets->told.saved_pc, 0);
	jvm.layout.objects[HOTSPOT_THREAD_PC - HOTSPOT_WORDS] = WORDS_AT - 8;
	offsets = find(&jvm, &found);
	assert_non_null(offsets);
	assert_int_equal(offsets->told.saved_pc, 0);
}

static uint64_t setting_address(size_t offset)
{
	return SETTINGS_AT + offset - offsetof(struct jvm, settings);
}

static bool tells_all(struct jvm *jvm)
{
	struct runtime_found found;
	const struct hotspot_offsets *offsets = find(jvm, &found);

	assert_non_null(offsets);
	return offsets->settings & HOTSPOT_TELLS_ALL;
}

static void test_it_is_known_whether_code_tells_all(void **state)
{
	struct jvm jvm = make(HOTSPOT_POINTED, 17);

	(void)state;
	assert_false(tells_all(&jvm));
	jvm.layout.flag_bytes = sizeof(struct setting);
	jvm.words[HOTSPOT_FLAGS] = SETTINGS_AT;
	jvm.words[HOTSPOT_FLAG_COUNT] = 3;
	jvm.words[HOTSPOT_FLAG_NAME] = offsetof(struct setting, name);
	jvm.words[HOTSPOT_FLAG_VALUE] = offsetof(struct setting, value);
	strcpy(jvm.setting_names[0], "DebugNonSafepointsToo");
	strcpy(jvm.setting_names[1], "DebugNonSafepoints");
	for (size_t i = 0; i < 2; i++) {
		jvm.settings[i].name = setting_address(offsetof(struct jvm, setting_names[i]));
		jvm.settings[i].value = setting_address(offsetof(struct jvm, value));
	}
	assert_false(tells_all(&jvm));
	jvm.value = 1;
	assert_true(tells_all(&jvm));
	jvm.words[HOTSPOT_FLAG_COUNT] = 1;
	assert_false(tells_all(&jvm));
	// There is an end of it.
	jvm.words[HOTSPOT_FLAG_COUNT] = UINT64_MAX;
	jvm.setting_names[1][0] = 'd';
	assert_false(tells_all(&jvm));
}

static uint16_t settings_of(struct jvm *jvm)
{
	struct runtime_found found;
	const struct hotspot_offsets *offsets = find(jvm, &found);

	assert_non_null(offsets);
	// Nothing is said of where objects lie.
	assert_false(offsets->names_threads);
	return offsets->settings;
}

static void test_it_is_known_how_objects_are_kept(void **state)
{
	struct jvm jvm = make(HOTSPOT_POINTED, 17);

	(void)state;
	jvm.layout.flag_bytes = sizeof(struct setting);
	jvm.words[HOTSPOT_FLAGS] = SETTINGS_AT;
	jvm.words[HOTSPOT_FLAG_COUNT] = 2;
	jvm.words[HOTSPOT_FLAG_NAME] = offsetof(struct setting, name);
	jvm.words[HOTSPOT_FLAG_VALUE] = offsetof(struct setting, value);
	for (size_t i = 0; i < 2; i++) {
		jvm.settings[i].name = setting_address(offsetof(struct jvm, setting_names[i]));
		jvm.settings[i].value = setting_address(offsetof(struct jvm, value));
	}
	// Who says nothing of classes cannot do it otherwise.
	strcpy(jvm.setting_names[0], "UseCompressedOops");
	strcpy(jvm.setting_names[1], "UseG1GC");
	assert_int_equal(settings_of(&jvm), HOTSPOT_SHORT_CLASSES);
	jvm.value = 1;
	assert_int_equal(settings_of(&jvm),
			 HOTSPOT_SHORT_CLASSES | HOTSPOT_SHORT_POINTERS | HOTSPOT_MOVES_IN_PAUSES);
	strcpy(jvm.setting_names[0], "UseZGC");
	strcpy(jvm.setting_names[1], "UseCompactObjectHeaders");
	assert_int_equal(settings_of(&jvm), HOTSPOT_SHORT_CLASSES | HOTSPOT_COMPACT);
}

#define REFUSED(change)                                                                            \
	do {                                                                                       \
		struct jvm jvm = make(HOTSPOT_POINTED, 17);                                        \
		struct runtime_found found;                                                        \
                                                                                                   \
		change;                                                                            \
		if (find(&jvm, &found))                                                            \
			fail_msg("accepted: %s", #change);                                         \
	} while (0)

static void test_what_does_not_add_up_names_nothing(void **state)
{
	(void)state;
	REFUSED(jvm.layout.form = HOTSPOT_UNNAMED);
	REFUSED(jvm.words[HOTSPOT_VM_MAJOR] = 0);
	REFUSED(jvm.words[HOTSPOT_VM_MAJOR] = 8);
	REFUSED(jvm.words[HOTSPOT_VM_MAJOR] = 100);
	for (size_t i = HOTSPOT_METHOD_CONST; i < HOTSPOT_WORDS; i++) {
		REFUSED(jvm.words[i] = 4097);
		REFUSED(jvm.words[i] = UINT64_MAX);
	}
	// They have not been written yet.
	REFUSED(memset(&jvm.words[HOTSPOT_METHOD_CONST], 0,
		       sizeof(jvm.words) - HOTSPOT_METHOD_CONST * sizeof(uint64_t)));
	// Walks read so much of a block, and no more.
	REFUSED(jvm.words[HOTSPOT_NMETHOD_ID] = HOTSPOT_HEAD_BYTES - 16);
	REFUSED(jvm.words[HOTSPOT_NMETHOD_DEOPT] = HOTSPOT_HEAD_BYTES);
	REFUSED(jvm.words[HOTSPOT_NMETHOD_ORIGINAL] = HOTSPOT_HEAD_BYTES);
	REFUSED(jvm.words[HOTSPOT_CONST_SIGNATURE] = 34);
	REFUSED(jvm.words[HOTSPOT_CONST_SIGNATURE] = 47);
	REFUSED(jvm.words[HOTSPOT_POOL_LENGTH] = 70);
	REFUSED(jvm.words[HOTSPOT_SYMBOL_BODY] = jvm.words[HOTSPOT_SYMBOL_LENGTH]);
}

static void test_memory_that_cannot_be_read_names_nothing(void **state)
{
	struct jvm jvm = make(HOTSPOT_POINTED, 17);
	struct runtime_found found;
	size_t reads;

	(void)state;
	assert_non_null(find(&jvm, &found));
	reads = jvm.reads;
	// What is read first is the release, which may be missing.
	for (jvm.most_reads = 30; jvm.most_reads < reads; jvm.most_reads++)
		assert_null(find(&jvm, &found));
}

static void test_a_release_is_printable(void **state)
{
	struct jvm jvm = make(HOTSPOT_POINTED, 17);
	struct runtime_found found;

	(void)state;
	jvm.release = "17\x1b[31m";
	assert_non_null(find(&jvm, &found));
	assert_string_equal(found.version, "17");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offsets_are_as_the_tables_say),
		cmocka_unit_test(test_versions_differ),
		cmocka_unit_test(test_a_thread_may_say_where_a_signal_has_found_it),
		cmocka_unit_test(test_it_is_known_whether_code_tells_all),
		cmocka_unit_test(test_it_is_known_how_objects_are_kept),
		cmocka_unit_test(test_what_does_not_add_up_names_nothing),
		cmocka_unit_test(test_memory_that_cannot_be_read_names_nothing),
		cmocka_unit_test(test_a_release_is_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* What a JVM runs, and what it is, read from memory made by hand. No argument is told. */
#include "hotspot_forged.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct forged *forged;
static struct {
	char version[256], name[64], program[2048];
} told;

static void copy(char *to, size_t size, const char *text, size_t bytes)
{
	assert_true(bytes < size);
	memcpy(to, text, bytes);
	to[bytes] = '\0';
}

static bool take(void *context, const struct runtime_line *line)
{
	(void)context;
	copy(told.version, sizeof(told.version), line->function, line->function_bytes);
	copy(told.name, sizeof(told.name), line->system_name, line->system_name_bytes);
	copy(told.program, sizeof(told.program), line->file, line->file_bytes);
	return true;
}

static uint64_t put_text(const char *text)
{
	uint64_t at = forged_room(forged, strlen(text) + 1);

	for (size_t i = 0; text[i]; i++)
		forged_put(forged, at + i, (uint8_t)text[i], 1);
	return at;
}

/* An address of a text in a variable of the library, as the layout has it. */
static uint32_t put_variable(const char *text)
{
	uint64_t at = text ? put_text(text) : 0, variable = forged_room(forged, 8);

	forged_put(forged, variable, at, 8);
	return (uint32_t)(variable - forged->start);
}

static enum runtime_outcome describe(void)
{
	const struct runtime_memory memory = forged_memory(forged);
	const struct runtime_lines to = { take, NULL };

	memset(&told, 0, sizeof(told));
	forged->reads = 0;
	return hotspot_describe(&forged->process, &memory, &to);
}

static void make(const char *command, const char *info)
{
	struct hotspot_layout *layout;

	forged_init(forged, HOTSPOT_POINTED, 17);
	layout = (void *)forged->process.layout;
	forged->process.base = forged->start;
	// At the beginning of a file there is no variable.
	forged_room(forged, 16);
	layout->words[HOTSPOT_VM_RELEASE] = put_variable("17.0.15+6-Debian-1deb12u1 more");
	layout->objects[HOTSPOT_COMMAND - HOTSPOT_WORDS] = put_variable(command);
	layout->objects[HOTSPOT_VM_INFO - HOTSPOT_WORDS] = put_variable(info);
}

static void expect(const char *command, const char *program)
{
	make(command, "OpenJDK 64-Bit Server VM (17.0.15+6) for linux-amd64 JRE");
	assert_int_equal(describe(), RUNTIME_NAMED);
	assert_string_equal(told.version, "17.0.15+6-Debian-1deb12u1");
	assert_string_equal(told.name, "OpenJDK Runtime Environment");
	assert_string_equal(told.program, program);
}

static void test_classes_and_jars_are_told(void **state)
{
	(void)state;
	expect("org.shop.Main", "org.shop.Main");
	expect("Main --token=secret", "Main");
	expect("org.shop.Main$Inner_2 secret", "org.shop.Main$Inner_2");
	expect("org.shop/org.shop.Main secret", "org.shop.Main");
	expect("/opt/secret/shop-1.2.jar --token secret", "shop-1.2.jar");
	expect("shop.jar", "shop.jar");
	expect("../shop.jar", "shop.jar");
}

static void test_what_is_neither_is_not_told(void **state)
{
	(void)state;
	expect("", "");
	expect(" secret", "");
	expect(NULL, "");
	expect("-jar secret", "");
	expect("--token=secret", "");
	expect("user:secret@host", "");
	expect("/opt/My Shop/shop.jar secret", "");
	expect("./My Shop/shop.jar secret", "");
	expect("a/b/c secret", "");
	expect("shop/ secret", "");
	expect("/shop secret", "");
	expect("/opt/.jar/ secret", "");
	expect(".jar secret", "");
}

static void test_a_word_without_an_end_is_not_told(void **state)
{
	char command[1200];

	(void)state;
	memset(command, 'm', sizeof(command) - 1);
	command[sizeof(command) - 1] = '\0';
	expect(command, "");
	assert_true(forged->reads < 2000);
	command[1000] = ' ';
	expect(command, memset((char[1001]){ 0 }, 'm', 1000));
}

static void test_others_have_their_names(void **state)
{
	(void)state;
	make("Main", "Java HotSpot(TM) 64-Bit Server VM (21.0.2+13)");
	assert_int_equal(describe(), RUNTIME_NAMED);
	assert_string_equal(told.name, "Java(TM) SE Runtime Environment");
	make("Main", "Zulu 64-Bit Server VM (21.0.2+13)");
	assert_int_equal(describe(), RUNTIME_NAMED);
	assert_string_equal(told.name, "");
	assert_string_equal(told.program, "Main");
}

static void test_memory_that_cannot_be_read_tells_nothing_else(void **state)
{
	size_t reads;

	(void)state;
	make("Main secret", "OpenJDK 64-Bit Server VM");
	assert_int_equal(describe(), RUNTIME_NAMED);
	reads = forged->reads;
	for (size_t most = 0; most < reads; most++) {
		forged->most_reads = most;
		if (describe() != RUNTIME_NAMED)
			continue;
		assert_string_equal(told.version, "17.0.15+6-Debian-1deb12u1");
		assert_true(!told.program[0] || !strcmp(told.program, "Main"));
	}
}

static int set_up(void **state)
{
	(void)state;
	forged = calloc(1, sizeof(*forged));
	return forged ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(forged);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classes_and_jars_are_told),
		cmocka_unit_test(test_what_is_neither_is_not_told),
		cmocka_unit_test(test_a_word_without_an_end_is_not_told),
		cmocka_unit_test(test_others_have_their_names),
		cmocka_unit_test(test_memory_that_cannot_be_read_tells_nothing_else),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

// SPDX-License-Identifier: Apache-2.0
/* The names of a JVM's frames, read from memory made by hand. */
#include "hotspot_forged.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The lines of a frame, as text: `function|system name|file:line(first line)` and a newline. */
struct lines {
	size_t length;
	char text[1 << 16];
};

static struct forged *forged;
static struct lines lines;

static bool add_line(void *context, const struct runtime_line *line)
{
	struct lines *to = context;

	to->length += (size_t)snprintf(
		to->text + to->length, sizeof(to->text) - to->length, "%.*s|%.*s|%.*s:%u(%u)\n",
		(int)line->function_bytes, line->function, (int)line->system_name_bytes,
		line->system_name ? line->system_name : "", (int)line->file_bytes,
		line->file ? line->file : "", line->line, line->start_line);
	assert_true(to->length < sizeof(to->text));
	return true;
}

static enum runtime_outcome resolve(const struct runtime_frame *frame)
{
	const struct runtime_memory memory = forged_memory(forged);
	const struct runtime_lines to = { add_line, &lines };

	lines.length = 0;
	lines.text[0] = '\0';
	forged->reads = forged->renewed = 0;
	return hotspot_resolve(&forged->process, &memory, frame, &to);
}

static void expect(struct runtime_frame frame, const char *text)
{
	assert_int_equal(resolve(&frame), RUNTIME_NAMED);
	assert_string_equal(lines.text, text);
	assert_true(forged->renewed);
}

static const struct form {
	enum hotspot_form form;
	uint16_t version;
} forms[] = {
	{ HOTSPOT_OFFSETS_8, 8 }, { HOTSPOT_POINTED, 11 }, { HOTSPOT_POINTED, 17 },
	{ HOTSPOT_POINTED, 21 },  { HOTSPOT_SPLIT, 23 },   { HOTSPOT_MUTABLE, 25 },
};

enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

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

static void begin(const struct form *form)
{
	forged_init(forged, form->form, form->version);
}

/* ---- interpreted methods ---- */

static const struct forged_row rows[] = {
	{ 0, 70 }, { 3, 71 }, { 40, 300 }, { 41, 72 }, { 90, 65000 },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]), METHOD_BYTES = 100 };

static uint64_t make_method(const char *class_name, const char *name, const char *signature)
{
	struct forged_class of = forged_class(forged, class_name, "Shop.java");

	return forged_method(forged, &of, name, signature, METHOD_BYTES, rows, ROWS);
}

static void test_a_method_has_names_file_and_lines(void **state)
{
	static const struct {
		uint32_t bci;
		const char *line;
	} expected[] = {
		{ 0, "70" },  { 2, "70" },  { 3, "71" },     { 39, "71" },    { 40, "300" },
		{ 41, "72" }, { 89, "72" }, { 90, "65000" }, { 99, "65000" },
	};

	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		uint64_t method;

		begin(&forms[i]);
		method = make_method("org/shop/Shop", "open", "(I)V");
		for (size_t j = 0; j < sizeof(expected) / sizeof(expected[0]); j++) {
			char text[128];

			snprintf(text, sizeof(text),
				 "org.shop.Shop.open|org/shop/Shop.open(I)V|Shop.java:%s(70)\n",
				 expected[j].line);
			expect(forged_interpreted(forged, method, expected[j].bci), text);
		}
	}
}

static void test_a_method_that_is_entered_is_at_its_first_line(void **state)
{
	struct runtime_frame frame;

	(void)state;
	begin(&forms[2]);
	frame = forged_interpreted(forged, make_method("Shop", "open", "()V"), 50);
	frame.kind = HOTSPOT_ENTERS;
	frame.position = 0;
	expect(frame, "Shop.open|Shop.open()V|Shop.java:70(70)\n");
}

static void test_what_is_no_bytecode_of_its_has_no_line(void **state)
{
	uint64_t method;

	(void)state;
	begin(&forms[2]);
	method = make_method("Shop", "open", "()V");
	expect(forged_interpreted(forged, method, METHOD_BYTES),
	       "Shop.open|Shop.open()V|Shop.java:0(70)\n");
	expect(forged_interpreted(forged, method, UINT32_MAX),
	       "Shop.open|Shop.open()V|Shop.java:0(70)\n");
}

static void test_a_method_may_have_no_lines_and_no_file(void **state)
{
	struct forged_class of;

	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		begin(&forms[i]);
		of = forged_class(forged, "Shop", NULL);
		expect(forged_interpreted(
			       forged, forged_method(forged, &of, "<init>", "()V", 9, NULL, 0), 3),
		       "Shop.<init>|Shop.<init>()V|:0(0)\n");
	}
}

static void test_names_that_differ_between_runs_are_masked(void **state)
{
	static const struct {
		const char *name, *shown, *system_name;
	} classes[] = {
		{ "a/Shop$$Lambda$14+0x0000000800c03000", "a.Shop$$Lambda", "a/Shop$$Lambda" },
		{ "a/Shop$$Lambda$14/0x0000000800c03000", "a.Shop$$Lambda", "a/Shop$$Lambda" },
		{ "a/Shop$$Lambda+0x00007f12ac0045f0", "a.Shop$$Lambda", "a/Shop$$Lambda" },
		{ "a/Shop$$Lambda$14", "a.Shop$$Lambda", "a/Shop$$Lambda" },
		{ "j/LambdaForm$MH+0x0a", "j.LambdaForm$MH", "j/LambdaForm$MH" },
		// These are names that somebody has chosen.
		{ "Shop$14", "Shop$14", "Shop$14" },
		{ "$Proxy12", "$Proxy12", "$Proxy12" },
		{ "Shop$Lambda$14", "Shop$Lambda$14", "Shop$Lambda$14" },
		{ "a+0x", "a+0x", "a+0x" },
		{ "0x12", "0x12", "0x12" },
		{ "b/cafe", "b.cafe", "b/cafe" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		char text[256];

		begin(&forms[2]);
		snprintf(text, sizeof(text), "%s.run|%s.run()V|Shop.java:70(70)\n",
			 classes[i].shown, classes[i].system_name);
		expect(forged_interpreted(forged, make_method(classes[i].name, "run", "()V"), 0),
		       text);
	}
}

static void test_names_are_of_any_unicode(void **state)
{
	static const struct {
		const char *name, *shown;
	} names[] = {
		{ "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "\xe6\x97\xa5", "\xe6\x97\xa5" },
		// A character beyond the first 65,536 is two surrogates.
		{ "x\xed\xa0\xbd\xed\xb8\x80y", "x\xf0\x9f\x98\x80y" },
		{ "\xed\xa0\xbd", "\xef\xbf\xbd" },
		{ "\xed\xb8\x80z", "\xef\xbf\xbdz" },
		{ "\xed\xa0\xbdz", "\xef\xbf\xbdz" },
		// NUL
		{ "a\xc0\x80z", "a\xef\xbf\xbdz" },
		{ "a\xffz", "a\xef\xbf\xbdz" },
		{ "a\xc3", "a\xef\xbf\xbd" },
		{ "a\xe6\x97", "a\xef\xbf\xbd\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[256];

		begin(&forms[2]);
		snprintf(text, sizeof(text), "Shop.%s|Shop.%s()V|Shop.java:70(70)\n",
			 names[i].shown, names[i].shown);
		expect(forged_interpreted(forged, make_method("Shop", names[i].name, "()V"), 0),
		       text);
	}
}

static void test_long_names_are_cut(void **state)
{
	struct runtime_frame frame;
	char name[8192];

	(void)state;
	begin(&forms[2]);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	frame = forged_interpreted(forged, make_method(name, name, name), 0);
	assert_int_equal(resolve(&frame), RUNTIME_NAMED);
	assert_in_range(lines.length, 4000, 4200);
}

/* ---- methods that are others by now ---- */

static void test_another_method_is_not_taken_for_it(void **state)
{
	struct runtime_frame frame, other;
	uint64_t method, constant, pool, klass;

	(void)state;
	begin(&forms[2]);
	method = make_method("Shop", "open", "()V");
	frame = forged_interpreted(forged, method, 3);
	other = frame;
	other.check++;
	assert_int_equal(resolve(&other), RUNTIME_GONE);
	memcpy(&constant, forged->bytes + (method + 8 - forged->start), 8);
	memcpy(&pool, forged->bytes + (constant + 8 - forged->start), 8);
	memcpy(&klass, forged->bytes + (pool + 24 - forged->start), 8);
	// The same places have a method with the same numbers, of a class with another name.
	forged_put(forged, forged_field(forged, klass, HOTSPOT_KLASS_NAME),
		   forged_symbol(forged, "Mall", 4), 8);
	assert_int_equal(resolve(&frame), RUNTIME_GONE);
	expect(forged_interpreted(forged, method, 3), "Mall.open|Mall.open()V|Shop.java:71(70)\n");
}

/* Another version of its class has all that it had where it had it, but for its lines. */
static void test_a_method_that_was_redefined_is_not_taken_for_it(void **state)
{
	struct runtime_frame frame;
	uint64_t method, constant, pool;

	(void)state;
	begin(&forms[2]);
	method = make_method("Shop", "open", "()V");
	frame = forged_interpreted(forged, method, 3);
	memcpy(&constant, forged->bytes + (method + 8 - forged->start), 8);
	memcpy(&pool, forged->bytes + (constant + 8 - forged->start), 8);
	// How often it was follows how long the pool is.
	forged_put(forged, forged_field(forged, pool, HOTSPOT_POOL_LENGTH) + 4, 1, 4);
	assert_int_equal(resolve(&frame), RUNTIME_GONE);
	expect(forged_interpreted(forged, method, 3), "Shop.open|Shop.open()V|Shop.java:71(70)\n");
}

/* What is written before a read, and where. */
static struct {
	size_t when;
	uint64_t address, word;
} change;

static void change_word(struct forged *memory, size_t number)
{
	if (number == change.when)
		forged_put(memory, change.address, change.word, 8);
}

static void test_a_method_that_ends_while_it_is_read_has_no_name(void **state)
{
	struct runtime_frame frame;
	uint64_t method, other;
	size_t reads = SIZE_MAX;

	(void)state;
	for (size_t when = 0; when <= reads; when++) {
		begin(&forms[2]);
		method = make_method("Shop", "open", "()V");
		other = make_method("Mall", "shut", "()I");
		frame = forged_interpreted(forged, method, 3);
		change.when = when;
		change.address = forged_field(forged, method, HOTSPOT_METHOD_CONST);
		memcpy(&change.word, forged->bytes + (other + 8 - forged->start), 8);
		forged->before = change_word;
		assert_int_equal(resolve(&frame), when ? RUNTIME_GONE : RUNTIME_NAMED);
		// The last ten reads begin with that word.
		reads = forged->reads - 9;
	}
}

static void test_memory_that_cannot_be_read_is_no_name(void **state)
{
	struct runtime_frame frame;
	size_t reads;

	(void)state;
	begin(&forms[2]);
	frame = forged_interpreted(forged, make_method("Shop", "open", "()V"), 3);
	assert_int_equal(resolve(&frame), RUNTIME_NAMED);
	reads = forged->reads;
	for (size_t most = 0; most < reads; most++) {
		enum runtime_outcome outcome;

		forged->most_reads = most;
		outcome = resolve(&frame);
		assert_true(outcome == RUNTIME_UNREADABLE || outcome == RUNTIME_GONE);
	}
}

/* ---- code ---- */

/* Three methods: the third is compiled, with the second inlined, and in that the first. */
static uint64_t make_code(const char *name, uint64_t methods[3])
{
	static const struct forged_scope scopes[] = {
		{ 0, 3, 40 },                             // of the method itself
		{ 1, 2, 3 },  { 2, 1, 0 },  { 0, 3, -1 }, // before its bytecode
		{ 2, 1, 3 },  { 0, 3, 41 }, { 6, 2, 3 },
	};
	static const struct forged_place places[] = {
		{ 40, 1 }, { 60, 2 }, { 61, 3 }, { 64, 5 }, { 66, 7 }, { 500, 0 }, { 600, 4 },
	};

	methods[0] = make_method("a/Inner", "inner", "()V");
	methods[1] = make_method("a/Middle", "middle", "(J)V");
	methods[2] = make_method("a/Outer", "outer", "([I)V");
	return forged_block(forged, &(struct forged_code){
					    .name = name,
					    .method = methods[2],
					    .id = 4711,
					    .metadata = methods,
					    .metadata_count = 3,
					    .scopes = scopes,
					    .scope_count = 7,
					    .places = places,
					    .place_count = 7,
				    });
}

#define OUTER(line)  "a.Outer.outer|a/Outer.outer([I)V|Shop.java:" line "(70)\n"
#define MIDDLE(line) "a.Middle.middle|a/Middle.middle(J)V|Shop.java:" line "(70)\n"
#define INNER(line)  "a.Inner.inner|a/Inner.inner()V|Shop.java:" line "(70)\n"

static void test_code_says_what_was_inlined(void **state)
{
	uint64_t methods[3], block;

	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		begin(&forms[i]);
		block = make_code(NULL, methods);
		expect(forged_called(forged, block, 40), OUTER("300"));
		expect(forged_called(forged, block, 60), MIDDLE("71") OUTER("300"));
		expect(forged_called(forged, block, 61), INNER("70") MIDDLE("71") OUTER("300"));
		expect(forged_called(forged, block, 600), OUTER("70"));
	}
}

static void test_between_places_runs_what_runs_at_both(void **state)
{
	uint64_t methods[3], block;

	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		begin(&forms[i]);
		block = make_code(NULL, methods);
		// From the outer method to the one that was inlined, and further in.
		expect(forged_leaf(forged, block, 40), OUTER("300"));
		expect(forged_leaf(forged, block, 59), OUTER("300"));
		expect(forged_leaf(forged, block, 60), MIDDLE("71") OUTER("300"));
		// Nothing is known of what lies before it.
		expect(forged_leaf(forged, block, 39), OUTER("300"));
		expect(forged_leaf(forged, block, 599), OUTER("70"));
		// A call that is not told of lies between them, too.
		expect(forged_called(forged, block, 59), OUTER("300"));
		// In a method that was inlined by one call of it.
		expect(forged_leaf(forged, block, 62), INNER("71") MIDDLE("71") OUTER("300"));
		// By another one.
		expect(forged_leaf(forged, block, 64), OUTER("72"));
		// Where all places are told of, the next one is what runs.
		((struct hotspot_offsets *)forged->process.data)->settings = HOTSPOT_TELLS_ALL;
		expect(forged_leaf(forged, block, 64), MIDDLE("71") OUTER("72"));
		expect(forged_leaf(forged, block, 60), INNER("70") MIDDLE("71") OUTER("300"));
	}
}

/* Before its end a loop asks for a safepoint, compares, and branches back to where it began. */
static void test_what_runs_in_a_loop_runs_in_the_method_that_loops(void **state)
{
	static const struct {
		uint8_t bytes[16];
		uint32_t first; /* byte of the code in the loop */
	} loops[] = {
		// test %eax, (%r10); cmp %eax, %ecx; jl -13
		{ { 0x41, 0x85, 0x02, 0x39, 0xc1, 0x7c, 0xf3 }, 54 },
		// test %eax, (%rbx); jmp -16
		{ { 0x85, 0x03, 0xeb, 0xf0 }, 48 },
		// test %eax, 9(%rip); cmp %eax, %ecx; jne -20
		{ { 0x85, 0x05, 9, 0, 0, 0, 0x39, 0xc1, 0x0f, 0x85, 0xec, 0xff, 0xff, 0xff }, 54 },
	};
	static const uint8_t none[][16] = {
		// It branches on; nothing asks for a safepoint; not what is asked for.
		{ 0x41, 0x85, 0x02, 0x39, 0xc1, 0x7c, 0x10 },
		{ 0x39, 0xc1, 0x7c, 0xf3 },
		{ 0x41, 0x85, 0x42, 0x08, 0x7c, 0xf3 },
	};
	uint64_t methods[3], block;

	(void)state;
	begin(&forms[2]);
	block = make_code(NULL, methods);
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		memcpy(forged->bytes + (block + FORGED_CODE_AT + 60 - forged->start),
		       loops[i].bytes, sizeof(loops[i].bytes));
		expect(forged_leaf(forged, block, loops[i].first - 1), OUTER("300"));
		expect(forged_leaf(forged, block, loops[i].first), MIDDLE("71") OUTER("300"));
		expect(forged_leaf(forged, block, 59), MIDDLE("71") OUTER("300"));
	}
	// Behind the place, up to the branch: what was inlined next does not run yet.
	memcpy(forged->bytes + (block + FORGED_CODE_AT + 64 - forged->start), loops[0].bytes,
	       sizeof(loops[0].bytes));
	expect(forged_leaf(forged, block, 65), INNER("71") MIDDLE("71") OUTER("300"));
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		memcpy(forged->bytes + (block + FORGED_CODE_AT + 60 - forged->start), none[i],
		       sizeof(none[i]));
		expect(forged_leaf(forged, block, 59), OUTER("300"));
	}
}

static void test_what_code_does_not_say_has_no_line(void **state)
{
	uint64_t methods[3], block;

	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		begin(&forms[i]);
		block = make_code(NULL, methods);
		expect(forged_called(forged, block, 500), OUTER("0"));
		expect(forged_called(forged, block, 601), OUTER("0"));
		expect(forged_leaf(forged, block, 600), OUTER("0"));
		// Before the code: an entry that compares classes, or no place at all.
		expect(forged_leaf(forged, block, (uint32_t)-8), OUTER("0"));
	}
}

static void test_without_a_frame_it_is_at_its_first_line(void **state)
{
	uint64_t methods[3], block;

	(void)state;
	begin(&forms[2]);
	block = make_code(NULL, methods);
	expect(forged_leaf(forged, block, 0), OUTER("70"));
	expect(forged_leaf(forged, block, FORGED_COMPLETE - 1), OUTER("70"));
	expect(forged_leaf(forged, block, FORGED_COMPLETE), OUTER("300"));
}

static void test_code_of_natives_is_called_like_these(void **state)
{
	uint64_t method, block;

	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		struct forged_class of;

		begin(&forms[i]);
		of = forged_class(forged, "a/Native", "Native.java");
		method = forged_method(forged, &of, "call", "()V", 0, NULL, 0);
		block = forged_block(forged, &(struct forged_code){ .name = "native nmethod",
								    .method = method,
								    .id = 3 });
		expect(forged_called(forged, block, 99),
		       "a.Native.call|a/Native.call()V|Native.java:0(0)\n");
	}
}

static void test_stubs_have_the_name_of_their_code(void **state)
{
	uint64_t block;

	(void)state;
	begin(&forms[2]);
	block = forged_block(forged, &(struct forged_code){ .name = "StubRoutines (1)", .id = 9 });
	expect(forged_called(forged, block, 99), "StubRoutines (1)||:0(0)\n");
	block = forged_block(forged, &(struct forged_code){ .name = "", .id = 9 });
	expect(forged_called(forged, block, 99), "||:0(0)\n");
}

static void test_other_code_is_not_taken_for_it(void **state)
{
	uint64_t methods[3];
	struct runtime_frame frame;
	size_t reads;

	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		begin(&forms[i]);
		frame = forged_called(forged, make_code(NULL, methods), 61);
		assert_int_equal(resolve(&frame), RUNTIME_NAMED);
		reads = forged->reads;
		frame.check++;
		assert_int_equal(resolve(&frame), RUNTIME_GONE);
		frame.check--;
		for (size_t when = 1; when <= reads; when++) {
			forged_put(forged, frame.object + 16 + 304, 4711, 4);
			change.when = when;
			change.address = frame.object + 16 + 304;
			change.word = 4712;
			forged->before = change_word;
			assert_int_equal(resolve(&frame), RUNTIME_GONE);
		}
		forged->before = NULL;
	}
}

static void test_code_that_cannot_be_read_has_no_name(void **state)
{
	uint64_t methods[3];
	struct runtime_frame frame;
	size_t reads;

	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		begin(&forms[i]);
		frame = forged_called(forged, make_code(NULL, methods), 61);
		assert_int_equal(resolve(&frame), RUNTIME_NAMED);
		reads = forged->reads;
		for (size_t most = 0; most < reads; most++) {
			forged->most_reads = most;
			assert_int_not_equal(resolve(&frame), RUNTIME_NAMED);
		}
		forged->most_reads = SIZE_MAX;
	}
}

/* ---- what cannot be ---- */

static void test_scopes_lead_to_an_end(void **state)
{
	static const struct forged_scope endless[] = { { 0, 1, 3 }, { 2, 1, 3 }, { 0, 4, 3 } };
	static const struct forged_place places[] = { { 40, 2 }, { 41, 3 } };
	uint64_t method, block;
	struct runtime_frame frame;

	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		begin(&forms[i]);
		method = make_method("Shop", "open", "()V");
		block = forged_block(forged, &(struct forged_code){
						     .method = method,
						     .id = 1,
						     .metadata = &method,
						     .metadata_count = 1,
						     .scopes = endless,
						     .scope_count = 3,
						     .places = places,
						     .place_count = 2,
					     });
		// One that is its own sender.
		frame = forged_called(forged, block, 40);
		assert_int_equal(resolve(&frame), RUNTIME_MALFORMED);
		// A method that there is none of.
		frame = forged_called(forged, block, 41);
		assert_int_not_equal(resolve(&frame), RUNTIME_NAMED);
	}
}

static void test_other_kinds_and_data_are_refused(void **state)
{
	struct runtime_frame frame;

	(void)state;
	begin(&forms[2]);
	frame = forged_interpreted(forged, make_method("Shop", "open", "()V"), 3);
	for (uint32_t kind = HOTSPOT_KINDS; kind < 256; kind++) {
		frame.kind = kind;
		assert_int_equal(resolve(&frame), RUNTIME_MALFORMED);
	}
	frame.kind = HOTSPOT_INTERPRETS;
	forged->process.data_bytes -= 8;
	assert_int_equal(resolve(&frame), RUNTIME_MALFORMED);
	forged->process.data_bytes = 0;
	assert_int_equal(resolve(&frame), RUNTIME_MALFORMED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_method_has_names_file_and_lines),
		cmocka_unit_test(test_a_method_that_is_entered_is_at_its_first_line),
		cmocka_unit_test(test_what_is_no_bytecode_of_its_has_no_line),
		cmocka_unit_test(test_a_method_may_have_no_lines_and_no_file),
		cmocka_unit_test(test_names_that_differ_between_runs_are_masked),
		cmocka_unit_test(test_names_are_of_any_unicode),
		cmocka_unit_test(test_long_names_are_cut),
		cmocka_unit_test(test_another_method_is_not_taken_for_it),
		cmocka_unit_test(test_a_method_that_was_redefined_is_not_taken_for_it),
		cmocka_unit_test(test_a_method_that_ends_while_it_is_read_has_no_name),
		cmocka_unit_test(test_memory_that_cannot_be_read_is_no_name),
		cmocka_unit_test(test_code_says_what_was_inlined),
		cmocka_unit_test(test_between_places_runs_what_runs_at_both),
		cmocka_unit_test(test_what_runs_in_a_loop_runs_in_the_method_that_loops),
		cmocka_unit_test(test_what_code_does_not_say_has_no_line),
		cmocka_unit_test(test_without_a_frame_it_is_at_its_first_line),
		cmocka_unit_test(test_code_of_natives_is_called_like_these),
		cmocka_unit_test(test_stubs_have_the_name_of_their_code),
		cmocka_unit_test(test_other_code_is_not_taken_for_it),
		cmocka_unit_test(test_code_that_cannot_be_read_has_no_name),
		cmocka_unit_test(test_scopes_lead_to_an_end),
		cmocka_unit_test(test_other_kinds_and_data_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

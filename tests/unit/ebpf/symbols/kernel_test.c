// SPDX-License-Identifier: Apache-2.0
#include "receiver/ebpf/processes/kernel_code.h"
#include "receiver/ebpf/processes/record.h"
#include "receiver/ebpf/symbols/kernel.h"
#include "receiver/ebpf/symbols/kernel_modules.h"

#include "base/base.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define SECOND 1000000000ull

static const char kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
			       "ffffffff81000000 T _stext\n"
			       "ffffffff81000000 T _text\n"
			       "ffffffff81000040 t local_function\n"
			       "ffffffff81000040 T __x64_sys_read\n"
			       "ffffffff81000040 W weak_read\n"
			       "ffffffff81000100 T schedule\n"
			       "ffffffff81000100 T __schedule_alias\n"
			       "ffffffff81000180 D a_variable\n"
			       "ffffffff81000200 W weak_function\n"
			       "ffffffffc0a01000 t ext4_map\t[ext4]\n"
			       "ffffffffc0a00000 T ext4_read\t[ext4]\n"
			       "ffffffffc0b00000 t nf_hook\t[nf_tables]\n"
			       "ffffffffc0c00000 t bpf_prog_6deef7357e7b4530_profile\t[bpf]\n"
			       "ffffffffc0c00100 t bpf_prog_1111111111111111_other\t[bpf]\n"
			       "this is not a line\n"
			       "ffffffffc0d00000 T\n"
			       "ffffffffc0d00000 T broken\t[\n";

static const char modules[] = "ext4 1056768 2 - Live 0xffffffffc09f0000\n"
			      "nf_tables 376832 0 - Live 0x0000000000000000\n";

struct fixture {
	char root[64];
	struct kernel *kernel;
};

static void put(const struct fixture *fixture, const char *path, const void *bytes, size_t length)
{
	CLEANUP_FILE FILE *file = NULL;
	char full[256];

	snprintf(full, sizeof(full), "%s%s", fixture->root, path);
	for (char *slash = full + strlen(fixture->root) + 1; (slash = strchr(slash, '/'));
	     slash++) {
		*slash = '\0';
		assert_true(!mkdir(full, 0700) || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(full, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
}

static void put_text(const struct fixture *fixture, const char *path, const char *text)
{
	put(fixture, path, text, strlen(text));
}

static int setup(void **state)
{
	static const char note[] = "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0\xde\xad\xbe\xef";
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->root, "/tmp/profcol-kernel-XXXXXX");
	assert_non_null(mkdtemp(fixture->root));
	put_text(fixture, "/proc/kallsyms", kallsyms);
	put_text(fixture, "/proc/modules", modules);
	put(fixture, "/sys/kernel/notes", note, sizeof(note) - 1);
	put(fixture, "/sys/module/ext4/notes/.note.gnu.build-id", note, sizeof(note) - 3);
	fixture->kernel = kernel_create(fixture->root);
	*state = fixture;
	return 0;
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *where)
{
	(void)stat;
	(void)type;
	(void)where;
	return remove(path);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	kernel_destroy(fixture->kernel);
	nftw(fixture->root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(fixture);
	return 0;
}

static void load(struct fixture *fixture, uint64_t now_ns)
{
	struct profcol_error *error = kernel_load(fixture->kernel, now_ns);

	if (error)
		fail_msg("%s", profcol_error_message(error));
}

static void expect(struct fixture *fixture, uint64_t address, uint64_t now_ns, const char *name,
		   const char *module, uint64_t module_start)
{
	struct kernel_symbol symbol;

	if (!kernel_find(fixture->kernel, address, now_ns, &symbol))
		fail_msg("%#llx is unknown", (unsigned long long)address);
	assert_string_equal(symbol.name, name);
	assert_string_equal(symbol.module, module);
	assert_int_equal(symbol.module_start, module_start);
}

static void expect_unknown(struct fixture *fixture, uint64_t address, uint64_t now_ns)
{
	struct kernel_symbol symbol;

	if (kernel_find(fixture->kernel, address, now_ns, &symbol))
		fail_msg("%#llx is %s", (unsigned long long)address, symbol.name);
}

static void test_functions_have_names_and_modules(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t text = 0xffffffff81000000, ext4 = 0xffffffffc09f0000;

	load(fixture, 0);
	expect(fixture, 0xffffffff81000000, 0, "_text", "vmlinux", text);
	expect(fixture, 0xffffffff81000040, 0, "__x64_sys_read", "vmlinux", text);
	expect(fixture, 0xffffffff810000ff, 0, "__x64_sys_read", "vmlinux", text);
	expect(fixture, 0xffffffff810001ff, 0, "schedule", "vmlinux", text);
	expect(fixture, 0xffffffff81000201, 0, "weak_function", "vmlinux", text);
	expect(fixture, 0xffffffffc0a00fff, 0, "ext4_read", "ext4", ext4);
	expect(fixture, 0xffffffffc0a01000, 0, "ext4_map", "ext4", ext4);
	expect(fixture, 0xffffffffc0b00010, 0, "nf_hook", "nf_tables", 0xffffffffc0b00000);
	expect(fixture, 0xffffffffc0c00110, 0, "bpf_prog_1111111111111111_other", "bpf",
	       0xffffffffc0c00100);
	expect_unknown(fixture, 0, 0);
	expect_unknown(fixture, 0xffffffff80ffffff, 0);
	expect_unknown(fixture, 0xffffffff82000000, 0);
	expect_unknown(fixture, UINT64_MAX, 0);
}

static void test_build_ids_of_kernel_and_modules(void **state)
{
	struct fixture *fixture = *state;
	struct kernel_symbol symbol;

	load(fixture, 0);
	assert_true(kernel_find(fixture->kernel, 0xffffffff81000100, 0, &symbol));
	assert_string_equal(symbol.build_id_gnu, "deadbeef");
	assert_true(kernel_find(fixture->kernel, 0xffffffffc0b00000, 0, &symbol));
	assert_string_equal(symbol.build_id_gnu, ""); // no file
	assert_true(kernel_find(fixture->kernel, 0xffffffffc0a00000, 0, &symbol));
	assert_string_equal(symbol.build_id_gnu, ""); // a broken one
	assert_string_equal(symbol.htlhash, "");
}

static void test_hash_of_a_kernel_is_that_of_other_profilers(void **state)
{
	char hash[KERNEL_HTLHASH_HEX];

	(void)state;
	// As the OpenTelemetry eBPF profiler sent them: a kernel, and its module i915.
	kernel_modules_htlhash("7b547e58a70dd26d821993906be478993a56599b", hash);
	assert_string_equal(hash, "4494a39fd41444aeefd0bc20ed4291cb");
	kernel_modules_htlhash("7d1e6ccecce74adfe7950f5be10120f52c703b22", hash);
	assert_string_equal(hash, "f6fc5b367dd002e50db8b92ff3d285e4");
	// Fewer than 16 bytes would not tell kernels apart.
	kernel_modules_htlhash("7b547e58a70dd26d", hash);
	assert_string_equal(hash, "");
}

static void expect_load_error(struct fixture *fixture, enum profcol_code code, const char *text)
{
	struct profcol_error *error = kernel_load(fixture->kernel, 0);

	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), code);
	if (!strstr(profcol_error_message(error), text))
		fail_msg("'%s' lacks '%s'", profcol_error_message(error), text);
	profcol_error_destroy(error);
	expect_unknown(fixture, 0xffffffff81000000, 1);
}

static void test_hidden_addresses_name_the_remedy(void **state)
{
	struct fixture *fixture = *state;

	put_text(fixture, "/proc/kallsyms",
		 "0000000000000000 T _text\n0000000000000000 t schedule\t[ext4]\n");
	expect_load_error(fixture, PROFCOL_UNSUPPORTED,
			  "grant CAP_SYSLOG and set sysctl kernel.kptr_restrict to 0 or 1");
	put_text(fixture, "/proc/kallsyms", "");
	expect_load_error(fixture, PROFCOL_UNSUPPORTED, "CAP_SYSLOG");
	remove(strcat(fixture->root, "/proc/kallsyms"));
	fixture->root[strlen(fixture->root) - strlen("/proc/kallsyms")] = '\0';
	expect_load_error(fixture, PROFCOL_SYSTEM, "CONFIG_KALLSYMS");
}

static void test_a_new_module_is_found(void **state)
{
	struct fixture *fixture = *state;
	struct kernel_symbol old;

	load(fixture, 0);
	assert_true(kernel_find(fixture->kernel, 0xffffffff81000100, 0, &old));
	put_text(fixture, "/proc/kallsyms",
		 "ffffffff81000000 T _text\nffffffffc0f00000 t fresh\t[new]\n");
	expect_unknown(fixture, 0xffffffffc0f00000, 1 * SECOND); // too soon
	expect(fixture, 0xffffffffc0f00000, 11 * SECOND, "fresh", "new", 0xffffffffc0f00000);
	assert_string_equal(old.name, "schedule"); // stays until forget
	assert_true(kernel_memory(fixture->kernel) > 0);
	kernel_forget(fixture->kernel);
	expect(fixture, 0xffffffffc0f00000, 12 * SECOND, "fresh", "new", 0xffffffffc0f00000);
}

static void test_a_module_in_the_place_of_another_is_noticed(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, 0);
	expect(fixture, 0xffffffffc0b00010, 0, "nf_hook", "nf_tables", 0xffffffffc0b00000);
	put_text(fixture, "/proc/kallsyms",
		 "ffffffff81000000 T _text\nffffffffc0b00000 t other\t[other]\n");
	// The list of modules says nothing yet, so the table is kept.
	expect(fixture, 0xffffffffc0b00010, 11 * SECOND, "nf_hook", "nf_tables",
	       0xffffffffc0b00000);
	put_text(fixture, "/proc/modules", "other 4096 0 - Live 0xffffffffc0b00000\n");
	expect(fixture, 0xffffffffc0b00010, 22 * SECOND, "other", "other", 0xffffffffc0b00000);
}

static void test_old_names_of_bpf_programs_are_renewed(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, 0);
	put_text(fixture, "/proc/kallsyms",
		 "ffffffff81000000 T _text\nffffffffc0c00000 t bpf_prog_2_new\t[bpf]\n");
	expect(fixture, 0xffffffffc0c00010, 299 * SECOND, "bpf_prog_6deef7357e7b4530_profile",
	       "bpf", 0xffffffffc0c00000);
	expect(fixture, 0xffffffffc0c00010, 301 * SECOND, "bpf_prog_2_new", "bpf",
	       0xffffffffc0c00000);
}

static void note(struct kernel_code *code, uint64_t time_ns, uint64_t start, uint64_t length,
		 const char *name, bool ends)
{
	const struct record record = {
		.kind = RECORD_KERNEL_CODE,
		.time_ns = time_ns,
		.start = start,
		.length = length,
		.ends = ends,
		.text = name,
		.text_length = strlen(name),
	};

	kernel_code_note(code, &record);
}

/* The last one in the list has no end there: what comes behind it is not it. */
static void test_a_bpf_program_that_comes_has_its_own_name(void **state)
{
	const uint64_t last = 0xffffffffc0c00100, behind = 0xffffffffc0c00200;
	struct kernel_code *code = kernel_code_create();
	struct fixture *fixture = *state;

	kernel_follow(fixture->kernel, code);
	load(fixture, 1);
	note(code, 2, behind, 0x80, "bpf_prog_3_hot", false);
	expect(fixture, behind, 3, "bpf_prog_3_hot", "bpf", behind);
	expect(fixture, behind + 0x7f, 3, "bpf_prog_3_hot", "bpf", behind);
	expect(fixture, last + 8, 3, "bpf_prog_1111111111111111_other", "bpf", last);
	kernel_forget(fixture->kernel);
	// It goes, and another one comes in its place.
	note(code, 4, behind, 0x80, "bpf_prog_3_hot", true);
	expect(fixture, behind, 5, "bpf_prog_3_hot", "bpf", behind);
	note(code, 6, behind, 0x40, "bpf_prog_4_new", false);
	// Samples of both may be in this batch.
	expect_unknown(fixture, behind, 7);
	expect(fixture, behind + 0x40, 7, "bpf_prog_3_hot", "bpf", behind);
	kernel_forget(fixture->kernel);
	expect(fixture, behind, 8, "bpf_prog_4_new", "bpf", behind);
	expect_unknown(fixture, behind + 0x40, 8);
	// One of the list goes as well.
	note(code, 9, last, 0x40, "bpf_prog_1111111111111111_other", true);
	kernel_forget(fixture->kernel);
	expect(fixture, last + 8, 10, "bpf_prog_1111111111111111_other", "bpf", last);
	kernel_forget(fixture->kernel);
	expect_unknown(fixture, last + 8, 11);
	note(code, 12, last, 0x100, "bpf_prog_5_next", false);
	expect(fixture, last + 0x80, 13, "bpf_prog_5_next", "bpf", last);
	kernel_destroy(TAKE(fixture->kernel));
	kernel_code_destroy(code);
}

static void test_after_a_loss_the_list_is_read_anew(void **state)
{
	struct kernel_code *code = kernel_code_create();
	struct fixture *fixture = *state;

	kernel_follow(fixture->kernel, code);
	load(fixture, 1 * SECOND);
	put_text(fixture, "/proc/kallsyms",
		 "ffffffff81000000 T _text\nffffffffc0c00000 t bpf_prog_2_new\t[bpf]\n");
	expect(fixture, 0xffffffffc0c00010, 400 * SECOND, "bpf_prog_6deef7357e7b4530_profile",
	       "bpf", 0xffffffffc0c00000);
	kernel_code_lose(code, 401 * SECOND);
	expect(fixture, 0xffffffffc0c00010, 402 * SECOND, "bpf_prog_2_new", "bpf",
	       0xffffffffc0c00000);
	kernel_destroy(TAKE(fixture->kernel));
	kernel_code_destroy(code);
}

/* To read the list takes a tenth of a second, and a busy machine loses records all the time. */
static void test_losses_that_hide_nothing_have_the_list_read_less_often(void **state)
{
	static const char new_list[] =
		"ffffffff81000000 T _text\nffffffffc0c00000 t bpf_prog_2_new\t[bpf]\n";
	const uint64_t address = 0xffffffffc0c00010, start = 0xffffffffc0c00000;
	static const char old[] = "bpf_prog_6deef7357e7b4530_profile";
	struct kernel_code *code = kernel_code_create();
	struct fixture *fixture = *state;

	kernel_follow(fixture->kernel, code);
	load(fixture, 1 * SECOND);
	kernel_code_lose(code, 20 * SECOND);
	expect(fixture, address, 21 * SECOND, old, "bpf", start);
	put_text(fixture, "/proc/kallsyms", new_list);
	kernel_code_lose(code, 22 * SECOND);
	expect(fixture, address, 35 * SECOND, old, "bpf", start);
	expect(fixture, address, 41 * SECOND, "bpf_prog_2_new", "bpf", start);
	// One that did has it read as soon as at first.
	put_text(fixture, "/proc/kallsyms", kallsyms);
	kernel_code_lose(code, 42 * SECOND);
	expect(fixture, address, 52 * SECOND, old, "bpf", start);
	kernel_destroy(TAKE(fixture->kernel));
	kernel_code_destroy(code);
}

static void test_what_lies_behind_a_module_is_not_its_last_function(void **state)
{
	struct fixture *fixture = *state;

	put_text(fixture, "/proc/modules", "ext4 73728 2 - Live 0xffffffffc09f0000\n");
	load(fixture, 0);
	expect(fixture, 0xffffffffc0a01fff, 0, "ext4_map", "ext4", 0xffffffffc09f0000);
	expect_unknown(fixture, 0xffffffffc0a02000, 0);
}

/* Addresses that stay unknown cost ever fewer reloads: the file is only read when it is due. */
static void test_unknown_addresses_do_not_cost_a_reload_each(void **state)
{
	struct fixture *fixture = *state;
	unsigned int reloads = 0;

	load(fixture, 0);
	for (uint64_t second = 5; second < 3600; second += 5) {
		char text[128];
		struct kernel_symbol symbol;

		// Whether it was read shows in the name.
		snprintf(text, sizeof(text), "ffffffff81000000 T at_%u\n", (unsigned int)second);
		put_text(fixture, "/proc/kallsyms", text);
		expect_unknown(fixture, 0xffffffffe0000000, second * SECOND);
		assert_true(
			kernel_find(fixture->kernel, 0xffffffff81000000, second * SECOND, &symbol));
		reloads += !strcmp(symbol.name, strrchr(text, ' ') + 1) ||
			   !strncmp(symbol.name, strrchr(text, ' ') + 1, strlen(symbol.name));
		kernel_forget(fixture->kernel);
	}
	assert_in_range(reloads, 5, 14);
}

static void test_the_running_kernel(void **state)
{
	struct kernel_table *table = NULL;
	struct profcol_error *error;
	struct kernel_symbol symbol;
	unsigned long long address = 0;
	char line[256], name[128] = "";
	CLEANUP_FILE FILE *file = fopen("/proc/kallsyms", "re");

	(void)state;
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%llx T %127s", &address, name) == 2 && !strcmp(name, "schedule"))
			break;
	if (strcmp(name, "schedule") || !address)
		skip(); // addresses are hidden from this user
	error = kernel_table_read("", &table);
	assert_null(error);
	assert_true(kernel_table_find(table, address + 1, &symbol));
	assert_string_equal(symbol.name, "schedule");
	assert_string_equal(symbol.module, "vmlinux");
	assert_true(strlen(symbol.build_id_gnu) >= 16);
	print_message("%zu functions, %.1f bytes each\n", kernel_table_count(table),
		      (double)kernel_table_memory(table) / (double)kernel_table_count(table));
	assert_true(kernel_table_memory(table) < 24 * kernel_table_count(table));
	kernel_table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_functions_have_names_and_modules, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_build_ids_of_kernel_and_modules, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_bpf_program_that_comes_has_its_own_name,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_after_a_loss_the_list_is_read_anew, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_losses_that_hide_nothing_have_the_list_read_less_often, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_what_lies_behind_a_module_is_not_its_last_function, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hidden_addresses_name_the_remedy, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_new_module_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_module_in_the_place_of_another_is_noticed,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_names_of_bpf_programs_are_renewed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_unknown_addresses_do_not_cost_a_reload_each,
						setup, teardown),
		cmocka_unit_test(test_hash_of_a_kernel_is_that_of_other_profilers),
		cmocka_unit_test(test_the_running_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

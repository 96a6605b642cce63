// SPDX-License-Identifier: Apache-2.0
/* Frames whose canonical frame address hangs on rbx: glibc's lazy binding, and what only looks so.
 */
#include "rules.h"

#include "receiver/ebpf/unwind/source.h"
#include "tests/unit/ebpf/symbols/elf_files.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RBX = 3, CALL_BYTES = 5, MOST_CALLS = 64 };

static struct rules rules;

struct opened {
	struct elf_file file;
	struct elf_view view;
	struct unwind_source source;
};

static void open_file(struct opened *opened, const char *path)
{
	elf_file_read(&opened->file, path);
	assert_true(elf_view_init(&opened->view, opened->file.bytes, opened->file.size));
	assert_int_equal(unwind_source_init(&opened->source, &opened->view), 0);
}

static void close_file(struct opened *opened)
{
	unwind_source_deinit(&opened->source);
	elf_file_deinit(&opened->file);
}

static void visit(const struct opened *opened, uint64_t start, uint64_t limit)
{
	rules_begin(&rules, start);
	unwind_source_visit(&opened->source, start, limit, rules_take, &rules);
	assert_int_equal(rules.at, limit);
}

static bool is_by_callee(const struct unwind_rule *rule)
{
	return rule->cfa == UNWIND_CFA_DEREFERENCED && rule->cfa_register == AMD64_SP &&
	       rule->cfa_offset < 0;
}

static size_t count_by_callee(void)
{
	size_t count = 0;

	for (size_t i = 0; i < rules.count; i++)
		count += is_by_callee(&rules.items[i].rule);
	return count;
}

/* ---- made callers ---- */

enum { CALLER_BYTES = 25 }; // push, mov, and, mov, mov, call, mov, ret

static void visit_caller(const struct opened *opened, const char *name)
{
	uint64_t start = elf_view_function(&opened->view, name);

	assert_true(start != 0);
	visit(opened, start, start + CALLER_BYTES);
}

static void test_a_callee_that_saves_first_is_believed(void **state)
{
	enum { CALL_END = 21 };
	struct opened opened;
	uint64_t last;

	(void)state;
	open_file(&opened, UNWIND_FILES "/lazy_binding.so");
	visit_caller(&opened, "calls_saving");
	last = elf_view_function(&opened.view, "calls_saving") + CALL_END - 1;
	assert_int_equal(count_by_callee(), 1);
	assert_int_equal(rules_at(&rules, last)->cfa, UNWIND_CFA_DEREFERENCED);
	assert_int_equal(rules_at(&rules, last)->cfa_register, AMD64_SP);
	assert_int_equal(rules_at(&rules, last)->cfa_offset, -24);
	assert_int_equal(rules_at(&rules, last)->cfa_addend, 32);
	assert_int_equal(rules_at(&rules, last)->ra_offset, -8);
	// Whatever part is asked for, it says the same.
	visit(&opened, last, last + 1);
	assert_int_equal(count_by_callee(), 1);
	visit(&opened, last - 1, last);
	assert_int_equal(count_by_callee(), 0);
	close_file(&opened);
}

static void test_other_callees_and_callers_are_not_believed(void **state)
{
	static const char *const names[] = {
		"calls_keeping",      // its neighbour saves
		"calls_saving_late",  // what it calls before may have changed it
		"calls_leaving",      // what it jumps to saves it elsewhere
		"calls_twice_saving", // in two places
		"calls_into",         // no function begins there
		"calls_table_less",   "calls_otherwise",
	};
	struct opened opened;

	(void)state;
	open_file(&opened, UNWIND_FILES "/lazy_binding.so");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		visit_caller(&opened, names[i]);
		if (count_by_callee())
			fail_msg("%s is believed", names[i]);
	}
	close_file(&opened);
}

static void test_only_so_many_calls_are_looked_at(void **state)
{
	struct opened opened;
	uint64_t start;

	(void)state;
	open_file(&opened, UNWIND_FILES "/lazy_binding.so");
	start = elf_view_function(&opened.view, "calls_often");
	visit(&opened, start, start + 1300);
	assert_int_equal(count_by_callee(), MOST_CALLS);
	close_file(&opened);
}

/* ---- the dynamic linker of this machine ---- */

/* Where libdw says that the function at @target saves rbx; fails the test unless that is one
 * place. */
static int64_t saved_by_libdw(Dwarf_CFI *cfi, const struct opened *opened, uint64_t target)
{
	struct cfi_fde fde;
	int64_t found = 0;

	assert_true(cfi_find(&opened->source.eh_frame, target, &fde));
	for (Dwarf_Addr at = target, next; at < fde.limit; at = next) {
		Dwarf_Op memory[3], *ops;
		Dwarf_Frame *frame;
		size_t count;

		assert_int_equal(dwarf_cfi_addrframe(cfi, at, &frame), 0);
		assert_true(dwarf_frame_info(frame, NULL, &next, NULL) >= 0);
		assert_int_equal(dwarf_frame_register(frame, RBX, memory, &ops, &count), 0);
		if (count) {
			assert_int_equal(count, 2);
			assert_int_equal(ops[0].atom, DW_OP_call_frame_cfa);
			assert_int_equal(ops[1].atom, DW_OP_plus_uconst);
			assert_true(!found || found == (int64_t)ops[1].number);
			found = (int64_t)ops[1].number;
		}
		free(frame);
	}
	return found;
}

static void test_lazy_binding_leads_on_to_its_caller(void **state)
{
	const char *path = "/lib64/ld-linux-x86-64.so.2";
	int file = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(file, ELF_C_READ, NULL);
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	struct opened opened;
	struct elf_piece text;
	size_t calls = 0;

	(void)state;
	assert_non_null(cfi);
	open_file(&opened, path);
	text = elf_view_section(&opened.view, ".text");
	for (uint64_t at = text.address; at < text.address + text.length; at += 4096) {
		uint64_t left = text.address + text.length - at;

		visit(&opened, at, at + (left < 4096 ? left : 4096));
		for (size_t i = 0; i < rules.count; i++) {
			const struct unwind_rule *rule = &rules.items[i].rule;
			uint64_t behind = rules.items[i].limit;
			int32_t distance;

			if (!is_by_callee(rule))
				continue;
			calls++;
			assert_int_equal(behind - rules.items[i].start, 1);
			memcpy(&distance, elf_view_code(&opened.view, behind - 4, 4).bytes, 4);
			assert_int_equal(
				rule->cfa_offset,
				saved_by_libdw(cfi, &opened, behind + (uint64_t)(int64_t)distance));
			assert_int_equal(rule->cfa_register, AMD64_SP);
			assert_int_equal(rule->cfa_addend, 32);
			assert_int_equal(rule->ra, UNWIND_AT_CFA);
			assert_int_equal(rule->ra_offset, -8);
		}
	}
	assert_int_equal(calls, 3); // by fxsave, xsave, xsavec
	close_file(&opened);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_callee_that_saves_first_is_believed),
		cmocka_unit_test(test_other_callees_and_callers_are_not_believed),
		cmocka_unit_test(test_only_so_many_calls_are_looked_at),
		cmocka_unit_test(test_lazy_binding_leads_on_to_its_caller),
	};

	elf_version(EV_CURRENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

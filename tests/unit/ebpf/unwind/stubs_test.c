// SPDX-License-Identifier: Apache-2.0
/* Code without a table that is known by its form: signal returns, entries, ends of threads. */
#include "made_elf.h"
#include "rules.h"

#include "receiver/ebpf/unwind/outermost.h"
#include "receiver/ebpf/unwind/signal_frame.h"
#include "receiver/ebpf/unwind/stubs.h"

#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

enum { TEXT = 0x1000, PADDING = 0xcc };

static struct rules rules;
static struct made_elf elf;

static void visit(uint64_t start, uint64_t limit)
{
	struct stubs stubs;

	stubs_init(&stubs, &elf.view);
	rules_begin(&rules, start);
	stubs_visit(&stubs, start, limit, rules_take, &rules);
	assert_int_equal(rules.at, limit);
}

/* Text of @length bytes with @form at @at in it. */
static void make_text(uint16_t machine, size_t length, size_t at, const void *form,
		      size_t form_length)
{
	uint8_t text[4096];

	assert_true(length <= sizeof(text) && at + form_length <= length);
	memset(text, PADDING, length);
	memcpy(text + at, form, form_length);
	made_elf_begin(&elf, machine);
	made_elf_add(&elf, ".text", TEXT, text, length, SHF_EXECINSTR);
}

/* [start, limit) of the text has rules of that kind, and nothing around it any. */
static void expect_only(uint64_t start, uint64_t limit, enum unwind_cfa kind)
{
	for (uint64_t at = rules.items[0].start; at < rules.at; at++)
		assert_int_equal(rules_at(&rules, at)->cfa,
				 at >= start && at < limit ? kind : UNWIND_CFA_UNKNOWN);
}

/* ---- signals ---- */

static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

static void test_a_signal_return_begins_one_byte_before_its_code(void **state)
{
	(void)state;
	make_text(EM_X86_64, 256, 64, restorer, sizeof(restorer));
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 256);
	expect_only(TEXT + 63, TEXT + 64 + sizeof(restorer), UNWIND_CFA_DEREFERENCED);
	assert_int_equal(rules_at(&rules, TEXT + 63)->signal, 1);
	// Whatever part is asked for, it says the same.
	for (uint64_t at = TEXT + 40; at < TEXT + 90; at++) {
		bool inside = at >= TEXT + 63 && at < TEXT + 64 + sizeof(restorer);

		visit(at, at + 1);
		assert_int_equal(rules_at(&rules, at)->cfa,
				 inside ? UNWIND_CFA_DEREFERENCED : UNWIND_CFA_UNKNOWN);
	}
}

static void test_a_signal_return_at_the_edge_of_the_text(void **state)
{
	(void)state;
	make_text(EM_X86_64, sizeof(restorer), 0, restorer, sizeof(restorer));
	made_elf_finish(&elf, true);
	visit(TEXT - 16, TEXT + 64);
	expect_only(TEXT, TEXT + sizeof(restorer), UNWIND_CFA_DEREFERENCED);
}

static void test_a_signal_return_of_arm64(void **state)
{
	static const uint32_t words[] = { 0xd2801168, 0xd4000001 };

	(void)state;
	make_text(EM_AARCH64, 128, 64, words, sizeof(words));
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 128);
	expect_only(TEXT + 63, TEXT + 72, UNWIND_CFA_DEREFERENCED);
}

/* ---- the system call that starts a thread ---- */

static void test_who_starts_a_thread_has_a_caller(void **state)
{
	static const uint8_t amd64[] = { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x18, 0x74, 1, 0xc3 };
	static const uint32_t arm64[] = { 0xd4000001, 0xf100001f, 0x540000a0, 0x5400004b,
					  0xd65f03c0 };
	struct unwind_rule called = rule_of(AMD64_SP, 8, -8);

	(void)state;
	called.new_thread = 1;
	make_text(EM_X86_64, 128, 64, amd64, sizeof(amd64));
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 128);
	expect_only(TEXT + 64, TEXT + 64 + sizeof(amd64), UNWIND_CFA_REGISTER);
	assert_rule_equal(rules_at(&rules, TEXT + 65), &called);

	make_text(EM_AARCH64, 128, 64, arm64, sizeof(arm64));
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 128);
	expect_only(TEXT + 64, TEXT + 64 + sizeof(arm64), UNWIND_CFA_REGISTER);
	called = rule_of(ARM64_SP, 0, 0);
	called.ra = UNWIND_SAME;
	called.new_thread = 1;
	assert_rule_equal(rules_at(&rules, TEXT + 64), &called);

	// Other system calls, and what is cut off, are none.
	make_text(EM_X86_64, 128, 64, amd64, sizeof(amd64) - 1);
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 128);
	expect_only(0, 0, UNWIND_CFA_UNKNOWN);
}

/* ---- signals, as this kernel makes them ---- */

#if defined(__x86_64__)
static struct {
	uintptr_t context;
	greg_t sp, ip, fp;
	uint64_t by_rule[3];
} caught;

static uint64_t word_at(uintptr_t address)
{
	uint64_t word;

	memcpy(&word, (const void *)address, sizeof(word));
	return word;
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	const struct unwind_rule rule = signal_frame_rule(unwind_machine_find(EM_X86_64));
	const greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	// The kernel passes the address of what the stack pointer is at when the handler returns.
	uintptr_t sp = (uintptr_t)context;

	(void)signal, (void)info;
	caught.sp = registers[REG_RSP];
	caught.ip = registers[REG_RIP];
	caught.fp = registers[REG_RBP];
	caught.by_rule[0] = word_at(sp + (uintptr_t)rule.cfa_offset);
	caught.by_rule[1] = word_at(sp + (uintptr_t)rule.ra_offset);
	caught.by_rule[2] = word_at(sp + (uintptr_t)rule.fp_offset);
}

static void test_the_rule_leads_to_what_this_kernel_interrupted(void **state)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	assert_true(caught.sp != 0);
	assert_int_equal(caught.by_rule[0], caught.sp);
	assert_int_equal(caught.by_rule[1], caught.ip);
	assert_int_equal(caught.by_rule[2], caught.fp);
}

static void test_glibcs_signal_return_has_the_form(void **state)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		const uint8_t *restorer;
		uint64_t mask;
	} action; // as the kernel has it, arch/x86/include/uapi/asm/signal.h
	struct sigaction ignored = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &ignored, NULL), 0);
	assert_int_equal(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &action, sizeof(action.mask)), 0);
	assert_int_equal(signal_frame_match(unwind_machine_find(EM_X86_64), action.restorer, 9), 9);
}

static const uint8_t *context_return;

static void in_context(void)
{
	context_return = __builtin_return_address(0);
}

static void test_glibcs_contexts_end_where_nobody_called(void **state)
{
	static uint8_t stack[65536];
	struct outermost outermost = { .machine = unwind_machine_find(EM_X86_64) };
	struct elf_piece code = { .length = 16 };
	ucontext_t own, context;

	(void)state;
	assert_int_equal(getcontext(&context), 0);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	context.uc_link = &own;
	makecontext(&context, in_context, 0);
	assert_int_equal(swapcontext(&own, &context), 0);
	code.bytes = context_return;
	assert_true(outermost_context_bytes(&outermost, &code) > 0);

	make_text(EM_X86_64, 256, 64, context_return, 16);
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 256);
	expect_only(TEXT + 63, TEXT + 64 + 10, UNWIND_CFA_END);
}
#endif

static void test_contexts_of_arm64_end_where_nobody_called(void **state)
{
	// nop; mov x0, x19; cbnz x0, 0xc4 bytes back; b exit
	static const uint32_t words[] = { 0xd503201f, 0xaa1303e0, 0xb5fff9e0, 0x17fff552 };
	// Somebody's own: the result of a test
	static const uint32_t others[] = { 0xd503201f, 0xaa1403e0, 0xb5fff9e0, 0x17fff552 };

	(void)state;
	make_text(EM_AARCH64, 256, 64, words, sizeof(words));
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 256);
	expect_only(TEXT + 63, TEXT + 64 + sizeof(words), UNWIND_CFA_END);
	make_text(EM_AARCH64, 256, 64, others, sizeof(others));
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 256);
	expect_only(0, 0, UNWIND_CFA_END);
}

/* ---- the vDSO ---- */

/* @soname with @words as the function at @position of its table of symbols, padding around it. */
static void make_library_at(const char *soname, const uint32_t *words, size_t bytes,
			    size_t position)
{
	enum { NAMES = 0x4000, DYNAMIC = 0x5000 };
	char names[32] = "";
	Elf64_Sym symbols[65] = { 0 };
	Elf64_Dyn dynamic[] = { { .d_tag = DT_STRTAB, .d_un.d_ptr = NAMES },
				{ .d_tag = DT_SONAME, .d_un.d_val = 1 },
				{ .d_tag = DT_NULL } };

	assert_true(position < sizeof(symbols) / sizeof(symbols[0]));
	symbols[position] = (Elf64_Sym){ .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
					 .st_shndx = 1,
					 .st_value = TEXT + 64,
					 .st_size = bytes };
	memcpy(names + 1, soname, strlen(soname));
	make_text(EM_AARCH64, 256, 64, words, bytes);
	made_elf_add(&elf, ".dynsym", 0x3000, symbols, sizeof(symbols), 0);
	made_elf_add(&elf, ".dynstr", NAMES, names, sizeof(names), 0);
	made_elf_add_typed(&elf, ".dynamic", DYNAMIC, dynamic, sizeof(dynamic), SHF_WRITE,
			   PT_DYNAMIC);
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 256);
}

static void make_library(const char *soname, const uint32_t *words, size_t bytes)
{
	make_library_at(soname, words, bytes, 1);
}

static void test_only_so_many_symbols_of_a_vdso_are_looked_at(void **state)
{
	static const uint32_t leaf[] = { 0xd503201f, 0xd65f03c0 }; // nop; ret

	(void)state;
	make_library_at("linux-vdso.so.1", leaf, sizeof(leaf), 63);
	expect_only(TEXT + 64, TEXT + 64 + sizeof(leaf), UNWIND_CFA_REGISTER);
	make_library_at("linux-vdso.so.1", leaf, sizeof(leaf), 64);
	expect_only(0, 0, UNWIND_CFA_REGISTER);
}

static void test_functions_of_arm64s_vdso_that_have_no_frame(void **state)
{
	// mrs x1, cntvct_el0; add x4, sp, x4; cbz x1, on; blind loads and stores; b back;
	// cmp x1, #1; tst x0, #3; ret
	static const uint32_t leaf[] = { 0xd53be041, 0x8b2463e4, 0xb4000061, 0xf9400802, 0xa9000c22,
					 0x17fffffb, 0xf100043f, 0xf240041f, 0xd65f03c0 };
	// What alone tells of a frame: stp x29, x30, [sp, #-16]!; sub sp, sp, #16; bl; blr x2;
	// str x0, [sp, #8]; mov x30, x3; ldp x19, x30, [x1]; and sp, x0, #-16; adds x29, x0, #1;
	// ands x30, x0, #1; ldr x0, [x29], #8; ldxp x1, x30, [x0]; addg sp, sp, #16, #0
	static const uint32_t framing[] = { 0xa9bf7bfd, 0xd10043ff, 0x94000004, 0xd63f0040,
					    0xf90007e0, 0xaa0303fe, 0xa9407833, 0x927cec1f,
					    0xb100041d, 0xf240001e, 0xf84087a0, 0xc87f7801,
					    0x918103ff };

	(void)state;
	make_library("linux-vdso.so.1", leaf, sizeof(leaf));
	expect_only(TEXT + 64, TEXT + 64 + sizeof(leaf), UNWIND_CFA_REGISTER);
	assert_int_equal(rules_at(&rules, TEXT + 64)->cfa_offset, 0);
	assert_int_equal(rules_at(&rules, TEXT + 64)->ra, UNWIND_SAME);
	// Others have tables where they have functions.
	make_library("libother.so.1", leaf, sizeof(leaf));
	expect_only(0, 0, UNWIND_CFA_REGISTER);
	for (size_t i = 0; i < sizeof(framing) / sizeof(framing[0]); i++) {
		uint32_t framed[] = { leaf[0], framing[i], 0xd65f03c0 };

		make_library("linux-vdso.so.1", framed, sizeof(framed));
		expect_only(0, 0, UNWIND_CFA_REGISTER);
	}
}

/* ---- entries ---- */

static void expect_entry(uint16_t machine, const void *form, size_t length, size_t expected)
{
	make_text(machine, 512, 128, form, length);
	elf.entry = TEXT + 128;
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 512);
	expect_only(TEXT + 128, TEXT + 128 + expected, UNWIND_CFA_END);
}

static void test_entries_are_the_end_of_a_walk(void **state)
{
	// glibc's, as GNU ld makes it of a static program
	static const uint8_t glibc[] = {
		0xf3, 0x0f, 0x1e, 0xfa,                   // endbr64
		0x31, 0xed,                               // xor %ebp, %ebp
		0x49, 0x89, 0xd1,                         // mov %rdx, %r9
		0x5e,                                     // pop %rsi
		0x48, 0x89, 0xe2,                         // mov %rsp, %rdx
		0x48, 0x83, 0xe4, 0xf0,                   // and $-16, %rsp
		0x50, 0x54,                               // push %rax; push %rsp
		0x45, 0x31, 0xc0, 0x31, 0xc9,             // xor %r8d, %r8d; xor %ecx, %ecx
		0x48, 0xc7, 0xc7, 0xf4, 0x41, 0xff, 0xe4, // mov $main, %rdi
		0x67, 0xe8, 0xf4, 2,    3,    0x7f,       // addr32 call __libc_start_main
		0xf4                                      // hlt
	};
	// What tells its end otherwise is part of displacements here.
	static const uint8_t dynamic[] = { 0x31, 0xed, 0x48, 0x8b, 0x3d, 0xf4, 0x41, 0xff,
					   0xe4, 0xff, 0x15, 0xf4, 0xf4, 0xf4, 0xf4, 0xf4 };
	// The dynamic linker's: mov %rsp, %rdi; call _dl_start; ... call _dl_init; ... jmp *%r12
	static const uint8_t linker[] = { 0x48, 0x89, 0xe7, 0xe8, 0xf4, 2,    3,    0x7f, 0x49,
					  0x89, 0xc4, 0x48, 0x8b, 0x14, 0x24, 0x48, 0x89, 0xd6,
					  0x49, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xf0, 0x48, 0x8b,
					  0x3d, 0xf4, 2,    3,    4,    0x49, 0x8d, 0x4c, 0xd5,
					  0x10, 0x49, 0x8d, 0x55, 0x08, 0x31, 0xed, 0xe8, 0xf4,
					  2,    3,    0x7f, 0x48, 0x8d, 0x15, 1,    2,    3,
					  4,    0x4c, 0x89, 0xec, 0x41, 0xff, 0xe4 };
	// Zig's: xor %ebp, %ebp; mov %rsp, %rdi; and $-16, %rsp; mov $main, %rax; call *%rax; ud2
	static const uint8_t zig[] = { 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x83, 0xe4, 0xf0, 0x48,
				       0xc7, 0xc0, 1,    2,    3,    4,    0xff, 0xd0, 0x0f, 0x0b };
	// The start of .text, which linkers gave as the entry of libraries.
	static const uint8_t library[] = { 0x48, 0x83, 0xec, 0x08, 0xf4 };

	(void)state;
	expect_entry(EM_X86_64, glibc, sizeof(glibc), sizeof(glibc));
	expect_entry(EM_X86_64, dynamic, sizeof(dynamic), sizeof(dynamic));
	expect_entry(EM_X86_64, zig, sizeof(zig), 18);
	expect_entry(EM_X86_64, linker, sizeof(linker), sizeof(linker));
	expect_entry(EM_X86_64, library, sizeof(library), 0);
}

static void test_an_entry_that_nothing_closes_ends_at_its_call(void **state)
{
	enum { MUSL_BYTES = 22, OWN_BYTES = 15 };
	// musl's, and _start_c behind it: xor %rbp, %rbp; mov %rsp, %rdi; lea _DYNAMIC(%rip), %rsi;
	// and $-16, %rsp; call _start_c; mov (%rdi), %esi; lea 8(%rdi), %rdx; ... hlt
	static const uint8_t musl[] = { 0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d, 0x35, 0xf4,
					0x41, 0xff, 0xe4, 0x48, 0x83, 0xe4, 0xf0, 0xe8, 0xf4, 2,
					3,    0x7f, 0x8b, 0x37, 0x48, 0x8d, 0x57, 0x08, 0x45, 0x31,
					0xc9, 0xe9, 0xf4, 2,    3,    0x7f, 0xf4 };
	// One's own: xor %ebp, %ebp; mov (%rsp), %edi; lea 8(%rsp), %rsi; call 16 bytes on; hlt
	static const uint8_t own[] = { 0x31, 0xed, 0x8b, 0x3c, 0x24, 0x48, 0x8d, 0x74,
				       0x24, 0x08, 0xe8, 16,   0,    0,    0,    0xf4 };
	static const uint8_t without[] = { 0x31, 0xed, 0x8b, 0x3c, 0x24, 0xf4 };

	(void)state;
	expect_entry(EM_X86_64, musl, sizeof(musl), MUSL_BYTES);
	expect_entry(EM_X86_64, own, sizeof(own), OWN_BYTES);
	expect_entry(EM_X86_64, without, sizeof(without), 2);
}

static void test_entries_of_arm64(void **state)
{
	// glibc: bti c; mov x29, #0; mov x30, #0; ... bl __libc_start_main; bl abort; adrp
	static const uint32_t glibc[] = { 0xd503245f, 0xd280001d, 0xd280001e, 0xaa0003e5,
					  0x94000010, 0x94000020, 0x90000000 };
	// musl: mov x29, #0; mov x30, #0; mov x0, sp; adrp; add; and sp, x0, #-16; b _start_c
	static const uint32_t musl[] = { 0xd280001d, 0xd280001e, 0x910003e0, 0xb0000001,
					 0x91000021, 0x927cec1f, 0x14000001, 0xaa0003e8 };
	// The dynamic linker: mov x0, sp; bl _dl_start; mov x21, x0; bl _dl_init; adrp; br x21
	static const uint32_t linker[] = { 0x910003e0, 0x94000040, 0xaa0003f5, 0x94000050,
					   0x90000000, 0xd61f02a0, 0xaa0003e8 };
	// mov x29, #0; bl main; mov x8, #93; svc #0
	static const uint32_t own[] = { 0xd280001d, 0x94000001, 0xd2800ba8, 0xd4000001 };

	(void)state;
	expect_entry(EM_AARCH64, glibc, sizeof(glibc), 24);
	expect_entry(EM_AARCH64, musl, sizeof(musl), 28);
	expect_entry(EM_AARCH64, linker, sizeof(linker), 24);
	expect_entry(EM_AARCH64, own, sizeof(own), 8);
}

/* ---- calls that nothing stands above ---- */

static void test_the_call_in_a_new_thread_is_the_end(void **state)
{
	// musl's __clone: xor %ebp, %ebp; pop %rdi; call *%r9; mov %eax, %edi; ... syscall; hlt
	static const uint8_t amd64[] = { 0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0x89, 0xc7,
					 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05, 0xf4 };
	// ldp x1, x0, [sp], #16; blr x1; mov x8, #93; svc #0
	static const uint32_t arm64[] = { 0xa8c103e1, 0xd63f0020, 0xd2800ba8, 0xd4000001 };

	(void)state;
	make_text(EM_X86_64, 128, 32, amd64, sizeof(amd64));
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 128);
	expect_only(TEXT + 35, TEXT + 46, UNWIND_CFA_END);
	make_text(EM_AARCH64, 128, 32, arm64, sizeof(arm64));
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 128);
	expect_only(TEXT + 36, TEXT + 48, UNWIND_CFA_END);
}

/* libc.so with two functions, the second of which calls @name after an indirect call. */
static void make_libc(const char *soname, const char *name, const void *form, size_t length)
{
	enum { NAMES = 0x4000, DYNAMIC = 0x5000, FUNCTION = TEXT + 16 };
	char names[64] = "";
	Elf64_Sym symbols[2] = { { 0 },
				 { .st_name = 1,
				   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				   .st_shndx = 1,
				   .st_value = FUNCTION } };
	Elf64_Dyn dynamic[] = { { .d_tag = DT_STRTAB, .d_un.d_ptr = NAMES },
				{ .d_tag = DT_SONAME, .d_un.d_val = 32 },
				{ .d_tag = DT_NULL } };

	memcpy(names + 1, name, strlen(name));
	memcpy(names + 32, soname ? soname : "", soname ? strlen(soname) : 0);
	dynamic[1].d_un.d_val = soname ? 32 : 0;
	make_text(EM_X86_64, 256, 128, form, length);
	made_elf_add(&elf, ".dynsym", 0x3000, symbols, sizeof(symbols), 0);
	made_elf_add(&elf, ".dynstr", NAMES, names, sizeof(names), 0);
	made_elf_add_typed(&elf, ".dynamic", DYNAMIC, dynamic, sizeof(dynamic), SHF_WRITE,
			   PT_DYNAMIC);
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 256);
}

static void test_musls_calls_of_main_and_of_a_threads_function_are_the_end(void **state)
{
	// call *%rbx; mov %eax, %edi; call exit, which lies 119 bytes back
	static const uint8_t main_call[] = { 0xff, 0xd3, 0x89, 0xc7, 0xe8, 0x87, 0xff, 0xff, 0xff };
	// call *8(%rdi); mov %rax, %rdi; call pthread_exit
	static const uint8_t c11_call[] = { 0xff, 0x10, 0x48, 0x63, 0xf8,
					    0xe8, 0x86, 0xff, 0xff, 0xff };
	static const uint8_t thread_call[] = { 0xff, 0x57, 0x08, 0x48, 0x89, 0xc7,
					       0xe8, 0x85, 0xff, 0xff, 0xff };

	(void)state;
	make_libc("libc.so", "exit", main_call, sizeof(main_call));
	expect_only(TEXT + 128, TEXT + 128 + sizeof(main_call), UNWIND_CFA_END);
	make_libc("libc.musl-x86_64.so.1", "pthread_exit", thread_call, sizeof(thread_call));
	expect_only(TEXT + 128, TEXT + 128 + sizeof(thread_call), UNWIND_CFA_END);
	// The one of C11's threads: call *(%rax); movslq %eax, %rdi
	make_libc(NULL, "pthread_exit", c11_call, sizeof(c11_call));
	expect_only(TEXT + 128, TEXT + 128 + sizeof(c11_call), UNWIND_CFA_END);
	// Anybody may call exit(function()).
	make_libc("libother.so", "exit", main_call, sizeof(main_call));
	expect_only(0, 0, UNWIND_CFA_END);
	make_libc("libc.so", "abort", main_call, sizeof(main_call));
	expect_only(0, 0, UNWIND_CFA_END);
}

static void test_in_a_static_program_the_entry_leads_to_the_call_of_main(void **state)
{
	uint8_t text[2048];
	// _start at 0 calls 64, which jumps to 128; 40 bytes on is the call of main.
	static const uint8_t start[] = { 0x48, 0x31, 0xed, 0xe8, 56, 0, 0, 0 };
	static const uint8_t start_c[] = { 0x48, 0x8b, 0x37, 0xe9, 56, 0, 0, 0 };
	static const uint8_t call[] = { 0xff, 0xd3, 0x89, 0xc7, 0xe8, 1, 2, 3, 0 };

	(void)state;
	memset(text, PADDING, sizeof(text));
	memcpy(text, start, sizeof(start));
	memcpy(text + 64, start_c, sizeof(start_c));
	memcpy(text + 168, call, sizeof(call));
	memcpy(text + 1800, call, sizeof(call)); // too far
	made_elf_begin(&elf, EM_X86_64);
	made_elf_add(&elf, ".text", TEXT, text, sizeof(text), SHF_EXECINSTR);
	elf.entry = TEXT;
	made_elf_finish(&elf, false);
	visit(TEXT + 96, TEXT + 2048);
	expect_only(TEXT + 168, TEXT + 168 + sizeof(call), UNWIND_CFA_END);
}

static void test_a_machine_we_do_not_know_has_no_stubs(void **state)
{
	(void)state;
	make_text(EM_RISCV, 64, 0, restorer, sizeof(restorer));
	made_elf_finish(&elf, true);
	visit(TEXT, TEXT + 64);
	expect_only(0, 0, UNWIND_CFA_END);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_signal_return_begins_one_byte_before_its_code),
		cmocka_unit_test(test_a_signal_return_at_the_edge_of_the_text),
		cmocka_unit_test(test_a_signal_return_of_arm64),
		cmocka_unit_test(test_who_starts_a_thread_has_a_caller),
#if defined(__x86_64__)
		cmocka_unit_test(test_the_rule_leads_to_what_this_kernel_interrupted),
		cmocka_unit_test(test_glibcs_contexts_end_where_nobody_called),
		cmocka_unit_test(test_glibcs_signal_return_has_the_form),
#endif
		cmocka_unit_test(test_entries_are_the_end_of_a_walk),
		cmocka_unit_test(test_an_entry_that_nothing_closes_ends_at_its_call),
		cmocka_unit_test(test_contexts_of_arm64_end_where_nobody_called),
		cmocka_unit_test(test_only_so_many_symbols_of_a_vdso_are_looked_at),
		cmocka_unit_test(test_functions_of_arm64s_vdso_that_have_no_frame),
		cmocka_unit_test(test_entries_of_arm64),
		cmocka_unit_test(test_the_call_in_a_new_thread_is_the_end),
		cmocka_unit_test(test_musls_calls_of_main_and_of_a_threads_function_are_the_end),
		cmocka_unit_test(test_in_a_static_program_the_entry_leads_to_the_call_of_main),
		cmocka_unit_test(test_a_machine_we_do_not_know_has_no_stubs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

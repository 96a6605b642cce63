// SPDX-License-Identifier: Apache-2.0
#include "signal_frame.h"

#include <elf.h>
#include <string.h>

/*
 * amd64: the handler returns with the stack pointer at the ucontext of struct rt_sigframe
 * (arch/x86/include/asm/sigframe.h). In it (include/uapi/asm-generic/ucontext.h, struct
 * sigcontext_64 of arch/x86/include/uapi/asm/sigcontext.h): uc_flags 8, uc_link 8, uc_stack 24,
 * then r8..r15, di, si, bp, bx, dx, ax, cx, sp, ip.
 */
enum {
	AMD64_REGISTERS = 40,
	AMD64_BP = AMD64_REGISTERS + 10 * 8,
	AMD64_SP = AMD64_REGISTERS + 15 * 8,
	AMD64_IP = AMD64_REGISTERS + 16 * 8,
};

/*
 * arm64: the stack pointer is at struct rt_sigframe (arch/arm64/kernel/signal.c): siginfo 128,
 * then the ucontext (arch/arm64/include/uapi/asm/ucontext.h): uc_flags 8, uc_link 8, uc_stack 24,
 * uc_sigmask and what it may grow to 128, aligned to 16; then struct sigcontext: fault_address 8,
 * x0..x30, sp, pc.
 */
enum {
	ARM64_REGISTERS = 128 + 176 + 8,
	ARM64_FP = ARM64_REGISTERS + 29 * 8,
	ARM64_SP = ARM64_REGISTERS + 31 * 8,
	ARM64_PC = ARM64_REGISTERS + 32 * 8,
};

struct unwind_rule signal_frame_rule(const struct unwind_machine *machine)
{
	bool arm64 = machine->elf_machine == EM_AARCH64;

	return (struct unwind_rule){
		.cfa = UNWIND_CFA_DEREFERENCED,
		.cfa_register = machine->sp,
		.cfa_offset = arm64 ? ARM64_SP : AMD64_SP,
		.ra = UNWIND_AT_SP,
		.ra_offset = arm64 ? ARM64_PC : AMD64_IP,
		.fp = UNWIND_AT_SP,
		.fp_offset = arm64 ? ARM64_FP : AMD64_BP,
		.signal = UNWIND_TRAMPOLINE,
	};
}

static size_t match(const uint8_t *bytes, size_t length, const void *form, size_t form_length)
{
	return length >= form_length && !memcmp(bytes, form, form_length) ? form_length : 0;
}

/*
 * glibc's __restore_rt (sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c), musl's
 * (src/signal/x86_64/ restore.s) and Go's are all the same, as unwinders look for it; a compiler
 * may write the shorter one. arm64: arch/arm64/kernel/vdso/sigreturn.S, musl's
 * src/signal/aarch64/restore.s.
 */
size_t signal_frame_match(const struct unwind_machine *machine, const uint8_t *bytes, size_t length)
{
	static const uint8_t mov_rax[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t mov_eax[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint32_t mov_x8[] = { 0xd2801168, 0xd4000001 };
	size_t found;

	if (machine->elf_machine == EM_AARCH64)
		return match(bytes, length, mov_x8, sizeof(mov_x8));
	found = match(bytes, length, mov_rax, sizeof(mov_rax));
	return found ? found : match(bytes, length, mov_eax, sizeof(mov_eax));
}

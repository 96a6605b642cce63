// SPDX-License-Identifier: Apache-2.0
#include "thread_start.h"

#include <elf.h>
#include <string.h>

struct unwind_rule thread_start_rule(const struct unwind_machine *machine)
{
	bool arm64 = machine->elf_machine == EM_AARCH64;

	return (struct unwind_rule){
		.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = machine->sp,
		.cfa_offset = arm64 ? 0 : 8,
		.ra = arm64 ? UNWIND_SAME : UNWIND_AT_CFA,
		.ra_offset = arm64 ? 0 : -8,
		.fp = UNWIND_SAME,
		.new_thread = 1,
	};
}

/* sysdeps/unix/sysv/linux/x86_64/clone.S, clone3.S: syscall; test %rax, %rax; jl; jz; ret. */
static size_t match_amd64(const uint8_t *bytes, size_t length)
{
	static const uint8_t call[] = { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c };
	enum { ZERO = 7, RETURN = 9, END = 10 };

	if (length < END || memcmp(bytes, call, sizeof(call)) || bytes[ZERO] != 0x74 ||
	    bytes[RETURN] != 0xc3)
		return 0;
	return END;
}

/* sysdeps/unix/sysv/linux/aarch64/clone.S, clone3.S: svc #0; cmp x0, #0; b.eq; b.lt; ret. */
static size_t match_arm64(const uint8_t *bytes, size_t length)
{
	static const uint32_t words[] = { 0xd4000001, 0xf100001f, 0x54000000, 0x5400000b,
					  0xd65f03c0 };
	static const uint32_t masks[] = { UINT32_MAX, UINT32_MAX, 0xff00001f, 0xff00001f,
					  UINT32_MAX };

	if (length < sizeof(words))
		return 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint32_t word;

		memcpy(&word, bytes + i * sizeof(word), sizeof(word));
		if ((word & masks[i]) != words[i])
			return 0;
	}
	return sizeof(words);
}

size_t thread_start_match(const struct unwind_machine *machine, const uint8_t *bytes, size_t length)
{
	return machine->elf_machine == EM_AARCH64 ? match_arm64(bytes, length)
						  : match_amd64(bytes, length);
}

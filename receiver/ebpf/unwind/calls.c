// SPDX-License-Identifier: Apache-2.0
#include "calls.h"

#include <elf.h>
#include <string.h>

static bool begins(const uint8_t *code, size_t length, const uint8_t *with, size_t with_length)
{
	return length >= with_length && !memcmp(code, with, with_length);
}

/*
 * What tools that trace a running program write calls over: GCC's and Clang's
 * -fpatchable-function-entry, one instruction or five, and the sled of Clang's XRay
 * (compiler-rt/lib/xray/xray_x86_64.cpp).
 */
static bool is_room(const uint8_t *code, size_t length)
{
	static const uint8_t nops[] = { 0x90, 0x90, 0x90, 0x90, 0x90 };
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	static const uint8_t sled[] = { 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x02, 0x00, 0x00 };

	return begins(code, length, nops, sizeof(nops)) || begins(code, length, nop, sizeof(nop)) ||
	       begins(code, length, sled, sizeof(sled));
}

/* E8 with a distance, of two bytes where a prefix says so, else four; FF /2 and FF /3 with a
 * place. */
static bool amd64_may_call(const uint8_t *code, size_t length)
{
	enum { NEAR_LEAST = 3 };

	for (size_t i = 0; i + 1 < length; i++) {
		uint8_t extension = code[i + 1] >> 3 & 7;

		if ((code[i] == 0xe8 && i + NEAR_LEAST <= length) ||
		    (code[i] == 0xff && (extension == 2 || extension == 3)) ||
		    is_room(code + i, length - i))
			return true;
	}
	return false;
}

/* BL; BLR, BLRAA and the like. */
static bool arm64_may_call(const uint8_t *code, size_t length)
{
	for (size_t i = 0; length - i >= 4; i += 4) {
		uint32_t word;

		memcpy(&word, code + i, sizeof(word));
		if (word >> 26 == 0x25 || (word & 0xfee00000) == 0xd6200000)
			return true;
	}
	return length % 4;
}

bool calls_may_end_in(const uint8_t *code, size_t length, uint16_t elf_machine)
{
	switch (elf_machine) {
	case EM_X86_64:
		return amd64_may_call(code, length);
	case EM_AARCH64:
		return arm64_may_call(code, length);
	default:
		return true;
	}
}

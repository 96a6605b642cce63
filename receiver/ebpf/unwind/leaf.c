// SPDX-License-Identifier: Apache-2.0
#include "leaf.h"

#include "signal_frame.h"

#include <elf.h>
#include <string.h>

enum {
	INSTRUCTION_BYTES = 4,
	/* So many symbols are looked at, of so many bytes in all: the vDSO has a handful. */
	SYMBOLS_MAX = 64,
	CODE_BYTES_MAX = 1 << 16,
	FRAME_POINTER = 29,
	LINK = 30,
	SP = 31
};

static bool is_kept(uint32_t reg)
{
	return reg == FRAME_POINTER || reg == LINK;
}

/* Has this load or store a second register, in bits 10 to 14? Exclusive ones may. */
static bool is_of_pairs(uint32_t word)
{
	return (word & 0x3a000000) == 0x28000000 || (word & 0x3f000000) == 0x08000000;
}

/*
 * Could it change the stack pointer, the frame pointer or the link register, or use the stack?
 * By the encoding groups of the Arm Architecture Reference Manual, C4.1; what is none of them has
 * no such result, and to say yes to too much does no harm.
 */
static bool may_make_frame(uint32_t word)
{
	uint32_t result = word & 31, base = word >> 5 & 31, second = word >> 10 & 31;
	bool sets_flags = word >> 29 & 1;

	if ((word & 0x7c000000) == 0x14000000) // b, bl
		return word >> 31;
	if ((word & 0xfe000000) == 0xd6000000) // br, blr, ret and their signed forms
		return (word & 0x00600000) == 0x00200000;
	// Loads and stores: also of pairs, and such as leave their base changed.
	if ((word & 0x0a000000) == 0x08000000)
		return base >= FRAME_POINTER || is_kept(result) ||
		       (is_of_pairs(word) && is_kept(second));
	// Register 31 is the stack pointer in these, and zero in those of them that set flags.
	if ((word & 0x1f000000) == 0x11000000 || (word & 0x1fe00000) == 0x0b200000)
		return result >= FRAME_POINTER && !(result == SP && sets_flags); // add, sub
	if ((word & 0x1f800000) == 0x12000000)                                   // and, orr, eor
		return result >= FRAME_POINTER &&
		       !(result == SP && (word & 0x60000000) == 0x60000000);
	return is_kept(result);
}

static bool has_frame(const struct elf_piece *code)
{
	for (size_t at = 0; at + INSTRUCTION_BYTES <= code->length; at += INSTRUCTION_BYTES) {
		uint32_t word;

		memcpy(&word, code->bytes + at, sizeof(word));
		if (may_make_frame(word))
			return true;
	}
	return false;
}

/* *@left is of CODE_BYTES_MAX. */
static bool is_leaf(const struct elf_view *view, const struct unwind_machine *machine,
		    const Elf64_Sym *symbol, uint64_t *left)
{
	struct elf_piece code;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_size ||
	    symbol->st_size > *left)
		return false;
	*left -= symbol->st_size;
	code = elf_view_code(view, symbol->st_value, symbol->st_size);
	return code.length == symbol->st_size &&
	       !signal_frame_match(machine, code.bytes, code.length) && !has_frame(&code);
}

size_t leaf_find(const struct elf_view *view, const struct unwind_machine *machine,
		 struct leaf_area *ret, size_t max)
{
	static const char vdso[] = "linux-vdso";
	const char *name = elf_view_soname(view);
	struct elf_piece symbols = elf_view_section(view, ".dynsym");
	uint64_t left = CODE_BYTES_MAX;
	size_t count = 0;

	if (symbols.length > SYMBOLS_MAX * sizeof(Elf64_Sym))
		symbols.length = SYMBOLS_MAX * sizeof(Elf64_Sym);
	if (machine->elf_machine != EM_AARCH64 || !name || strncmp(name, vdso, sizeof(vdso) - 1))
		return 0;
	for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.length && count < max;
	     at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, symbols.bytes + at, sizeof(symbol));
		if (is_leaf(view, machine, &symbol, &left))
			ret[count++] = (struct leaf_area){
				.start = symbol.st_value,
				.limit = symbol.st_value + symbol.st_size,
			};
	}
	return count;
}

struct unwind_rule leaf_rule(const struct unwind_machine *machine)
{
	return (struct unwind_rule){
		.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = machine->sp,
		.ra = UNWIND_SAME,
		.fp = UNWIND_SAME,
	};
}

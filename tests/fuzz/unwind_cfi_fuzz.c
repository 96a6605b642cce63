// SPDX-License-Identifier: Apache-2.0
/*
 * Call frame information, the section itself: every entry of it is read and run, and looked up by
 * address. The first byte says which kind of section it is, and for which machine. Whatever the
 * bytes are, rules come in order and cover what was asked for.
 */
#include "receiver/ebpf/unwind/cfi.h"
#include "receiver/ebpf/unwind/cfi_expression.h"
#include "receiver/ebpf/unwind/cfi_program.h"

#include <elf.h>
#include <stdlib.h>

enum { SECTION = 0x10000, ENTRIES = 64, SPAN = 1 << 16, DEBUG = 1, ARM64 = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct expected {
	uint64_t at, limit;
};

static void take(void *context, uint64_t start, uint64_t limit, const struct unwind_rule *rule)
{
	struct expected *expected = context;

	if (start != expected->at || limit <= start || limit > expected->limit ||
	    rule->cfa > UNWIND_CFA_UNSUPPORTED || rule->unsupported >= UNWIND_UNSUPPORTED_COUNT)
		abort();
	expected->at = limit;
}

static void run_entry(const struct cfi_fde *fde, const struct cfi_section *section,
		      const struct unwind_machine *machine)
{
	uint64_t limit = fde->limit - fde->start > SPAN ? fde->start + SPAN : fde->limit;
	struct expected expected = { .at = fde->start, .limit = limit };
	struct cfi_window window = {
		.start = fde->start,
		.limit = limit,
		.take = take,
		.context = &expected,
		.effort = &(struct effort){ EFFORT_PAGE },
	};

	cfi_program_run(fde, section, machine, &window);
	if (expected.at != limit)
		abort();
}

static void look_up(const struct cfi *cfi)
{
	for (size_t i = 0; i < cfi->count && i < ENTRIES; i++) {
		uint64_t start = cfi->index[i].start & ~15ull;
		struct expected expected = { .at = start, .limit = start + SPAN };

		if (start > UINT64_MAX - SPAN)
			continue;
		cfi_visit(cfi, start, start + SPAN, &(struct effort){ EFFORT_PAGE }, take,
			  &expected);
		if (expected.at != expected.limit)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint16_t machine = size && bytes[0] & ARM64 ? EM_AARCH64 : EM_X86_64;
	struct cfi_section section = { 0 };
	struct cfi_fde fde;
	enum cfi_entry entry;
	size_t offset = 0, next = 0;
	struct cfi cfi;

	if (!size)
		return 0;
	section.debug = bytes[0] & DEBUG;
	section.piece = (struct elf_piece){ .bytes = bytes + 1, .length = size - 1 };
	section.piece.address = section.debug ? 0 : SECTION;
	for (unsigned int i = 0; i < ENTRIES && (entry = cfi_entry_read(&section, offset, &fde,
									&next)) != CFI_ENTRY_END;
	     i++, offset = next)
		if (entry == CFI_ENTRY_FDE)
			run_entry(&fde, &section, unwind_machine_find(machine));
	cfi_expression_read(bytes + 1, size - 1, 16);
	if (section.debug && !cfi_init_debug_frame(&cfi, machine, &section.piece)) {
		look_up(&cfi);
		cfi_deinit(&cfi);
	}
	return 0;
}

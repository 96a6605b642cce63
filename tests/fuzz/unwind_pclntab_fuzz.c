// SPDX-License-Identifier: Apache-2.0
/*
 * Go's table of functions, found by its magic in a file that is nothing but one segment. The first
 * byte says for which machine. Whatever the bytes are, rules come in order and cover what was asked
 * for.
 */
#include "receiver/ebpf/unwind/pclntab.h"

#include <elf.h>
#include <stdlib.h>

enum { ADDRESS = 0x400000, FUNCTIONS = 16, SPAN = 1 << 12 };

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

static void visit(const struct pclntab *table, uint64_t start, uint64_t limit)
{
	struct expected expected = { .at = start, .limit = limit };

	pclntab_visit(table, start, limit, &(struct effort){ EFFORT_PAGE }, take, &expected);
	if (expected.at != limit)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct elf_view view = { 0 };
	struct pclntab table;

	if (size < 2)
		return 0;
	view.file = bytes + 1;
	view.size = size - 1;
	view.machine = bytes[0] & 1 ? EM_AARCH64 : EM_X86_64;
	view.segment_count = 1;
	view.segments[0] = (struct elf_view_segment){
		.address = ADDRESS, .file_bytes = size - 1, .executable = true, .writable = true
	};
	pclntab_init(&table, &view);
	for (uint64_t i = 0; i < FUNCTIONS && table.text < UINT64_MAX - FUNCTIONS * SPAN; i++)
		visit(&table, table.text + i * SPAN, table.text + (i + 1) * SPAN);
	visit(&table, ADDRESS, ADDRESS + size);
	return 0;
}

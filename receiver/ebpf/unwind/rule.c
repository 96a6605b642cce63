// SPDX-License-Identifier: Apache-2.0
#include "rule.h"

#include <elf.h>
#include <stddef.h>

static const struct unwind_machine machines[] = {
	{ .elf_machine = EM_X86_64, .sp = 7, .fp = 6, .ra = 16 },
	{ .elf_machine = EM_AARCH64, .sp = 31, .fp = 29, .ra = 30 },
};

const struct unwind_machine *unwind_machine_find(uint16_t elf_machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].elf_machine == elf_machine)
			return &machines[i];
	return NULL;
}

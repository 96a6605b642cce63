// SPDX-License-Identifier: Apache-2.0
/*
 * Compares our rules with libdw's call frame information, at random addresses of each file's code:
 *
 *   cfi_oracle [--count N] FILE...        all we know of a file with its .eh_frame
 *   cfi_oracle [--count N] --go FILE...   Go's function table with .debug_frame, uncompressed
 *
 * Both are evaluated with the same made-up registers and memory, so that it does not matter how
 * either writes a rule. Prints a line for each disagreement and the first of what we cannot
 * express, then one with the sums:
 *
 *   FILE: at ADDRESS: ours, theirs
 *   files=N addresses=N equal=N (unknown=N end=N) go=N debug_frame=N stubs=N own=N different=N
 *   unsupported: N...
 *
 * go, debug_frame, stubs: .eh_frame has no rule there, but Go's function table, .debug_frame, or we
 * know the code by its form. own: the caller is on another
 * stack, or beyond a signal, which a file's tables do not say (Go), or found by what the callee has
 * saved. unsupported: by enum
 * unwind_unsupported. Exit code 1 when anything is different.
 */
#include "unwind/unwind.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REGISTERS = 128, STACK = 16, SHOWN = 20 };

/* What a frame's caller looks like, by either. */
struct caller {
	enum { NO_RULE, ENTRY, CALLER, BEYOND } kind;
	uint64_t cfa, ra, fp;
	bool fp_lost;
	unsigned int unsupported;
};

struct world {
	uint64_t registers[REGISTERS];
	uint64_t pc;
	const struct unwind_machine *machine;
};

struct sums {
	uint64_t files, addresses, equal, unknown, end, go, debug_frame, stubs, own, different;
	uint64_t unsupported[UNWIND_UNSUPPORTED_COUNT];
};

static uint64_t mix(uint64_t value)
{
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccd;
	value ^= value >> 33;
	value *= 0xc4ceb9fe1a85ec53;
	return value ^ value >> 33;
}

/* Memory holds at each address a number of its own. */
static uint64_t memory(uint64_t address)
{
	return mix(address + 0x9e3779b97f4a7c15);
}

static struct world world_make(const struct unwind_machine *machine, uint64_t pc)
{
	struct world world = { .machine = machine, .pc = pc };

	for (int i = 0; i < REGISTERS; i++)
		world.registers[i] = mix(pc * 131 + (uint64_t)i) & 0x7ffffffffff8;
	if (machine->elf_machine == EM_X86_64)
		world.registers[machine->ra] = pc;
	return world;
}

/* ---- ours ---- */

static void take_rule(void *context, uint64_t start, uint64_t limit, const struct unwind_rule *rule)
{
	(void)start, (void)limit;
	*(struct unwind_rule *)context = *rule;
}

static uint64_t ours_saved(const struct world *world, uint8_t how, int32_t offset, uint64_t cfa,
			   unsigned int reg)
{
	const struct unwind_machine *machine = world->machine;

	switch (how) {
	case UNWIND_AT_CFA:
		return memory(cfa + (uint64_t)(int64_t)offset);
	case UNWIND_AT_SP:
		return memory(world->registers[machine->sp] + (uint64_t)(int64_t)offset);
	case UNWIND_AT_FP:
		return memory(world->registers[machine->fp] + (uint64_t)(int64_t)offset);
	case UNWIND_IN_REGISTER:
		return offset < REGISTERS ? world->registers[offset] : 0;
	default:
		return world->registers[reg];
	}
}

static struct caller ours(const struct world *world, const struct unwind_rule *rule)
{
	struct caller caller = { .kind = CALLER, .unsupported = rule->unsupported };
	uint64_t base = world->registers[rule->cfa_register % REGISTERS] +
			(uint64_t)(int64_t)rule->cfa_offset;

	switch ((enum unwind_cfa)rule->cfa) {
	case UNWIND_CFA_UNKNOWN:
		caller.kind = NO_RULE;
		return caller;
	case UNWIND_CFA_END:
		caller.kind = ENTRY;
		return caller;
	case UNWIND_CFA_UNSUPPORTED:
		caller.kind = BEYOND;
		return caller;
	case UNWIND_CFA_REGISTER:
		caller.cfa = base;
		break;
	case UNWIND_CFA_DEREFERENCED:
		caller.cfa = memory(base) + (uint64_t)(int64_t)rule->cfa_addend;
		break;
	case UNWIND_CFA_PLT:
		caller.cfa = base + ((int32_t)(world->pc & 15) >= rule->cfa_addend ? 8 : 0);
		break;
	}
	caller.ra = ours_saved(world, rule->ra, rule->ra_offset, caller.cfa, world->machine->ra);
	caller.fp = ours_saved(world, rule->fp, rule->fp_offset, caller.cfa, world->machine->fp);
	caller.fp_lost = rule->fp == UNWIND_LOST;
	return caller;
}

/* ---- theirs ---- */

/* False for an operation that nobody has met yet: extend this then. */
static bool evaluate(const struct world *world, const Dwarf_Op *ops, size_t count, uint64_t cfa,
		     uint64_t *ret, bool *value_ret)
{
	uint64_t stack[STACK] = { 0 };
	size_t depth = 0;

	*value_ret = false;
	for (size_t i = 0; i < count; i++) {
		const Dwarf_Op *op = &ops[i];

		if (depth + 1 >= STACK)
			return false;
		if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
			stack[depth++] = world->registers[op->atom - DW_OP_breg0] + op->number;
		} else if (op->atom == DW_OP_bregx && op->number < REGISTERS) {
			stack[depth++] = world->registers[op->number] + op->number2;
		} else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
			stack[depth++] = world->registers[op->atom - DW_OP_reg0];
			*value_ret = true;
		} else if (op->atom == DW_OP_regx && op->number < REGISTERS) {
			stack[depth++] = world->registers[op->number];
			*value_ret = true;
		} else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
			stack[depth++] = op->atom - DW_OP_lit0;
		} else if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts) {
			stack[depth++] = op->number;
		} else if (op->atom == DW_OP_call_frame_cfa) {
			stack[depth++] = cfa;
		} else if (op->atom == DW_OP_stack_value) {
			*value_ret = true;
		} else if (op->atom == DW_OP_plus_uconst && depth) {
			stack[depth - 1] += op->number;
		} else if (op->atom == DW_OP_deref && depth) {
			stack[depth - 1] = memory(stack[depth - 1]);
		} else if (depth >= 2) {
			uint64_t right = stack[--depth];

			switch (op->atom) {
			case DW_OP_plus:
				stack[depth - 1] += right;
				break;
			case DW_OP_minus:
				stack[depth - 1] -= right;
				break;
			case DW_OP_and:
				stack[depth - 1] &= right;
				break;
			case DW_OP_shl:
				stack[depth - 1] <<= right & 63;
				break;
			case DW_OP_ge:
				stack[depth - 1] = (int64_t)stack[depth - 1] >= (int64_t)right;
				break;
			default:
				return false;
			}
		} else {
			return false;
		}
	}
	*ret = depth ? stack[depth - 1] : 0;
	return depth;
}

static bool theirs_register(const struct world *world, Dwarf_Frame *frame, int reg, uint64_t cfa,
			    uint64_t *ret, bool *lost_ret)
{
	Dwarf_Op memory_of_ops[3], *ops;
	size_t count;
	bool value;

	*lost_ret = false;
	if (dwarf_frame_register(frame, reg, memory_of_ops, &ops, &count) != 0)
		return false;
	if (!count && ops == memory_of_ops) {
		*lost_ret = true;
		return true;
	}
	if (!count) {
		*ret = world->registers[reg];
		return true;
	}
	if (!evaluate(world, ops, count, cfa, ret, &value))
		return false;
	if (!value)
		*ret = memory(*ret);
	return true;
}

static struct caller theirs(const struct world *world, Dwarf_CFI *cfi)
{
	struct caller caller = { .kind = CALLER };
	Dwarf_Frame *frame;
	bool lost, value;
	size_t count;
	Dwarf_Op *ops;
	int ra;

	if (!cfi || dwarf_cfi_addrframe(cfi, world->pc, &frame) != 0)
		return (struct caller){ .kind = NO_RULE };
	ra = dwarf_frame_info(frame, NULL, NULL, NULL);
	if (ra < 0 || dwarf_frame_cfa(frame, &ops, &count) != 0 || !count ||
	    !evaluate(world, ops, count, 0, &caller.cfa, &value) ||
	    !theirs_register(world, frame, ra, caller.cfa, &caller.ra, &lost))
		caller.kind = BEYOND;
	else if (lost)
		caller.kind = ENTRY;
	else if (!theirs_register(world, frame, world->machine->fp, caller.cfa, &caller.fp,
				  &caller.fp_lost))
		caller.kind = BEYOND;
	free(frame);
	return caller;
}

/* ---- the comparison ---- */

static bool agree(const struct caller *mine, const struct caller *other, bool is_go)
{
	if (mine->kind != other->kind)
		return false;
	if (mine->kind != CALLER)
		return true;
	// What Go writes as DWARF does not follow the frame pointer.
	return mine->cfa == other->cfa && mine->ra == other->ra &&
	       (is_go ||
		(mine->fp_lost == other->fp_lost && (mine->fp_lost || mine->fp == other->fp)));
}

static void print(const char *who, const struct caller *caller)
{
	static const char *const kinds[] = { "no rule", "entry", "caller", "beyond" };

	printf(" %s %s cfa=%" PRIx64 " ra=%" PRIx64 " fp=%" PRIx64 "%s (%u);", who,
	       kinds[caller->kind], caller->cfa, caller->ra, caller->fp,
	       caller->fp_lost ? " lost" : "", caller->unsupported);
}

/* One file, and both of those who read it. */
struct compared {
	const char *path;
	const struct unwind_machine *machine;
	struct elf_view view;
	struct unwind_source source;
	bool is_go;
	Elf *elf;
	Dwarf *dwarf; /* Go's */
	Dwarf_CFI *cfi;
};

static bool is_own(const struct compared *file, const struct unwind_rule *rule,
		   const struct caller *libdw)
{
	// runtime.sigtramp: for Go a stack's top, for us the way to what was interrupted.
	if (file->is_go && libdw->kind == ENTRY && rule->cfa == UNWIND_CFA_REGISTER)
		return true;
	if (!file->is_go || (libdw->kind != CALLER && libdw->kind != NO_RULE))
		return false;
	return rule->stack_switch || rule->signal || rule->unsupported == UNWIND_OTHER_STACK ||
	       rule->cfa == UNWIND_CFA_END;
}

/* A register that no walk carries: we say where its callee has saved it, the table that it is the
 * base of the CFA (callee_saved.h). */
static bool is_by_callee(const struct compared *file, const struct world *world,
			 const struct unwind_rule *rule, const struct caller *libdw)
{
	struct unwind_rule said = { 0 };
	struct caller caller;

	if (file->is_go || rule->cfa != UNWIND_CFA_DEREFERENCED ||
	    rule->cfa_register != file->machine->sp || rule->cfa_offset >= 0)
		return false;
	cfi_visit(&file->source.eh_frame, world->pc, world->pc + 1, &(struct effort){ EFFORT_PAGE },
		  take_rule, &said);
	caller = ours(world, &said);
	return agree(&caller, libdw, false);
}

/* Where a rule comes from that .eh_frame does not have. */
static uint64_t *origin(const struct compared *file, uint64_t pc, struct sums *sums)
{
	struct unwind_rule rule = { 0 };

	pclntab_visit(&file->source.go, pc, pc + 1, &(struct effort){ EFFORT_PAGE }, take_rule,
		      &rule);
	if (rule.cfa != UNWIND_CFA_UNKNOWN)
		return &sums->go;
	cfi_visit(&file->source.debug_frame, pc, pc + 1, &(struct effort){ EFFORT_PAGE }, take_rule,
		  &rule);
	return rule.cfa != UNWIND_CFA_UNKNOWN ? &sums->debug_frame : &sums->stubs;
}

static void compare(const struct compared *file, uint64_t pc, struct sums *sums)
{
	struct world world = world_make(file->machine, pc);
	struct unwind_rule rule = { 0 };
	struct caller mine, libdw;

	if (file->is_go)
		pclntab_visit(&file->source.go, pc, pc + 1, &(struct effort){ EFFORT_PAGE },
			      take_rule, &rule);
	else
		unwind_source_visit(&file->source, pc, pc + 1, take_rule, &rule);
	mine = ours(&world, &rule);
	libdw = theirs(&world, file->cfi);
	sums->addresses++;
	if (agree(&mine, &libdw, file->is_go)) {
		sums->equal++;
		sums->unknown += mine.kind == NO_RULE;
		sums->end += mine.kind == ENTRY;
	} else if (!file->is_go && libdw.kind == NO_RULE) {
		++*origin(file, pc, sums);
	} else if (is_own(file, &rule, &libdw) || is_by_callee(file, &world, &rule, &libdw)) {
		sums->own++;
	} else if (mine.kind == BEYOND) {
		if (++sums->unsupported[mine.unsupported] <= SHOWN)
			printf("%s: unsupported %u at %" PRIx64 "\n", file->path, mine.unsupported,
			       pc);
	} else if (++sums->different <= SHOWN) {
		printf("%s: at %" PRIx64 ":", file->path, pc);
		print("ours", &mine);
		print("libdw", &libdw);
		putchar('\n');
	}
}

static void compare_addresses(const struct compared *file, unsigned int count, struct sums *sums)
{
	const struct elf_view *view = &file->view;
	uint64_t text = 0;

	for (size_t i = 0; i < view->segment_count; i++)
		text += view->segments[i].executable ? view->segments[i].file_bytes : 0;
	for (unsigned int i = 0; i < count && text; i++) {
		uint64_t at = mix(i + 1) % text;

		for (size_t j = 0; j < view->segment_count; j++) {
			const struct elf_view_segment *segment = &view->segments[j];

			if (!segment->executable)
				continue;
			if (at < segment->file_bytes) {
				compare(file, segment->address + at, sums);
				break;
			}
			at -= segment->file_bytes;
		}
	}
}

static bool open_both(struct compared *file, int fd)
{
	file->machine = unwind_machine_find(file->view.machine);
	if (!file->machine || unwind_source_init(&file->source, &file->view) != 0)
		return false;
	file->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (file->is_go) {
		file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
		file->cfi = file->dwarf ? dwarf_getcfi(file->dwarf) : NULL;
	} else {
		file->cfi = dwarf_getcfi_elf(file->elf);
	}
	return file->elf && (!file->is_go || file->source.go.version != PCLNTAB_NONE);
}

static void close_both(struct compared *file)
{
	if (!file->is_go)
		dwarf_cfi_end(file->cfi);
	dwarf_end(file->dwarf);
	elf_end(file->elf);
	if (file->machine)
		unwind_source_deinit(&file->source);
}

static void compare_file(const char *path, unsigned int count, bool is_go, struct sums *sums)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct compared file = { .path = path, .is_go = is_go };
	struct stat status;
	void *bytes;

	if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0) {
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes != MAP_FAILED) {
			if (elf_view_init(&file.view, bytes, (size_t)status.st_size) &&
			    open_both(&file, fd)) {
				sums->files++;
				compare_addresses(&file, count, sums);
			}
			close_both(&file);
			munmap(bytes, (size_t)status.st_size);
		}
	}
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	unsigned int count = 1000;
	struct sums sums = { 0 };
	bool is_go = false;

	elf_version(EV_CURRENT);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--count") && i + 1 < argc)
			count = (unsigned int)atoi(argv[++i]);
		else if (!strcmp(argv[i], "--go"))
			is_go = true;
		else
			compare_file(argv[i], count, is_go, &sums);
	}
	printf("files=%" PRIu64 " addresses=%" PRIu64 " equal=%" PRIu64 " (unknown=%" PRIu64
	       " end=%" PRIu64 ") go=%" PRIu64 " debug_frame=%" PRIu64 " stubs=%" PRIu64
	       " own=%" PRIu64 " different=%" PRIu64 " unsupported:",
	       sums.files, sums.addresses, sums.equal, sums.unknown, sums.end, sums.go,
	       sums.debug_frame, sums.stubs, sums.own, sums.different);
	for (int i = 0; i < UNWIND_UNSUPPORTED_COUNT; i++)
		printf(" %" PRIu64, sums.unsupported[i]);
	putchar('\n');
	return sums.different > 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "cfi_expression.h"

#include "encoding.h"

#include <dwarf.h>

enum { STACK_DEPTH = 8 };

struct machine {
	struct cfi_value stack[STACK_DEPTH];
	size_t depth;
	uint64_t pc_register;
	int failed;
};

static void push(struct machine *machine, struct cfi_value value)
{
	if (machine->depth == STACK_DEPTH)
		machine->failed = 1;
	else
		machine->stack[machine->depth++] = value;
}

static struct cfi_value pop(struct machine *machine)
{
	if (!machine->depth) {
		machine->failed = 1;
		return (struct cfi_value){ 0 };
	}
	return machine->stack[--machine->depth];
}

static void push_number(struct machine *machine, int64_t number)
{
	push(machine, (struct cfi_value){ .kind = CFI_VALUE_NUMBER, .offset = number });
}

static void push_register(struct machine *machine, uint64_t reg, int64_t offset)
{
	push(machine,
	     (struct cfi_value){ .kind = CFI_VALUE_REGISTER, .reg = reg, .offset = offset });
}

/* Sums that wrap are no address of ours. */
static void add_to(struct machine *machine, int64_t *to, int64_t number)
{
	if (__builtin_add_overflow(*to, number, to))
		machine->failed = 1;
}

static struct cfi_value plus(struct machine *machine, struct cfi_value left, struct cfi_value right)
{
	if (left.kind == CFI_VALUE_NUMBER) {
		struct cfi_value swapped = left;

		left = right;
		right = swapped;
	}
	if (right.kind == CFI_VALUE_NUMBER &&
	    (left.kind == CFI_VALUE_NUMBER || left.kind == CFI_VALUE_REGISTER)) {
		add_to(machine, &left.offset, right.offset);
	} else if (right.kind == CFI_VALUE_NUMBER && left.kind == CFI_VALUE_DEREFERENCED) {
		add_to(machine, &left.addend, right.offset);
	} else if (left.kind == CFI_VALUE_REGISTER && right.kind == CFI_VALUE_PC_EIGHT) {
		left.kind = CFI_VALUE_PLT;
		left.addend = right.addend;
	} else {
		left.kind = CFI_VALUE_UNKNOWN;
	}
	return left;
}

/* The operations of a linkage table's expression, on what came before them. */
static struct cfi_value combine(struct machine *machine, uint8_t operation, struct cfi_value left,
				struct cfi_value right)
{
	bool number = right.kind == CFI_VALUE_NUMBER;

	if (operation == DW_OP_plus)
		return plus(machine, left, right);
	if (operation == DW_OP_minus && number && right.offset != INT64_MIN) {
		right.offset = -right.offset;
		return plus(machine, left, right);
	}
	if (operation == DW_OP_and && number && right.offset == 15 &&
	    left.kind == CFI_VALUE_REGISTER && left.reg == machine->pc_register && !left.offset)
		return (struct cfi_value){ .kind = CFI_VALUE_PC_LOW };
	if (operation == DW_OP_ge && number && left.kind == CFI_VALUE_PC_LOW)
		return (struct cfi_value){ .kind = CFI_VALUE_PC_TEST, .addend = right.offset };
	if (operation == DW_OP_shl && number && right.offset == 3 && left.kind == CFI_VALUE_PC_TEST)
		return (struct cfi_value){ .kind = CFI_VALUE_PC_EIGHT, .addend = left.addend };
	return (struct cfi_value){ .kind = CFI_VALUE_UNKNOWN };
}

static struct cfi_value dereference(struct cfi_value value)
{
	value.kind = value.kind == CFI_VALUE_REGISTER ? CFI_VALUE_DEREFERENCED : CFI_VALUE_UNKNOWN;
	return value;
}

/* A number that follows its operation; false when @operation is none of those. */
static bool run_constant(struct machine *machine, uint8_t operation, struct reader *reader)
{
	switch (operation) {
	case DW_OP_const1u:
		push_number(machine, reader_u8(reader));
		return true;
	case DW_OP_const1s:
		push_number(machine, (int8_t)reader_u8(reader));
		return true;
	case DW_OP_const2u:
		push_number(machine, reader_u16(reader));
		return true;
	case DW_OP_const2s:
		push_number(machine, (int16_t)reader_u16(reader));
		return true;
	case DW_OP_const4u:
		push_number(machine, reader_u32(reader));
		return true;
	case DW_OP_const4s:
		push_number(machine, (int32_t)reader_u32(reader));
		return true;
	case DW_OP_const8u:
	case DW_OP_const8s:
		push_number(machine, (int64_t)reader_u64(reader));
		return true;
	case DW_OP_constu:
		push_number(machine, (int64_t)encoding_read_uleb128(reader));
		return true;
	case DW_OP_consts:
		push_number(machine, encoding_read_sleb128(reader));
		return true;
	default:
		return false;
	}
}

static void run_operation(struct machine *machine, uint8_t operation, struct reader *reader)
{
	struct cfi_value left, right;

	if (operation >= DW_OP_lit0 && operation <= DW_OP_lit31) {
		push_number(machine, operation - DW_OP_lit0);
	} else if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31) {
		push_register(machine, operation - DW_OP_breg0, encoding_read_sleb128(reader));
	} else if (operation == DW_OP_bregx) {
		uint64_t reg = encoding_read_uleb128(reader);

		push_register(machine, reg, encoding_read_sleb128(reader));
	} else if (operation == DW_OP_plus_uconst) {
		left = pop(machine);
		right = (struct cfi_value){ .kind = CFI_VALUE_NUMBER,
					    .offset = (int64_t)encoding_read_uleb128(reader) };
		push(machine, plus(machine, left, right));
	} else if (operation == DW_OP_deref) {
		push(machine, dereference(pop(machine)));
	} else if (operation == DW_OP_plus || operation == DW_OP_minus || operation == DW_OP_and ||
		   operation == DW_OP_ge || operation == DW_OP_shl) {
		right = pop(machine);
		left = pop(machine);
		push(machine, combine(machine, operation, left, right));
	} else if (!run_constant(machine, operation, reader)) {
		machine->failed = 1;
	}
}

struct cfi_value cfi_expression_read(const uint8_t *bytes, size_t length, uint64_t pc_register)
{
	struct machine machine = { .pc_register = pc_register };
	struct reader reader = reader_over(bytes, length);

	// Each round takes a byte.
	while (reader_left(&reader) && !machine.failed)
		run_operation(&machine, reader_u8(&reader), &reader);
	if (machine.failed || reader.failed || !machine.depth ||
	    machine.stack[machine.depth - 1].kind > CFI_VALUE_PLT)
		return (struct cfi_value){ .kind = CFI_VALUE_UNKNOWN };
	return machine.stack[machine.depth - 1];
}

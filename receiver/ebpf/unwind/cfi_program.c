// SPDX-License-Identifier: Apache-2.0
#include "cfi_program.h"

#include "cfi_expression.h"
#include "encoding.h"

#include <dwarf.h>
#include <string.h>

enum {
	REMEMBERED_DEPTH = 32,
	/* DW_CFA_AARCH64_negate_ra_state_with_pc (DWARF for the Arm 64-bit Architecture), which
	 * dwarf.h does not have. */
	NEGATE_RA_STATE_WITH_PC = 0x2c,
};

/* Where one saved register is said to be. */
struct place {
	enum unwind_saved how;
	int64_t offset;
	bool unsupported; /* an expression that no rule can say */
};

struct state {
	enum unwind_cfa cfa;
	uint64_t cfa_register;
	int64_t cfa_offset, cfa_addend;
	struct place ra, fp;
};

struct run {
	const struct cfi_fde *fde;
	const struct cfi_section *section;
	const struct unwind_machine *machine;
	const struct cfi_window *window;
	uint64_t location; /* where the next row begins */
	struct state state, initial;
	struct state remembered[REMEMBERED_DEPTH];
	size_t depth;
	bool malformed;
};

/* ---- from states to rules ---- */

static bool fits(int64_t number)
{
	return number >= INT32_MIN && number <= INT32_MAX;
}

static void rule_fail(struct unwind_rule *rule, enum unwind_unsupported why)
{
	*rule = (struct unwind_rule){ .cfa = UNWIND_CFA_UNSUPPORTED, .unsupported = (uint8_t)why };
}

static void rule_make(const struct run *run, struct unwind_rule *rule)
{
	const struct state *state = &run->state;

	*rule = (struct unwind_rule){
		.cfa = (uint8_t)state->cfa,
		.cfa_register = (uint8_t)state->cfa_register,
		.cfa_offset = (int32_t)state->cfa_offset,
		.cfa_addend = (int32_t)state->cfa_addend,
		.ra = (uint8_t)state->ra.how,
		.ra_offset = (int32_t)state->ra.offset,
		.fp = (uint8_t)state->fp.how,
		.fp_offset = (int32_t)state->fp.offset,
		.signal = run->fde->cie.signal ? UNWIND_TRAMPOLINE : UNWIND_CALLED,
	};
	// The outermost frame has no return address, whatever else is said of it.
	if (state->ra.how == UNWIND_LOST && !state->ra.unsupported)
		*rule = (struct unwind_rule){ .cfa = UNWIND_CFA_END };
	else if (state->cfa == UNWIND_CFA_UNSUPPORTED || state->cfa == UNWIND_CFA_UNKNOWN)
		rule_fail(rule, UNWIND_CFA_EXPRESSION);
	else if (state->ra.unsupported)
		rule_fail(rule, UNWIND_RA_EXPRESSION);
	else if (state->fp.unsupported)
		rule_fail(rule, UNWIND_FP_EXPRESSION);
	else if (state->cfa_register > UINT8_MAX || !fits(state->cfa_offset) ||
		 !fits(state->cfa_addend) || !fits(state->ra.offset) || !fits(state->fp.offset))
		rule_fail(rule, UNWIND_RANGE);
}

static void give(const struct run *run, uint64_t start, uint64_t limit,
		 const struct unwind_rule *rule)
{
	if (start < run->window->start)
		start = run->window->start;
	if (limit > run->window->limit)
		limit = run->window->limit;
	if (start < limit)
		run->window->take(run->window->context, start, limit, rule);
}

/* The row that began at run->location ends before @location. */
static void advance_to(struct run *run, uint64_t location)
{
	struct unwind_rule rule;

	if (location < run->location) {
		run->malformed = true;
		return;
	}
	// Code behind the function's end belongs to another one.
	if (location > run->fde->limit)
		location = run->fde->limit;
	if (location > run->window->start && run->location < run->window->limit) {
		rule_make(run, &rule);
		give(run, run->location, location, &rule);
	}
	run->location = location;
}

static void advance_by(struct run *run, uint64_t delta)
{
	uint64_t distance;

	if (__builtin_mul_overflow(delta, run->fde->cie.code_alignment, &distance) ||
	    distance > UINT64_MAX - run->location)
		run->malformed = true;
	else
		advance_to(run, run->location + distance);
}

/* ---- registers ---- */

/* NULL for a register that is not carried. */
static struct place *place_of(const struct run *run, struct state *state, uint64_t reg)
{
	if (reg == run->fde->cie.return_register)
		return &state->ra;
	return reg == run->machine->fp ? &state->fp : NULL;
}

static void set_place(struct run *run, uint64_t reg, struct place place)
{
	struct place *to = place_of(run, &run->state, reg);

	if (to)
		*to = place;
}

static void set_at_cfa(struct run *run, uint64_t reg, int64_t factored)
{
	struct place place = { .how = UNWIND_AT_CFA };

	if (__builtin_mul_overflow(factored, run->fde->cie.data_alignment, &place.offset))
		run->malformed = true;
	set_place(run, reg, place);
}

static void restore(struct run *run, uint64_t reg)
{
	const struct place *from = place_of(run, &run->initial, reg);

	if (from)
		set_place(run, reg, *from);
}

static struct cfi_value read_expression(const struct run *run, struct reader *reader)
{
	uint64_t length = encoding_read_uleb128(reader);
	const uint8_t *bytes = reader_bytes(reader, length);

	if (!bytes)
		return (struct cfi_value){ .kind = CFI_VALUE_UNKNOWN };
	// Only amd64's linkage tables ask for the pc, by the return address's number.
	return cfi_expression_read(bytes, length, run->machine->ra);
}

/* The expression gives the address at which the register is saved. */
static void set_at_expression(struct run *run, uint64_t reg, struct reader *reader)
{
	struct cfi_value value = read_expression(run, reader);
	struct place place = { .how = UNWIND_LOST, .offset = value.offset, .unsupported = true };

	if (value.kind == CFI_VALUE_REGISTER && value.reg == run->machine->sp)
		place.how = UNWIND_AT_SP;
	else if (value.kind == CFI_VALUE_REGISTER && value.reg == run->machine->fp)
		place.how = UNWIND_AT_FP;
	place.unsupported = place.how == UNWIND_LOST;
	set_place(run, reg, place);
}

static void set_unsupported(struct run *run, uint64_t reg)
{
	set_place(run, reg, (struct place){ .how = UNWIND_LOST, .unsupported = true });
}

/* ---- the canonical frame address ---- */

static void set_cfa(struct run *run, uint64_t reg, int64_t offset)
{
	run->state.cfa = UNWIND_CFA_REGISTER;
	run->state.cfa_register = reg;
	run->state.cfa_offset = offset;
	run->state.cfa_addend = 0;
}

static int64_t read_factored_signed(struct run *run, struct reader *reader)
{
	int64_t offset;

	if (__builtin_mul_overflow(encoding_read_sleb128(reader), run->fde->cie.data_alignment,
				   &offset))
		run->malformed = true;
	return offset;
}

static void set_cfa_expression(struct run *run, struct reader *reader)
{
	struct cfi_value value = read_expression(run, reader);

	set_cfa(run, value.reg, value.offset);
	run->state.cfa_addend = value.addend;
	switch (value.kind) {
	case CFI_VALUE_REGISTER:
		break;
	case CFI_VALUE_DEREFERENCED:
		run->state.cfa = UNWIND_CFA_DEREFERENCED;
		break;
	case CFI_VALUE_PLT:
		run->state.cfa = UNWIND_CFA_PLT;
		break;
	default:
		run->state.cfa = UNWIND_CFA_UNSUPPORTED;
	}
}

/* ---- instructions ---- */

static void run_cfa_instruction(struct run *run, uint8_t instruction, struct reader *reader)
{
	uint64_t reg;

	switch (instruction) {
	case DW_CFA_def_cfa:
		reg = encoding_read_uleb128(reader);
		set_cfa(run, reg, (int64_t)encoding_read_uleb128(reader));
		break;
	case DW_CFA_def_cfa_sf:
		reg = encoding_read_uleb128(reader);
		set_cfa(run, reg, read_factored_signed(run, reader));
		break;
	case DW_CFA_def_cfa_register:
		set_cfa(run, encoding_read_uleb128(reader), run->state.cfa_offset);
		break;
	case DW_CFA_def_cfa_offset:
		set_cfa(run, run->state.cfa_register, (int64_t)encoding_read_uleb128(reader));
		break;
	case DW_CFA_def_cfa_offset_sf:
		set_cfa(run, run->state.cfa_register, read_factored_signed(run, reader));
		break;
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(run, reader);
		break;
	default:
		run->malformed = true;
	}
}

static void run_register_instruction(struct run *run, uint8_t instruction, struct reader *reader)
{
	uint64_t reg = encoding_read_uleb128(reader);

	switch (instruction) {
	case DW_CFA_offset_extended:
		set_at_cfa(run, reg, (int64_t)encoding_read_uleb128(reader));
		break;
	case DW_CFA_offset_extended_sf:
		set_at_cfa(run, reg, encoding_read_sleb128(reader));
		break;
	case DW_CFA_GNU_negative_offset_extended:
		set_at_cfa(run, reg, -(int64_t)(encoding_read_uleb128(reader) & INT64_MAX));
		break;
	case DW_CFA_restore_extended:
		restore(run, reg);
		break;
	case DW_CFA_undefined:
		set_place(run, reg, (struct place){ .how = UNWIND_LOST });
		break;
	case DW_CFA_same_value:
		set_place(run, reg, (struct place){ .how = UNWIND_SAME });
		break;
	case DW_CFA_register:
		set_place(run, reg,
			  (struct place){ .how = UNWIND_IN_REGISTER,
					  .offset = (int64_t)encoding_read_uleb128(reader) });
		break;
	case DW_CFA_expression:
		set_at_expression(run, reg, reader);
		break;
	case DW_CFA_val_expression:
		read_expression(run, reader);
		set_unsupported(run, reg);
		break;
	default: // DW_CFA_val_offset, DW_CFA_val_offset_sf: both have one number
		encoding_read_uleb128(reader);
		set_unsupported(run, reg);
	}
}

static void run_remembering(struct run *run, uint8_t instruction)
{
	if (instruction == DW_CFA_remember_state) {
		if (run->depth == REMEMBERED_DEPTH)
			run->malformed = true;
		else
			run->remembered[run->depth++] = run->state;
	} else if (!run->depth) {
		run->malformed = true;
	} else {
		run->state = run->remembered[--run->depth];
	}
}

/* Those that are a whole byte. */
static void run_extended(struct run *run, uint8_t instruction, struct reader *reader)
{
	struct encoding_bases bases = {
		.bytes = run->section->piece.bytes,
		.address = run->section->piece.address,
		.data = run->section->data,
		.function = run->fde->start,
	};

	switch (instruction) {
	case DW_CFA_nop:
		break;
	case DW_CFA_set_loc:
		advance_to(run,
			   encoding_read_pointer(reader, run->fde->cie.pointer_encoding, &bases));
		break;
	case DW_CFA_advance_loc1:
		advance_by(run, reader_u8(reader));
		break;
	case DW_CFA_advance_loc2:
		advance_by(run, reader_u16(reader));
		break;
	case DW_CFA_advance_loc4:
		advance_by(run, reader_u32(reader));
		break;
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		run_remembering(run, instruction);
		break;
	case NEGATE_RA_STATE_WITH_PC:
	case DW_CFA_GNU_window_save: // arm64: DW_CFA_AARCH64_negate_ra_state
		break;               // Addresses are stripped of their signature always.
	case DW_CFA_GNU_args_size:
		encoding_read_uleb128(reader);
		break;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		run_cfa_instruction(run, instruction, reader);
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
	case DW_CFA_restore_extended:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_register:
	case DW_CFA_expression:
	case DW_CFA_val_expression:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		run_register_instruction(run, instruction, reader);
		break;
	default:
		run->malformed = true;
	}
}

static void run_program(struct run *run, const struct cfi_program_bytes *program)
{
	struct reader reader = reader_over(program->bytes, program->length);

	// Each round takes a byte, and nothing behind the window is of interest.
	while (reader_left(&reader) && !run->malformed && run->location < run->window->limit) {
		size_t before = reader_left(&reader);
		uint8_t byte = reader_u8(&reader);
		uint8_t operand = byte & 0x3f;

		if ((byte & 0xc0) == DW_CFA_advance_loc)
			advance_by(run, operand);
		else if ((byte & 0xc0) == DW_CFA_offset)
			set_at_cfa(run, operand, (int64_t)encoding_read_uleb128(&reader));
		else if ((byte & 0xc0) == DW_CFA_restore)
			restore(run, operand);
		else
			run_extended(run, byte, &reader);
		run->malformed |= reader.failed;
		if (!effort_spend(run->window->effort, before - reader_left(&reader)))
			run->malformed = true;
	}
}

void cfi_program_run(const struct cfi_fde *fde, const struct cfi_section *section,
		     const struct unwind_machine *machine, const struct cfi_window *window)
{
	struct run run = {
		.fde = fde,
		.section = section,
		.machine = machine,
		.window = window,
		.location = fde->start,
	};
	struct unwind_rule rule;

	// On arm64 a return address that nobody saved is in its register, as on entry.
	run.state.ra.how = UNWIND_SAME;
	run_program(&run, &fde->cie.program);
	// A CIE that advances has no meaning.
	run.malformed |= run.location != fde->start;
	run.initial = run.state;
	run.depth = 0;
	if (!run.malformed)
		run_program(&run, &fde->program);
	if (!run.malformed) {
		advance_to(&run, fde->limit);
		return;
	}
	rule_fail(&rule, UNWIND_BAD_PROGRAM);
	give(&run, run.location, fde->limit, &rule);
}

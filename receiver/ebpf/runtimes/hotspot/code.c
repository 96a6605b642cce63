// SPDX-License-Identifier: Apache-2.0
#include "code.h"

#include "compressed.h"
#include "method.h"

#include <string.h>

enum {
	NAME_MOST = 64,        /* letters of what a piece of code is called */
	TABLE_MOST = 64 << 20, /* bytes of a table */
	SCOPE_BYTES = 3 * 5,   /* of what is read of a scope, at most */
	LOOP_END_BYTES = 32,   /* from asking for a safepoint on, in which a loop branches back */
	BRANCH_BYTES = 8,      /* of an instruction that does, at most */
	CALL_BYTES = 7,        /* of an instruction that calls, at most */
	NO_SCOPE = 0,          /* instead of the offset of one */
	BEFORE_BYTECODE = -1,  /* where a scope counts its bytecode from */
};

/* In place of the frames of a virtual thread that are not on the stack. */
static const char in_heap[] = "[virtual thread: frames in the heap]";

/* What lies between two addresses. */
struct table {
	uint64_t begin, limit;
};

/* A compiled method, or the code that calls a native one. */
struct code {
	uint64_t blob;    /* address of the CodeBlob */
	uint64_t start;   /* of its code */
	int32_t complete; /* from which byte of that on a frame is complete */
	uint64_t method;  /* the Method that was compiled */
	struct table places, scopes, metadata;
};

/* A place of the code of which it is told what runs there (PcDesc). */
struct place {
	int32_t offset; /* in the code */
	int32_t scope;  /* where in the scopes what runs there is */
	int32_t others[2];
};

/* What is read of one process. */
struct reading {
	const struct hotspot_layout *layout;
	const struct hotspot_offsets *offsets;
	const struct runtime_memory *memory;
	bool failed; /* something could not be read */
};

static uint64_t read_bytes(struct reading *reading, uint64_t address, size_t bytes)
{
	uint64_t word = 0;

	// Little endian, as are all machines that this runs on.
	if (!reading->memory->read(reading->memory->context, address, &word, bytes))
		reading->failed = true;
	return word;
}

static uint64_t read_address(struct reading *reading, uint64_t base, enum hotspot_word word)
{
	return read_bytes(reading, base + reading->offsets->of[word], sizeof(uint64_t));
}

static uint64_t read_int(struct reading *reading, uint64_t base, enum hotspot_word word)
{
	return (uint64_t)(int64_t)(int32_t)read_bytes(reading, base + reading->offsets->of[word],
						      sizeof(int32_t));
}

/* ---- where what is ---- */

/* Places, scopes and metadata follow each other in the blob itself. */
static void read_tables_within(struct reading *reading, struct code *code)
{
	uint64_t scopes =
		reading->layout->form == HOTSPOT_POINTED
			? read_address(reading, code->blob, HOTSPOT_NMETHOD_SCOPES)
			: code->blob + read_int(reading, code->blob, HOTSPOT_NMETHOD_SCOPES);

	code->places = (struct table){
		code->blob + read_int(reading, code->blob, HOTSPOT_NMETHOD_PCS),
		code->blob + read_int(reading, code->blob, HOTSPOT_NMETHOD_PCS_LIMIT),
	};
	code->scopes = (struct table){ scopes, code->places.begin };
	code->metadata = (struct table){
		code->blob + read_int(reading, code->blob, HOTSPOT_NMETHOD_METADATA),
		scopes,
	};
}

/* From JDK 23 on what does not change lies elsewhere, from JDK 25 on the metadata, too. */
static void read_tables_apart(struct reading *reading, struct code *code)
{
	uint64_t data = read_address(reading, code->blob, HOTSPOT_NMETHOD_DATA);
	uint64_t scopes = data + read_int(reading, code->blob, HOTSPOT_NMETHOD_SCOPES);

	code->places = (struct table){
		data + read_int(reading, code->blob, HOTSPOT_NMETHOD_PCS),
		scopes,
	};
	code->scopes = (struct table){
		scopes,
		data + read_int(reading, code->blob, HOTSPOT_NMETHOD_DATA_BYTES),
	};
	if (reading->layout->form == HOTSPOT_MUTABLE) {
		uint64_t mutable = read_address(reading, code->blob, HOTSPOT_BLOB_MUTABLE);

		code->metadata = (struct table){
			mutable + read_int(reading, code->blob, HOTSPOT_BLOB_RELOCATIONS),
			mutable + read_int(reading, code->blob, HOTSPOT_BLOB_MUTABLE_BYTES),
		};
		return;
	}
	code->metadata = (struct table){
		code->blob + read_int(reading, code->blob, HOTSPOT_BLOB_DATA) +
			read_bytes(reading,
				   code->blob + reading->offsets->of[HOTSPOT_NMETHOD_METADATA],
				   sizeof(uint16_t)),
		code->blob + read_int(reading, code->blob, HOTSPOT_BLOB_BYTES),
	};
}

static bool is_table(const struct table *table)
{
	return table->begin <= table->limit && table->limit - table->begin <= TABLE_MOST;
}

static uint64_t read_start(struct reading *reading, uint64_t blob)
{
	if (reading->layout->code_bytes == sizeof(uint64_t))
		return read_address(reading, blob, HOTSPOT_BLOB_CODE);
	return blob + read_int(reading, blob, HOTSPOT_BLOB_CODE);
}

static enum runtime_outcome read_code(struct reading *reading, uint64_t blob, struct code *ret)
{
	uint64_t complete = blob + reading->offsets->of[HOTSPOT_BLOB_COMPLETE];

	*ret = (struct code){
		.blob = blob,
		.start = read_start(reading, blob),
		.method = read_address(reading, blob, HOTSPOT_NMETHOD_METHOD),
	};
	if (reading->layout->complete_bytes == sizeof(uint16_t))
		ret->complete = (int16_t)read_bytes(reading, complete, sizeof(uint16_t));
	else
		ret->complete = (int32_t)read_bytes(reading, complete, sizeof(uint32_t));
	if (reading->layout->form == HOTSPOT_SPLIT || reading->layout->form == HOTSPOT_MUTABLE)
		read_tables_apart(reading, ret);
	else
		read_tables_within(reading, ret);
	if (reading->failed)
		return RUNTIME_UNREADABLE;
	return is_table(&ret->places) && is_table(&ret->scopes) && is_table(&ret->metadata)
		       ? RUNTIME_NAMED
		       : RUNTIME_MALFORMED;
}

/* ---- what runs at a place ---- */

/* How many places lie before @offset in the code: they ascend. */
static uint64_t count_places(struct reading *reading, const struct code *code, int64_t offset)
{
	uint64_t low = 0, high = (code->places.limit - code->places.begin) / sizeof(struct place);

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		int32_t at = (int32_t)read_bytes(reading,
						 code->places.begin + middle * sizeof(struct place),
						 sizeof(int32_t));

		if (at < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The place with that number; false: there is none of which a scope is told. */
static bool read_place(struct reading *reading, const struct code *code, uint64_t number,
		       struct place *ret)
{
	uint64_t at = code->places.begin + number * sizeof(*ret);

	return number < (code->places.limit - code->places.begin) / sizeof(*ret) &&
	       reading->memory->read(reading->memory->context, at, ret, sizeof(*ret)) &&
	       ret->scope > NO_SCOPE;
}

/* A method that runs, and the scope of the one that it was inlined into. */
struct scope {
	uint64_t method;
	uint32_t sender; /* offset, or NO_SCOPE */
	uint32_t bci;
};

/* Those that the code is made of are numbered from 1 on. */
static uint64_t read_metadata(struct reading *reading, const struct code *code, uint32_t number)
{
	uint64_t count = (code->metadata.limit - code->metadata.begin) / sizeof(uint64_t);

	if (!number || number > count) {
		reading->failed = true;
		return 0;
	}
	return read_bytes(reading, code->metadata.begin + (number - 1) * sizeof(uint64_t),
			  sizeof(uint64_t));
}

static bool read_scope(struct reading *reading, const struct code *code, uint32_t offset,
		       struct scope *ret)
{
	uint64_t at = code->scopes.begin + offset, limit = code->scopes.limit;
	struct compressed from;
	uint32_t method, bci;

	if (at >= limit)
		return false;
	if (limit - at > SCOPE_BYTES)
		limit = at + SCOPE_BYTES;
	from = compressed_begin(reading->memory, at, limit, reading->offsets->version);
	if (!compressed_number(&from, &ret->sender) || !compressed_number(&from, &method) ||
	    !compressed_number(&from, &bci))
		return false;
	ret->method = read_metadata(reading, code, method);
	// Before its bytecode it stands at its first one.
	bci += (uint32_t)BEFORE_BYTECODE;
	ret->bci = bci <= UINT16_MAX ? bci : 0;
	return !reading->failed;
}

/* Methods that run one in the other, the innermost first. */
struct scopes {
	size_t count;
	struct scope items[RUNTIME_LINES];
};

/* Those of the scope at @offset. Senders lie before it. */
static bool read_scopes(struct reading *reading, const struct code *code, uint32_t offset,
			struct scopes *ret)
{
	for (ret->count = 0; ret->count < RUNTIME_LINES; offset = ret->items[ret->count++].sender) {
		struct scope *scope = &ret->items[ret->count];

		if (!read_scope(reading, code, offset, scope))
			return false;
		if (scope->sender == NO_SCOPE) {
			ret->count++;
			return true;
		}
		if (scope->sender >= offset)
			return false;
	}
	return false;
}

/*
 * Takes from @scopes those that are not in @before, too: between two places of which it is told
 * what runs, the methods run that run at both. The code's own is in both.
 */
static void keep_common(struct scopes *scopes, const struct scopes *before)
{
	size_t most = scopes->count < before->count ? scopes->count : before->count, common = 0;

	while (common < most) {
		const struct scope *one = &scopes->items[scopes->count - 1 - common];
		const struct scope *other = &before->items[before->count - 1 - common];

		if (one->method != other->method)
			break;
		common++;
		// From another call of its another one was inlined.
		if (one->bci != other->bci)
			break;
	}
	common += !common;
	memmove(scopes->items, &scopes->items[scopes->count - common],
		common * sizeof(*scopes->items));
	scopes->count = common;
}

/* How long the instruction is at @bytes if it asks whether a safepoint is due: test %eax,
 * (register) or disp32(%rip). 0: it is another one. */
static size_t poll_bytes(const uint8_t *bytes)
{
	size_t prefix = bytes[0] == 0x41;
	uint8_t operand = bytes[prefix + 1];

	if (bytes[prefix] != 0x85 || operand > 7 || operand == 4)
		return 0;
	return prefix + (operand == 5 ? 6 : 2);
}

/* Where the branch at @at of @bytes leads to, from their beginning on; 0: it is none. */
static int64_t branch_target(const uint8_t *bytes, size_t at)
{
	bool is_long = bytes[at] == 0x0f && (bytes[at + 1] & 0xf0) == 0x80;
	size_t displacement = at + 1 + is_long;
	int32_t far;

	if ((bytes[at] & 0xf0) == 0x70 || bytes[at] == 0xeb)
		return (int64_t)displacement + 1 + (int8_t)bytes[displacement];
	if (!is_long && bytes[at] != 0xe9)
		return 0;
	memcpy(&far, bytes + displacement, sizeof(far));
	return (int64_t)(displacement + sizeof(far)) + far;
}

/*
 * Is @offset in a loop that ends at @place, or some bytes behind it? Then what runs there runs in
 * the method that loops. A loop asks whether a safepoint is due, compares, and branches back.
 */
static bool is_in_loop(struct reading *reading, const struct code *code, const struct place *place,
		       int64_t offset)
{
	uint8_t bytes[LOOP_END_BYTES + BRANCH_BYTES];
	size_t at;

	if (!reading->memory->read(reading->memory->context,
				   code->start + (uint64_t)(int64_t)place->offset, bytes,
				   sizeof(bytes)))
		return false;
	at = poll_bytes(bytes);
	for (; at && at < LOOP_END_BYTES; at++) {
		int64_t target = branch_target(bytes, at);

		if (target < 0 && place->offset + target >= 0 && place->offset + target <= offset &&
		    offset <= place->offset + (int64_t)at)
			return true;
	}
	return false;
}

static enum runtime_outcome tell_scopes(const struct runtime_process *process,
					struct reading *reading, const struct scopes *scopes,
					const struct runtime_lines *to)
{
	for (size_t i = 0; i < scopes->count; i++) {
		const struct scope *scope = &scopes->items[i];
		enum runtime_outcome outcome = hotspot_tell_method(process, reading->memory,
								   scope->method, scope->bci, to);

		if (outcome != RUNTIME_NAMED)
			return outcome;
	}
	return RUNTIME_NAMED;
}

/* What runs @offset bytes into the code, between the place with that number and the one before it,
 * or, if it calls there, at the place. */
static enum runtime_outcome tell_place(const struct runtime_process *process,
				       struct reading *reading, const struct code *code,
				       uint64_t number, int64_t offset, bool calls,
				       const struct runtime_lines *to)
{
	static struct scopes scopes, before; // of the worker, which has one thread
	struct place place;

	if (!read_place(reading, code, number, &place))
		return reading->failed ? RUNTIME_UNREADABLE
				       : hotspot_tell_method(process, reading->memory, code->method,
							     HOTSPOT_NO_BCI, to);
	if (!read_scopes(reading, code, (uint32_t)place.scope, &scopes))
		return RUNTIME_MALFORMED;
	// Calls of which nothing has to be known are not told of.
	if ((calls && place.offset == offset) || (reading->offsets->settings & HOTSPOT_TELLS_ALL) ||
	    is_in_loop(reading, code, &place, offset))
		return tell_scopes(process, reading, &scopes, to);
	before.count = 0;
	if (number && read_place(reading, code, number - 1, &place)) {
		if (!read_scopes(reading, code, (uint32_t)place.scope, &before))
			return RUNTIME_MALFORMED;
		if (is_in_loop(reading, code, &place, offset))
			return tell_scopes(process, reading, &before, to);
	}
	keep_common(&scopes, &before);
	return tell_scopes(process, reading, &scopes, to);
}

/* What runs @offset bytes into the code, or calls from there. */
static enum runtime_outcome tell_code(const struct runtime_process *process,
				      struct reading *reading, const struct code *code,
				      int64_t offset, bool calls, const struct runtime_lines *to)
{
	// Before it has its frame nothing else has begun.
	if (!calls && offset >= 0 && offset < code->complete)
		return hotspot_tell_method(process, reading->memory, code->method, 0, to);
	if (offset < 0)
		return hotspot_tell_method(process, reading->memory, code->method, HOTSPOT_NO_BCI,
					   to);
	return tell_place(process, reading, code,
			  count_places(reading, code, calls ? offset : offset + 1), offset, calls,
			  to);
}

/* ---- frames ---- */

/* What the code at @blob is called; 0: it has no name that can be read. */
static size_t read_name(struct reading *reading, uint64_t blob, char name[NAME_MOST])
{
	uint64_t text = read_address(reading, blob, HOTSPOT_BLOB_NAME);
	size_t length = 0;

	while (!reading->failed && length < NAME_MOST) {
		char letter = (char)read_bytes(reading, text + length, 1);

		if (letter < ' ' || letter > '~')
			break;
		name[length++] = letter;
	}
	return reading->failed ? 0 : length;
}

/* ---- virtual threads ---- */

/*
 * Do the last of these bytes call something: call rel32, or call by a register or memory? Where
 * nothing has called, a frame returns that has been told to: below it others lie in the heap.
 */
static bool is_call(const uint8_t bytes[CALL_BYTES])
{
	const uint8_t *end = bytes + CALL_BYTES;
	const struct {
		uint8_t bytes, mode; /* of the instruction; two bits of its operand */
	} indirect[] = { { 2, 0 }, { 2, 3 }, { 3, 0 }, { 3, 1 }, { 4, 1 }, { 6, 2 }, { 7, 2 } };

	if (end[-5] == 0xe8)
		return true;
	for (size_t i = 0; i < sizeof(indirect) / sizeof(indirect[0]); i++) {
		const uint8_t *at = end - indirect[i].bytes;

		if (at[0] == 0xff && (at[1] & 0x38) == 0x10 && at[1] >> 6 == indirect[i].mode)
			return true;
	}
	return false;
}

/*
 * Is it where a virtual thread's last frame on this stack returns to, whose callers lie in the heap
 * (cont_returnBarrier, stubGenerator_x86_64.cpp)?
 */
static bool is_return_barrier(struct reading *reading, const struct runtime_frame *frame,
			      const char *name, size_t length)
{
	static const char stubs[] = "StubRoutines (continuation";
	uint8_t bytes[CALL_BYTES];

	return frame->kind == HOTSPOT_CALLS && length > strlen(stubs) &&
	       !memcmp(name, stubs, strlen(stubs)) &&
	       reading->memory->read(reading->memory->context,
				     frame->object + frame->position - CALL_BYTES, bytes,
				     sizeof(bytes)) &&
	       !is_call(bytes);
}

static bool is_called(const char *name, size_t length, const char *as)
{
	return length == strlen(as) && !memcmp(name, as, length);
}

static enum runtime_outcome tell(const struct runtime_process *process, struct reading *reading,
				 const struct runtime_frame *frame, const struct runtime_lines *to)
{
	uint64_t blob = frame->object + reading->layout->block_bytes;
	char name[NAME_MOST];
	size_t length = read_name(reading, blob, name);
	enum runtime_outcome outcome;
	struct code code;

	if (reading->failed)
		return RUNTIME_UNREADABLE;
	if (!is_called(name, length, "nmethod") && !is_called(name, length, "native nmethod")) {
		struct runtime_line line = { .function = name, .function_bytes = length };

		if (is_return_barrier(reading, frame, name, length)) {
			line.function = in_heap;
			line.function_bytes = strlen(in_heap);
			line.is_gap = true;
		}
		return to->add(to->context, &line) ? RUNTIME_NAMED : RUNTIME_MALFORMED;
	}
	outcome = read_code(reading, blob, &code);
	if (outcome != RUNTIME_NAMED)
		return outcome;
	return tell_code(process, reading, &code,
			 (int64_t)(frame->object + frame->position - code.start),
			 frame->kind == HOTSPOT_CALLS, to);
}

static bool is_still(struct reading *reading, const struct runtime_frame *frame)
{
	return (uint32_t)read_bytes(reading, frame->object + reading->offsets->told.compile_id,
				    sizeof(uint32_t)) == frame->check &&
	       !reading->failed;
}

enum runtime_outcome hotspot_resolve_code(const struct runtime_process *process,
					  const struct runtime_memory *memory,
					  const struct runtime_frame *frame,
					  const struct runtime_lines *to)
{
	struct reading reading = { (const void *)process->layout, (const void *)process->data,
				   memory, false };
	enum runtime_outcome outcome;

	if (!is_still(&reading, frame))
		return reading.failed ? RUNTIME_UNREADABLE : RUNTIME_GONE;
	outcome = tell(process, &reading, frame, to);
	// It may have been freed while it was read.
	memory->renew(memory->context);
	reading.failed = false;
	return is_still(&reading, frame) ? outcome : RUNTIME_GONE;
}

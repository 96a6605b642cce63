/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The frames of V8's: functions that it interprets or has compiled, and its builtins
 * (src/execution/frame-constants.h of its sources). All have a frame pointer; the frame says which
 * function runs.
 *
 * Nothing here says for certain that it is that function: objects are recognised in user space.
 */
#pragma once

#include "v8.h"

#include "unwind_memory.bpf.h"
#include "unwind_registers.bpf.h"
#include "unwind_state.bpf.h"

enum {
	V8_BELOW = 48,  /* bytes of a frame below its frame pointer that are looked at */
	V8_TAGS = 3,    /* of a pointer to an object these bits are: */
	V8_TAGGED = 1,  /* this */
	V8_ENTRY = 32,  /* bytes of code in which a function's frame is begun */
	V8_CALL = 0xe8, /* by a distance of four bytes, as is a */
	V8_JUMP = 0xe9,
	V8_DWARF_RSI = 4, /* the instance, where code of WebAssembly is entered */
	V8_DWARF_RDI = 5, /* the function that is entered */
};

/* walk->chains[0], while a frame of a builtin is asked about. */
enum {
	V8_BEGINS,
	V8_ENDS,     /* all that there was has been given */
	V8_FUNCTION, /* the builtin has: the function comes, whose frame it runs on */
};

static __always_inline __u64 v8_read(__u64 address)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

static __always_inline bool v8_is_object(__u64 word)
{
	return (word & V8_TAGS) == V8_TAGGED && word >> 16 && !(word >> 47);
}

/* Of a frame that is no function's: a number, which says whose it is. */
static __always_inline bool v8_is_marker(__u64 word)
{
	return !(word & 1) && word >> 1 < V8_MARKERS;
}

/* A word of the frame whose frame pointer is @fp. */
static __always_inline __u64 v8_slot(struct unwind_walk *walk, __u64 fp, __s64 words)
{
	__u64 word = 0;

	unwind_read(walk, fp + words * 8, &word);
	return word;
}

/* The check word of the code at @pc. */
static __noinline __u32 v8_check_code(struct unwind_walk *walk, __u64 pc)
{
	__u64 *line = walk->scratch;

	// What cannot be read is 0.
	bpf_probe_read_user(line, V8_LINE_BYTES, (void *)v8_line(pc));
	return v8_code_check(line);
}

/*
 * Gives the frame of @function, of which @kind and walk->of_runtime[1] tell more. False: it is none
 * that could be read. A builtin says so itself, instead.
 */
static __noinline bool v8_give(struct unwind_walk *walk, const struct v8_view *view, __u64 function,
			       __u32 kind)
{
	__u64 pc = walk->of_runtime[1], shared, script, *words = walk->scratch;
	__u32 check, literal, id;

	if (!v8_is_object(function))
		return false;
	shared = v8_read(function - V8_TAGGED + 8 * view->shared);
	if (!v8_is_object(shared) ||
	    bpf_probe_read_user(words, 8 * V8_OBJECT_WORDS, (void *)(shared - V8_TAGGED)))
		return false;
	literal = ((__u32 *)words)[view->literal & (2 * V8_OBJECT_WORDS - 1)];
	script = words[view->script & (V8_OBJECT_WORDS - 1)];
	id = v8_is_object(script) ? v8_read(script - V8_TAGGED + 8 * view->script_id) >> 32 : 0;
	check = v8_check(literal, id);
	// Where others have their bytecode, a builtin has a number.
	if (!(words[view->builtin & (V8_OBJECT_WORDS - 1)] & 1)) {
		kind = V8_BUILTIN;
		pc = 0;
	}
	if (kind == V8_COMPILED && pc) {
		// Its code may be freed, and other code of the function lie there.
		check ^= v8_check_part(v8_check_code(walk, pc));
		kind |= (pc >> 32 & ((1 << V8_CODE_IN_KIND) - 1)) << V8_KIND_BITS;
		check |= pc >> (32 + V8_CODE_IN_KIND) & ((1 << V8_CODE_IN_CHECK) - 1);
	}
	walk->given = unwind_runtime_frame(RUNTIME_V8, kind, shared - V8_TAGGED);
	walk->second = unwind_runtime_second((__u32)pc, check);
	return true;
}

/*
 * Gives the frame of the code at walk->of_runtime[1], of which no more is known than the @marker of
 * its frame, or 0, and what that has: @object, which is none, or of @kind.
 */
static __noinline void v8_give_code(struct unwind_walk *walk, __u64 object, __u32 kind,
				    __u32 marker)
{
	__u64 pc = walk->of_runtime[1];
	__u32 check = v8_check_code(walk, pc);

	if (!v8_is_object(object)) {
		walk->second = unwind_runtime_second(marker, check);
		walk->given = unwind_runtime_frame(RUNTIME_V8, V8_CODE, pc);
		return;
	}
	kind |= (pc >> 32 & ((1 << V8_CODE_IN_KIND) - 1)) << V8_KIND_BITS;
	check = v8_check_part(check);
	check |= pc >> (32 + V8_CODE_IN_KIND) & ((1 << V8_CODE_IN_CHECK) - 1);
	walk->second = unwind_runtime_second((__u32)pc, check);
	walk->given = unwind_runtime_frame(RUNTIME_V8, kind, object - V8_TAGGED);
}

/*
 * The data of the regular expression that runs in the frame whose frame pointer is @fp, if one
 * does. Code of it is called with what C code would take, so they are what its caller has left
 * behind the return address.
 */
static __noinline __u64 v8_regexp_at(struct unwind_walk *walk, const struct v8_view *view, __u64 fp)
{
	__u64 object = view->regexp_slot ? v8_slot(walk, fp, view->regexp_slot) : 0;

	if (!view->regexp_data || !v8_is_object(object))
		return object;
	return v8_read(object - V8_TAGGED + 8 * view->regexp_data);
}

/* The same code, in whose frame, of frame pointer @fp, @word stands where functions have a context.
 */
static __noinline void v8_give_framed(struct unwind_walk *walk, const struct v8_view *view,
				      __u64 fp, __u64 word)
{
	__u32 marker = v8_is_marker(word) ? word >> 1 : 0, kind = V8_CODE;
	__u64 object = 0;

	if (marker && marker == view->wasm) {
		kind = V8_WASM;
		object = v8_slot(walk, fp, -2);
	} else if (marker == view->regexp) {
		kind = marker ? V8_REGEXP : V8_UNSURE;
		object = v8_regexp_at(walk, view, fp);
	}
	v8_give_code(walk, object, kind, marker);
}

/* ---- builtins, in V8's file ---- */

/* Has the leaf that was left not pushed yet what is @words from its frame pointer @fp on? Something
 * of before may be there. */
static __always_inline bool v8_is_unpushed(struct unwind_walk *walk, __u64 fp, __s64 words)
{
	return walk->loop_is_leaf && fp + words * 8 < walk->below;
}

/* The function on whose frame a builtin runs that was left: does it interpret it? */
static __noinline int v8_builtin(struct unwind_walk *walk, const struct v8_view *view,
				 bool interprets)
{
	__u64 fp = walk->beyond - 16, function, offset;
	__u32 kind = V8_COMPILED;

	if (v8_is_unpushed(walk, fp, view->function) || v8_is_marker(v8_slot(walk, fp, -1)))
		// What an interpreter's handler calls for has a frame of its own.
		return interprets ? RUNTIME_LEAVES : RUNTIME_NATIVE;
	function = v8_slot(walk, fp, view->function);
	offset = v8_slot(walk, fp, view->bytecode_offset);
	// That slot of a compiled function has something else, and is no small number.
	if (!(offset & 0xffffffff) && (interprets || !walk->loop_is_leaf)) {
		kind = V8_INTERPRETED;
		walk->of_runtime[1] = offset >> 32;
	} else {
		// Compiled code has called a builtin without a frame, then it returns there.
		walk->of_runtime[1] = walk->loop_is_leaf ? v8_slot(walk, walk->below, 0) - 1 : 0;
	}
	if (!v8_give(walk, view, function, kind))
		return RUNTIME_NATIVE;
	return RUNTIME_STAYS;
}

/* As runtimes_interpret(). */
static __noinline int v8_interpret(struct unwind_walk *walk, __u64 *frame)
{
	const struct v8_data *data = runtimes_data(walk, sizeof(*data));
	__u32 piece = walk->loop_piece;
	int end;

	if (!data)
		return RUNTIME_NATIVE;
	if (walk->chains[0] == V8_ENDS) {
		walk->chains[0] = V8_BEGINS;
		return RUNTIME_LEAVES;
	}
	end = v8_builtin(walk, &data->view, piece & 1);
	if (end != RUNTIME_STAYS) {
		// The builtin itself has been given already.
		if (walk->chains[0] == V8_FUNCTION)
			end = RUNTIME_LEAVES;
		walk->chains[0] = V8_BEGINS;
		return end;
	}
	if (walk->chains[0] == V8_BEGINS && !(piece & 1) && walk->loop_is_leaf &&
	    (walk->given >> UNWIND_FRAME_KIND_SHIFT & ((1 << V8_KIND_BITS) - 1)) != V8_BUILTIN) {
		*frame = walk->code_frame + walk->loop;
		walk->chains[0] = V8_FUNCTION;
		return RUNTIME_STAYS;
	}
	walk->chains[0] = V8_ENDS;
	*frame = walk->given;
	return RUNTIME_STAYS;
}

/* ---- made code ---- */

/* In four words of code: push %rbp; mov %rsp, %rbp, before anything that ends a function. */
__noinline int v8_find_entry(__u64 first, __u64 second, __u64 third, __u64 fourth)
{
	__u64 words[] = { first, second, third, fourth };

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i <= sizeof(words) - 4; i++) {
		const __u8 *code = (const __u8 *)words + i;

		if (code[0] == 0xc3 || code[0] == 0xcc)
			return false;
		if (code[0] == 0x55 && code[1] == 0x48 &&
		    ((code[2] == 0x89 && code[3] == 0xe5) || (code[2] == 0x8b && code[3] == 0xec)))
			return true;
	}
	return false;
}

enum v8_leaf {
	V8_LEAF_FRAMED, /* the frame pointer is its own */
	V8_LEAF_ENTERS, /* that of its caller: it has made no frame */
	V8_LEAF_PUSHED, /* the same, but it has pushed that already */
	V8_LEAF_LEAVES, /* the same: it has given up its frame */
};

/* Has the jump at @pc just been called? So it is in a table of jumps, by which WebAssembly calls.
 */
static __noinline bool v8_is_called(struct unwind_walk *walk, __u64 pc)
{
	__u64 after = v8_slot(walk, walk->at.sp, 0), code = v8_read(after - 8);
	__s32 distance = code >> 32;

	return (code >> 24 & 0xff) == V8_CALL && after + distance == pc;
}

static __noinline int v8_leaf_state(struct unwind_walk *walk, __u64 pc)
{
	__u64 *code = walk->scratch;
	const __u8 *at = (const __u8 *)&code[1];
	__u32 before;

	if (bpf_probe_read_user(code, 8 + V8_ENTRY, (void *)(pc - 8))) {
		// There may be nothing before it.
		code[0] = 0;
		if (bpf_probe_read_user(&code[1], V8_ENTRY, (void *)pc))
			return V8_LEAF_FRAMED;
	}
	before = code[0] >> 32;
	// ret; behind mov %rbp, %rsp; pop %rbp, in both encodings
	if (at[0] == 0xc3 || at[0] == 0xc2 || before == 0x5de58b48 || before == 0x5dec8948)
		return V8_LEAF_LEAVES;
	// Between push %rbp and mov %rsp, %rbp.
	if (before >> 24 == 0x55 && at[0] == 0x48 &&
	    ((at[1] == 0x89 && at[2] == 0xe5) || (at[1] == 0x8b && at[2] == 0xec)))
		return V8_LEAF_PUSHED;
	if (at[0] == V8_JUMP)
		return v8_is_called(walk, pc) ? V8_LEAF_ENTERS : V8_LEAF_FRAMED;
	return v8_find_entry(code[1], code[2], code[3], code[4]) ? V8_LEAF_ENTERS : V8_LEAF_FRAMED;
}

static __always_inline bool v8_is_wasm(struct unwind_walk *walk, const struct v8_view *view,
				       __u64 fp)
{
	return view->wasm && v8_slot(walk, fp, -1) == 2 * view->wasm;
}

/* Where @walk's leaf in @state has what says what it is: its own frame, or that of its caller. */
static __noinline __u64 v8_frame_of_leaf(struct unwind_walk *walk, int state)
{
	__u64 fp = walk->at.fp;

	// It has not pushed anything yet.
	return state == V8_LEAF_FRAMED && walk->at.sp > fp - 8 ? v8_slot(walk, fp, 0) : fp;
}

/*
 * A leaf of code that is no function's, whose frame begins at @fp, or would: its registers may say
 * more, or @wasm, the frame pointer of what is or has called WebAssembly.
 */
static __noinline void v8_give_leaf(struct unwind_walk *walk, const struct v8_view *view, __u64 fp,
				    __u64 wasm)
{
	__u64 object = 0;

	// Where code is left the register may have anything.
	if (wasm)
		object = v8_slot(walk, wasm, -2);
	else
		object = unwind_register(NULL, walk, V8_DWARF_RSI);
	// There it is a number, of a regular expression.
	if (!v8_is_object(object))
		object = v8_regexp_at(walk, view, fp);
	v8_give_code(walk, object, V8_UNSURE, 0);
}

/* A leaf of made code, whose frame is given. 0, or why the walk ends; UNWIND_END_COUNT: it has a
 * frame on the stack, and none is given yet. */
static __noinline int v8_leave_leaf(struct unwind_walk *walk)
{
	const struct v8_view *view = (const void *)walk->area;
	__u64 sp = walk->at.sp, fp = walk->at.fp, frame;
	int state = v8_leaf_state(walk, walk->at.pc);
	bool wasm;

	frame = v8_frame_of_leaf(walk, state);
	wasm = v8_is_wasm(walk, view, frame);
	if (state == V8_LEAF_FRAMED && (sp <= fp + 8 * (__s64)view->function ||
					(!wasm && v8_is_marker(v8_slot(walk, fp, -1)))))
		return UNWIND_END_COUNT;
	walk->of_runtime[1] = walk->at.pc;
	// Functions of JavaScript are called from wrappers, never from WebAssembly.
	if (state != V8_LEAF_LEAVES && !wasm)
		v8_give(walk, view, unwind_register(NULL, walk, V8_DWARF_RDI), V8_COMPILED);
	if (!walk->given)
		v8_give_leaf(walk, view,
			     state == V8_LEAF_FRAMED   ? fp
			     : state == V8_LEAF_PUSHED ? sp
						       : sp - 8,
			     wasm && state == V8_LEAF_LEAVES ? frame : 0);
	if (state == V8_LEAF_FRAMED)
		return unwind_by_frame_pointer(walk);
	return state == V8_LEAF_PUSHED ? unwind_below(walk, walk->at.sp + 16, 1)
				       : unwind_below(walk, walk->at.sp + 8, 0);
}

/* From a frame of made code, which is given, to its caller. 0, or why the walk ends. */
static __noinline int v8_step(struct unwind_walk *walk)
{
	const struct v8_view *view = (const void *)walk->area;
	__u64 fp = walk->at.fp, word;
	int end = UNWIND_END_COUNT;

	if (walk->at.first)
		end = v8_leave_leaf(walk);
	if (end != UNWIND_END_COUNT)
		return end;
	walk->of_runtime[1] = unwind_code_address(&walk->at);
	if (!(fp & 7) && fp >= walk->at.sp) {
		unwind_approach(walk, fp - V8_BELOW, fp + 16);
		word = v8_slot(walk, fp, -1);
		if (v8_is_marker(word) ||
		    !v8_give(walk, view, v8_slot(walk, fp, view->function), V8_COMPILED))
			v8_give_framed(walk, view, fp, word);
	} else {
		v8_give_code(walk, 0, V8_CODE, 0);
	}
	return unwind_by_frame_pointer(walk);
}

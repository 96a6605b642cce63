// SPDX-License-Identifier: Apache-2.0
#include "function.h"

enum {
	INLINED_LOCALS = 75, /* a scope with more of them has a table of their names */
	LOCALS_MOST = 1 << 20,
};

static uint64_t script_of(const struct v8_heap *heap, uint64_t word)
{
	const struct v8_layout *layout = heap->layout;

	// While it is debugged there is something in between.
	if (layout->offsets.debug_script && v8_is(heap, word, layout->types.debug_info) &&
	    !v8_word(heap, word, layout->offsets.debug_script, &word))
		return 0;
	return v8_is(heap, word, layout->types.script) ? word : 0;
}

/*
 * Has the script of @function, whose number there is @literal, another function by now, or none?
 * One that nobody has any more is freed, but what lies there may look like it long after: the
 * script forgets it at once.
 */
static bool is_forgotten(const struct v8_heap *heap, const struct v8_function *function,
			 uint32_t literal)
{
	uint64_t functions, word;

	if (!function->script ||
	    !v8_word(heap, function->script, heap->layout->offsets.script_functions, &functions) ||
	    !v8_is(heap, functions, heap->layout->types.weak_array) ||
	    !v8_item(heap, functions, literal, &word))
		return false;
	return word != (function->object | V8_WEAK);
}

enum runtime_outcome v8_read_function(const struct v8_heap *heap, uint64_t object,
				      struct v8_function *ret)
{
	const struct v8_offsets *at = &heap->layout->offsets;
	uint64_t script, id = 0;
	uint32_t literal;

	*ret = (struct v8_function){ .object = object };
	if (!v8_word(heap, object, at->shared_data, &ret->data) ||
	    !v8_word(heap, object, at->shared_script, &script) ||
	    !v8_half(heap, object, at->shared_literal, &literal))
		return RUNTIME_UNREADABLE;
	if (!v8_is(heap, object, heap->layout->types.shared))
		return RUNTIME_GONE;
	// As the kernel side does, whatever it is.
	if (v8_is_tagged(script) && !v8_word(heap, script, at->script_id, &id))
		id = 0;
	ret->check = v8_check(literal, (uint32_t)(id >> 32));
	ret->script = script_of(heap, script);
	return is_forgotten(heap, ret, literal) ? RUNTIME_GONE : RUNTIME_NAMED;
}

/* ---- names ---- */

/* The parts of a scope that come after the names of its variables. */
struct scope {
	uint64_t object;
	uint64_t at; /* offset of the first of them */
	uint32_t flags;
};

static bool read_number(const struct v8_heap *heap, uint64_t object, uint64_t offset, int32_t *ret)
{
	uint64_t word;

	if (!v8_word(heap, object, offset, &word) || !v8_is_number(word))
		return false;
	*ret = v8_number(word);
	return true;
}

static bool open_scope(const struct v8_heap *heap, uint64_t object, struct scope *ret)
{
	const struct v8_offsets *at = &heap->layout->offsets;
	const struct v8_values *values = &heap->layout->values;
	int32_t flags, locals;
	uint32_t receiver;

	// A tagged number, or bits as they are.
	if (!v8_is(heap, object, heap->layout->types.scope) ||
	    !v8_read(heap, object, at->scope_flags + (values->scope_has_bits ? 0 : 4), &flags,
		     sizeof(flags)) ||
	    !read_number(heap, object, at->scope_locals, &locals) || locals < 0 ||
	    locals > LOCALS_MOST)
		return false;
	*ret = (struct scope){ object, at->scope_first, (uint32_t)flags };
	// Names, and what each is.
	ret->at += 8ull * (uint32_t)locals;
	if (values->scope_has_table && locals >= INLINED_LOCALS)
		ret->at += 8;
	else
		ret->at += 8ull * (uint32_t)locals;
	if (values->scope_saved_bit && ret->flags >> values->scope_saved_bit & 1)
		ret->at += 8;
	receiver = values->scope_receiver_bit ? ret->flags >> values->scope_receiver_bit & 3 : 0;
	if (receiver == 1 || receiver == 2)
		ret->at += 8;
	return true;
}

static bool scope_is_named(const struct v8_heap *heap, const struct scope *scope)
{
	return scope->flags >> heap->layout->values.scope_named_bit & 3;
}

static bool scope_is_inferred(const struct v8_heap *heap, const struct scope *scope)
{
	return scope->flags >> heap->layout->values.scope_inferred_bit & 1;
}

/* Behind the name, which has two words, the one that was inferred, then where it stands. */
static enum runtime_outcome name_scope(const struct v8_heap *heap, const struct scope *scope,
				       struct v8_text *text)
{
	uint64_t at = scope->at, word;

	if (scope_is_named(heap, scope)) {
		if (!v8_word(heap, scope->object, at, &word))
			return RUNTIME_UNREADABLE;
		if (v8_is_text(heap, word)) {
			enum runtime_outcome outcome = v8_append_text(heap, word, text);

			if (outcome != RUNTIME_NAMED || text->length)
				return outcome;
		} else if (word) {
			return RUNTIME_MALFORMED;
		}
		at += 16;
	}
	if (!scope_is_inferred(heap, scope))
		return RUNTIME_NAMED;
	if (!v8_word(heap, scope->object, at, &word))
		return RUNTIME_UNREADABLE;
	return v8_is_text(heap, word) ? v8_append_text(heap, word, text) : RUNTIME_NAMED;
}

static bool is_uncompiled(const struct v8_heap *heap, uint64_t object)
{
	int32_t type = v8_type(heap, object);

	return heap->layout->types.uncompiled_first &&
	       type >= heap->layout->types.uncompiled_first &&
	       type <= heap->layout->types.uncompiled_last;
}

/* Of one whose bytecode was dropped. */
static enum runtime_outcome name_uncompiled(const struct v8_heap *heap,
					    const struct v8_function *function,
					    struct v8_text *text)
{
	const struct v8_offsets *at = &heap->layout->offsets;
	uint64_t word = function->data;

	if (at->shared_untrusted && !is_uncompiled(heap, word) &&
	    !v8_word(heap, function->object, at->shared_untrusted, &word))
		return RUNTIME_UNREADABLE;
	if (!is_uncompiled(heap, word) || !v8_word(heap, word, at->uncompiled_name, &word) ||
	    !v8_is_text(heap, word))
		return RUNTIME_NAMED;
	return v8_append_text(heap, word, text);
}

enum runtime_outcome v8_name_function(const struct v8_heap *heap,
				      const struct v8_function *function, struct v8_text *text)
{
	enum runtime_outcome outcome;
	struct scope scope;
	uint64_t word;

	if (!v8_word(heap, function->object, heap->layout->offsets.shared_name, &word))
		return RUNTIME_UNREADABLE;
	if (open_scope(heap, word, &scope))
		return name_scope(heap, &scope, text);
	if (!v8_is_text(heap, word))
		return v8_is_number(word) ? name_uncompiled(heap, function, text)
					  : RUNTIME_MALFORMED;
	outcome = v8_append_text(heap, word, text);
	if (outcome != RUNTIME_NAMED || text->length)
		return outcome;
	return name_uncompiled(heap, function, text);
}

bool v8_find_start(const struct v8_heap *heap, const struct v8_function *function,
		   uint32_t *start_ret)
{
	uint64_t word, at;
	struct scope scope;
	int32_t start;

	if (!v8_word(heap, function->object, heap->layout->offsets.shared_name, &word) ||
	    !open_scope(heap, word, &scope))
		return false;
	at = heap->layout->offsets.scope_position;
	if (!at)
		at = scope.at + (scope_is_named(heap, &scope) ? 16 : 0) +
		     (scope_is_inferred(heap, &scope) ? 8 : 0);
	if (!read_number(heap, word, at, &start) || start < 0)
		return false;
	*start_ret = (uint32_t)start;
	return true;
}

/* ---- bytecode ---- */

uint64_t v8_bytecode_of(const struct v8_heap *heap, uint64_t data)
{
	const struct v8_layout *layout = heap->layout;

	if (layout->offsets.baseline_bytecode && v8_is(heap, data, layout->types.baseline_data) &&
	    !v8_word(heap, data, layout->offsets.baseline_bytecode, &data))
		return 0;
	if (layout->offsets.code_bytecode && v8_is(heap, data, layout->types.code) &&
	    !v8_word(heap, data, layout->offsets.code_bytecode, &data))
		return 0;
	if (layout->offsets.interpreter_bytecode &&
	    v8_is(heap, data, layout->types.interpreter_data) &&
	    !v8_word(heap, data, layout->offsets.interpreter_bytecode, &data))
		return 0;
	return v8_is(heap, data, layout->types.bytecode) ? data : 0;
}

uint64_t v8_find_bytecode(const struct v8_heap *heap, const struct v8_function *function)
{
	return v8_bytecode_of(heap, function->data);
}

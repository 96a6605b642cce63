// SPDX-License-Identifier: Apache-2.0
#include "evaluate.h"

#include "functions.h"
#include "glob.h"
#include "paths.h"
#include "pattern.h"
#include "run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool evaluation_fail(struct evaluation *evaluation, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(evaluation->run->message, OTTL_MESSAGE_SIZE, format, arguments);
	va_end(arguments);
	return false;
}

/* ---- keys ---- */

static bool apply_key(struct evaluation *evaluation, const struct value *key, struct value *value)
{
	const struct value *found = NULL;

	if (value->type == VALUE_MAP && key->type == VALUE_STRING) {
		found = value_find(value, key->text);
		*value = found ? *found : (struct value){ 0 };
		return true;
	}
	if (value->type == VALUE_LIST && key->type == VALUE_INT) {
		if (key->integer < 0 || key->integer >= value->count)
			return evaluation_fail(evaluation, "index out of bounds");
		*value = value->items[key->integer];
		return true;
	}
	return evaluation_fail(evaluation, "a %s cannot be indexed by a %s",
			       value_type_name(value->type), value_type_name(key->type));
}

/* What the keys of @node from @begin on find in @value. Behind a missing key is nothing. */
static bool apply_keys(struct evaluation *evaluation, const struct node *node, uint32_t begin,
		       struct value *value)
{
	for (uint32_t i = begin; i < node->key_count; i++) {
		bool was_map = value->type == VALUE_MAP;
		struct value key;

		if (!evaluate_value(evaluation, node->keys[i], &key) ||
		    !apply_key(evaluation, &key, value))
			return false;
		if (was_map && value->type == VALUE_NIL)
			return true;
	}
	return true;
}

static bool evaluate_path(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct value key;

	if (!node->key_count)
		return path_read(node->path, evaluation, ret);
	if (!evaluate_value(evaluation, node->keys[0], &key))
		return false;
	if (key.type != VALUE_STRING)
		return evaluation_fail(evaluation,
				       "cannot get map value: could not resolve key for map, "
				       "expecting 'string' but got '%s'",
				       value_type_name(key.type));
	if (!path_read_attribute(node->path, evaluation, key.text, ret))
		return false;
	// Nothing is in what is not there; a value that is no map or list is an error.
	return ret->type == VALUE_NIL || apply_keys(evaluation, node, 1, ret);
}

/* ---- arithmetic ---- */

static bool divide(struct evaluation *evaluation, int64_t left, int64_t right, int64_t *ret)
{
	if (!right)
		return evaluation_fail(evaluation, "attempted to divide by 0");
	// The one quotient that does not fit wraps around, as in Go.
	*ret = right == -1 ? (int64_t)(0 - (uint64_t)left) : left / right;
	return true;
}

static bool operate_on_integers(struct evaluation *evaluation, int64_t left, char op, int64_t right,
				int64_t *ret)
{
	switch (op) {
	case '+':
		*ret = (int64_t)((uint64_t)left + (uint64_t)right);
		return true;
	case '-':
		*ret = (int64_t)((uint64_t)left - (uint64_t)right);
		return true;
	case '*':
		*ret = (int64_t)((uint64_t)left * (uint64_t)right);
		return true;
	default:
		return divide(evaluation, left, right, ret);
	}
}

static bool operate_on_doubles(struct evaluation *evaluation, double left, char op, double right,
			       double *ret)
{
	if (op == '/' && right == 0)
		return evaluation_fail(evaluation, "attempted to divide by 0");
	*ret = op == '+'   ? left + right
	       : op == '-' ? left - right
	       : op == '*' ? left * right
			   : left / right;
	return true;
}

static bool is_number(const struct value *value)
{
	return value->type == VALUE_INT || value->type == VALUE_DOUBLE;
}

static double as_double(const struct value *value)
{
	return value->type == VALUE_INT ? (double)value->integer : value->real;
}

/* Times have durations between them, and durations can be added to both. */
static bool operate_on_times(struct evaluation *evaluation, struct value *left, char op,
			     const struct value *right)
{
	bool left_is_time = left->type == VALUE_TIME, right_is_time = right->type == VALUE_TIME;
	bool fits = (right_is_time || right->type == VALUE_DURATION) &&
		    ((op == '+' && !(left_is_time && right_is_time)) ||
		     (op == '-' && (left_is_time || !right_is_time)));

	if (!fits)
		return evaluation_fail(evaluation, "%s %c %s is not possible",
				       value_type_name(left->type), op,
				       value_type_name(right->type));
	left->type = left_is_time != right_is_time ? VALUE_TIME : VALUE_DURATION;
	return operate_on_integers(evaluation, left->integer, op, right->integer, &left->integer);
}

/* @left becomes the result. */
static bool operate(struct evaluation *evaluation, struct value *left, char op,
		    const struct value *right)
{
	if (left->type == VALUE_TIME || left->type == VALUE_DURATION)
		return operate_on_times(evaluation, left, op, right);
	if (!is_number(left) || !is_number(right))
		return evaluation_fail(evaluation, "%s %c %s: both must be int64 or float64",
				       value_type_name(left->type), op,
				       value_type_name(right->type));
	if (left->type == VALUE_INT && right->type == VALUE_INT)
		return operate_on_integers(evaluation, left->integer, op, right->integer,
					   &left->integer);
	*left = value_double(as_double(left));
	return operate_on_doubles(evaluation, left->real, op, as_double(right), &left->real);
}

static bool evaluate_chain(struct evaluation *evaluation, const struct node *node,
			   struct value *ret)
{
	if (!evaluate_value(evaluation, node->children[0], ret))
		return false;
	for (uint32_t i = 1; i < node->child_count; i++) {
		struct value right;

		if (!evaluate_value(evaluation, node->children[i], &right) ||
		    !operate(evaluation, ret, node->operators[i], &right))
			return false;
	}
	return true;
}

static bool evaluate_negation(struct evaluation *evaluation, const struct node *node,
			      struct value *ret)
{
	if (!evaluate_value(evaluation, node->children[0], ret))
		return false;
	if (ret->type == VALUE_DOUBLE)
		ret->real = -ret->real;
	else if (ret->type == VALUE_INT)
		ret->integer = (int64_t)(0 - (uint64_t)ret->integer);
	else
		return evaluation_fail(evaluation, "unsupported unary minus operation on type %s",
				       value_type_name(ret->type));
	return true;
}

/* ---- values ---- */

static bool evaluate_collection(struct evaluation *evaluation, const struct node *node,
				struct value *ret)
{
	bool is_map = node->kind == NODE_MAP;
	struct value *items = scratch_array(evaluation->scratch, node->child_count, sizeof(*items));

	if (!items)
		return evaluation_fail(evaluation, "no memory for a list");
	for (uint32_t i = 0; i < node->child_count; i++)
		if (!evaluate_value(evaluation, node->children[i], &items[i]))
			return false;
	if (is_map)
		value_sort_pairs(items, node->child_count / 2);
	*ret = (struct value){ .type = is_map ? VALUE_MAP : VALUE_LIST,
			       .count = node->child_count / (is_map ? 2 : 1),
			       .items = items };
	return true;
}

bool evaluate_value(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	switch (node->kind) {
	case NODE_LITERAL:
		*ret = node->literal;
		return true;
	case NODE_LIST:
	case NODE_MAP:
		return evaluate_collection(evaluation, node, ret);
	case NODE_PATH:
		return evaluate_path(evaluation, node, ret);
	case NODE_CALL:
		return node->function->call(evaluation, node, ret) &&
		       apply_keys(evaluation, node, 0, ret);
	case NODE_SUM:
	case NODE_PRODUCT:
		return evaluate_chain(evaluation, node, ret);
	case NODE_NEGATION:
		return evaluate_negation(evaluation, node, ret);
	default:
		return evaluation_fail(evaluation, "not a value");
	}
}

/* ---- regular expressions ---- */

static bool say_match(struct evaluation *evaluation, const struct node *node, const char *what,
		      size_t length)
{
	return evaluation_fail(evaluation, "%u:%u: %s %s of %zu bytes", node->place.line,
			       node->place.column, node->name, what, length);
}

/* The pattern of a call that has it from elsewhere; that of the last time, if it is the same. */
static const struct ottl_pattern *pattern_of_text(struct evaluation *evaluation,
						  const struct node *node, struct pattern_use *use,
						  struct profcol_text text)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	if (use->pattern && use->length == text.length &&
	    !text_compare((struct profcol_text){ use->text, use->length }, text))
		return use->pattern;
	ottl_pattern_destroy(TAKE(use->pattern));
	free(use->text);
	use->text = malloc(text.length + 1);
	if (!use->text) {
		evaluation->scratch->is_exhausted = true;
		evaluation_fail(evaluation, "no memory for a pattern");
		return NULL;
	}
	if (text.length)
		memcpy(use->text, text.bytes, text.length);
	use->length = text.length;
	error = node->function->is_glob
			? glob_create(use->text, use->length, &use->pattern)
			: ottl_pattern_create(use->text, use->length, &use->pattern);
	if (error && profcol_error_code(error) == PROFCOL_NO_MEMORY)
		evaluation->scratch->is_exhausted = true;
	// Its text may come from a batch: no data in messages.
	if (error)
		say_match(evaluation, node, "is given no regular expression but a text",
			  text.length);
	return use->pattern;
}

bool evaluation_fail_match(struct evaluation *evaluation, const struct node *node,
			   enum pattern_outcome outcome, size_t length)
{
	switch (outcome) {
	case PATTERN_TOO_SLOW:
		return say_match(evaluation, node, "has reached its limit on a text", length);
	case PATTERN_TOO_LONG:
		return say_match(evaluation, node, "is given too long a text", length);
	default:
		evaluation->scratch->is_exhausted = true;
		return say_match(evaluation, node, "has no memory for a text", length);
	}
}

const struct ottl_pattern *evaluation_pattern(struct evaluation *evaluation,
					      const struct node *node, struct profcol_text text)
{
	if (node->pattern)
		return node->pattern;
	return pattern_of_text(evaluation, node, &evaluation->state->patterns[node->pattern_slot],
			       text);
}

bool evaluate_match(struct evaluation *evaluation, const struct node *node,
		    struct profcol_text pattern, struct profcol_text text, bool *ret)
{
	const struct ottl_pattern *compiled = evaluation_pattern(evaluation, node, pattern);
	enum pattern_outcome outcome;

	if (!compiled)
		return false;
	outcome = pattern_match(compiled, text, &evaluation->run->matches);
	*ret = outcome == PATTERN_TRUE;
	return outcome == PATTERN_TRUE || outcome == PATTERN_FALSE ||
	       evaluation_fail_match(evaluation, node, outcome, text.length);
}

/* ---- conditions ---- */

static enum ottl_result evaluate_boolean(struct evaluation *evaluation, const struct node *node);

static enum ottl_result result_of(bool boolean)
{
	return boolean ? OTTL_TRUE : OTTL_FALSE;
}

/* A comparison, converter or literal, for the frame at hand if it asks for one. */
static enum ottl_result evaluate_single(struct evaluation *evaluation, const struct node *node)
{
	enum compare_operator compare = node->compare;
	struct value left = { 0 }, right = { 0 };

	if (node->kind != NODE_COMPARISON) {
		if (!evaluate_value(evaluation, node, &left))
			return OTTL_ERROR;
		if (left.type == VALUE_BOOL)
			return result_of(left.boolean);
		evaluation_fail(evaluation,
				"value returned from Converter in constant expression must be "
				"bool but got %s",
				value_type_name(left.type));
		return OTTL_ERROR;
	}
	// "No frame is": the opposite of "any frame is", as everywhere else.
	if (node->is_per_frame && compare == COMPARE_NOT_EQUAL)
		compare = COMPARE_EQUAL;
	if (!evaluate_value(evaluation, node->children[0], &left) ||
	    !evaluate_value(evaluation, node->children[1], &right))
		return OTTL_ERROR;
	return result_of(value_compare(&left, &right, compare));
}

static enum ottl_result negate(enum ottl_result result)
{
	return result == OTTL_ERROR ? OTTL_ERROR : result_of(result == OTTL_FALSE);
}

/* What a memo has, or OTTL_ERROR + 1. */
enum { NOT_KNOWN = OTTL_ERROR + 1 };

static unsigned int recall(struct evaluation *evaluation, const uint8_t *memo, uint32_t slot)
{
	if (!memo || !*memo)
		return NOT_KNOWN;
	if (*memo - 1 == OTTL_ERROR)
		run_memo_load_message(evaluation->run, evaluation->state, slot);
	return *memo - 1U;
}

static void remember(struct evaluation *evaluation, uint8_t *memo, uint32_t slot,
		     enum ottl_result result)
{
	// Another time there may be memory.
	if (!memo || (result == OTTL_ERROR && evaluation->scratch->is_exhausted))
		return;
	*memo = (uint8_t)(result + 1);
	if (result == OTTL_ERROR)
		run_memo_save_message(evaluation->run, evaluation->state, slot);
}

static uint8_t *frame_memo(struct evaluation *evaluation, const struct node *node, uint32_t id)
{
	return node->frame_memo_slot == NO_SLOT
		       ? NULL
		       : run_memo(evaluation->run, evaluation->state, node->frame_memo_slot, id);
}

/* For the function of the frame at hand: by its id where that settles it. */
static enum ottl_result evaluate_frame(struct evaluation *evaluation, const struct node *node)
{
	uint8_t *memo = node->frame_memo_table == MEMO_FUNCTIONS
				? frame_memo(evaluation, node, evaluation->frame.function)
				: NULL;
	unsigned int known = recall(evaluation, memo, node->frame_memo_slot);
	struct scratch_mark mark = scratch_mark(evaluation->scratch);
	enum ottl_result result;

	if (known != NOT_KNOWN)
		return known;
	result = evaluate_single(evaluation, node);
	// So deep stacks need no more than shallow ones.
	scratch_release(evaluation->scratch, mark);
	remember(evaluation, memo, node->frame_memo_slot, result);
	return result;
}

/* For any frame of a location: a call, and what is inlined into it. */
static enum ottl_result evaluate_location(struct evaluation *evaluation, const struct node *node,
					  uint32_t id)
{
	struct profcol_location location = profcol_batch_location(evaluation->batch, id);
	bool by_mapping = node->frame_memo_table == MEMO_MAPPINGS;
	bool by_location = node->frame_memo_table == MEMO_LOCATIONS;
	bool has_lines = (node->frame_reads & READS_FUNCTION) && location.line_count;
	uint32_t frames = has_lines ? location.line_count : 1;
	enum ottl_result result = OTTL_FALSE;
	unsigned int known;
	uint8_t *memo = NULL;

	if (by_mapping || by_location)
		memo = frame_memo(evaluation, node, by_mapping ? location.mapping : id);
	known = recall(evaluation, memo, node->frame_memo_slot);
	if (known != NOT_KNOWN)
		return known;
	evaluation->frame =
		(struct frame){ .mapping = location.mapping, .attributes = location.attributes };
	for (uint32_t i = 0; i < frames && result != OTTL_TRUE; i++) {
		enum ottl_result frame;

		evaluation->frame.function = has_lines ? location.lines[i].function : 0;
		frame = evaluate_frame(evaluation, node);
		result = frame != OTTL_FALSE ? frame : result;
	}
	remember(evaluation, memo, node->frame_memo_slot, result);
	return result;
}

/* For any frame of the stack. A frame that matches outweighs one that is an error. */
static enum ottl_result evaluate_stack(struct evaluation *evaluation, const struct node *node)
{
	uint32_t count;
	const uint32_t *locations =
		profcol_batch_stack(evaluation->batch, evaluation->sample.stack, &count);
	enum ottl_result result = OTTL_FALSE;

	for (uint32_t i = 0; i < count && result != OTTL_TRUE; i++) {
		enum ottl_result location = evaluate_location(evaluation, node, locations[i]);

		result = location != OTTL_FALSE ? location : result;
	}
	return node->kind == NODE_COMPARISON && node->compare == COMPARE_NOT_EQUAL ? negate(result)
										   : result;
}

/* @stop ends an "or" (true) or an "and" (false). */
static enum ottl_result evaluate_all(struct evaluation *evaluation, const struct node *node,
				     enum ottl_result stop)
{
	for (uint32_t i = 0; i < node->child_count; i++) {
		enum ottl_result result = evaluate_boolean(evaluation, node->children[i]);

		if (result == OTTL_ERROR || result == stop)
			return result;
	}
	return negate(stop);
}

static enum ottl_result evaluate_again(struct evaluation *evaluation, const struct node *node)
{
	switch (node->kind) {
	case NODE_AND:
		return evaluate_all(evaluation, node, OTTL_FALSE);
	case NODE_OR:
		return evaluate_all(evaluation, node, OTTL_TRUE);
	case NODE_NOT:
		return negate(evaluate_boolean(evaluation, node->children[0]));
	default:
		return node->is_per_frame ? evaluate_stack(evaluation, node)
					  : evaluate_single(evaluation, node);
	}
}

/* The entry of @table that the position is in. */
static uint32_t entry_of(const struct evaluation *evaluation, enum memo_table table)
{
	switch (table) {
	case MEMO_RESOURCES:
		return evaluation->position.resource;
	case MEMO_SCOPES:
		return evaluation->position.scope;
	case MEMO_PROFILES:
		return evaluation->position.profile;
	case MEMO_ATTRIBUTE_LISTS:
		return evaluation->sample.attributes;
	default:
		return evaluation->sample.stack;
	}
}

static enum ottl_result evaluate_boolean(struct evaluation *evaluation, const struct node *node)
{
	enum ottl_result result;
	unsigned int known;
	uint8_t *memo;

	if (node->memo_slot == NO_SLOT)
		return evaluate_again(evaluation, node);
	memo = run_memo(evaluation->run, evaluation->state, node->memo_slot,
			entry_of(evaluation, node->memo_table));
	known = recall(evaluation, memo, node->memo_slot);
	if (known != NOT_KNOWN)
		return known;
	result = evaluate_again(evaluation, node);
	remember(evaluation, memo, node->memo_slot, result);
	return result;
}

/* Without a state when there is no memory. */
static struct evaluation evaluation_begin(const struct ottl_condition *condition,
					  struct ottl_run *run,
					  const struct ottl_position *position)
{
	struct evaluation evaluation = {
		.run = run,
		.batch = run->batch,
		.state = run_state(run, condition),
		.position = *position,
		.frame = { position->function, position->mapping, position->location_attributes },
		.scratch = &run->scratch,
	};

	scratch_reset(&run->scratch);
	if (!evaluation.state) {
		run->scratch.is_exhausted = true;
		evaluation_fail(&evaluation, "no memory");
	} else if (condition->context == OTTL_SAMPLE) {
		evaluation.sample = profcol_batch_sample(run->batch, position->sample);
	}
	return evaluation;
}

enum ottl_result ottl_evaluate(const struct ottl_condition *condition, struct ottl_run *run,
			       const struct ottl_position *position)
{
	struct evaluation evaluation = evaluation_begin(condition, run, position);

	return evaluation.state ? evaluate_boolean(&evaluation, condition->root) : OTTL_ERROR;
}

enum ottl_result ottl_execute(const struct ottl_statement *statement, struct ottl_run *run,
			      struct ottl_position *position)
{
	const struct ottl_condition *program = &statement->program;
	struct evaluation evaluation = evaluation_begin(program, run, position);
	enum ottl_result result = evaluation.state ? OTTL_TRUE : OTTL_ERROR;
	struct value nothing;

	if (result == OTTL_TRUE && program->root)
		result = evaluate_boolean(&evaluation, program->root);
	if (result != OTTL_TRUE)
		return result;
	if (!program->editor->function->call(&evaluation, program->editor, &nothing))
		return OTTL_ERROR;
	position->function = evaluation.frame.function;
	return OTTL_TRUE;
}

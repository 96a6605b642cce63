// SPDX-License-Identifier: Apache-2.0
#include "resolve.h"

#include "editors.h"
#include "functions.h"
#include "glob.h"
#include "path_write.h"
#include "paths.h"

#include <string.h>

struct resolver {
	struct ottl_condition *condition;
	bool needs_owner;
};

/* Of a path that an editor changes: maps inside each other do not grow without end. */
enum { TARGET_KEYS_MAX = 16 };

static struct profcol_error *resolve_value(struct resolver *resolver, struct node *node);

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a condition");
}

/* @nodes (NULL among them is fine), whose reads become @node's, too. */
static struct profcol_error *resolve_all(struct resolver *resolver, struct node *node,
					 struct node **nodes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_error *error = nodes[i] ? resolve_value(resolver, nodes[i]) : NULL;

		if (error)
			return error;
		if (nodes[i])
			node->reads |= nodes[i]->reads;
	}
	return NULL;
}

/* ---- lists and maps of literals are literals ---- */

static bool are_literals(struct node **nodes, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (nodes[i]->kind != NODE_LITERAL)
			return false;
	return true;
}

static struct profcol_error *check_keys_differ(const struct node *map)
{
	for (uint32_t i = 0; i < map->child_count; i += 2)
		for (uint32_t j = 0; j < i; j += 2)
			if (!text_compare(map->children[i]->literal.text,
					  map->children[j]->literal.text))
				return place_error(map->children[i]->place,
						   "the map has this key already");
	return NULL;
}

static struct profcol_error *resolve_collection(struct resolver *resolver, struct node *node)
{
	bool is_map = node->kind == NODE_MAP;
	struct profcol_error *error;
	struct value *items;

	if (node->child_count > OTTL_MAX_ITEMS)
		return place_error(node->place, "more than %d items", OTTL_MAX_ITEMS);
	error = resolve_all(resolver, node, node->children, node->child_count);
	if (!error && is_map)
		error = check_keys_differ(node);
	if (error || !are_literals(node->children, node->child_count))
		return error;
	items = arena_alloc(resolver->condition->arena, (node->child_count + 1) * sizeof(*items));
	if (!items)
		return no_memory();
	for (uint32_t i = 0; i < node->child_count; i++)
		items[i] = node->children[i]->literal;
	if (is_map)
		value_sort_pairs(items, node->child_count / 2);
	node->kind = NODE_LITERAL;
	node->literal = (struct value){ .type = is_map ? VALUE_MAP : VALUE_LIST,
					.count = node->child_count / (is_map ? 2 : 1),
					.items = items };
	return NULL;
}

/* ---- calls ---- */

static struct profcol_error *unknown_editor(const struct node *node)
{
	const char *nearest = editor_nearest(node->name);

	if (nearest)
		return place_error(node->place,
				   "undefined function \"%.60s\"; did you mean \"%s\"?", node->name,
				   nearest);
	return place_error(node->place, "undefined function \"%.60s\"; there are: %s", node->name,
			   editor_names());
}

static struct profcol_error *unknown_function(const struct node *node)
{
	const char *nearest = function_nearest(node->name);

	if (nearest)
		return place_error(node->place,
				   "undefined function \"%.60s\"; did you mean \"%s\"?", node->name,
				   nearest);
	return place_error(node->place, "undefined function \"%.60s\"; there are: %s", node->name,
			   function_names());
}

static struct profcol_error *wrong_count(const struct node *node)
{
	return place_error(node->place,
			   "error while parsing arguments for call to \"%s\": incorrect number of "
			   "arguments. Expected: %u Received: %u",
			   node->name, node->function->parameter_count, node->child_count);
}

static struct profcol_error *unknown_parameter(const struct node *node, struct node *argument,
					       const char *name)
{
	const char *names[PARAMETERS_MAX], *nearest;

	for (uint32_t i = 0; i < node->function->parameter_count; i++)
		names[i] = node->function->parameters[i].name;
	nearest = strings_nearest(name, names, node->function->parameter_count);
	return place_error(argument->place,
			   "error while parsing arguments for call to \"%s\": no such parameter: "
			   "%.60s; did you mean \"%s\"?",
			   node->name, name, nearest ? nearest : names[0]);
}

/* The parameter that argument @index of @node goes to; the count of them when it is unknown. */
static uint32_t parameter_of(const struct node *node, uint32_t index)
{
	const struct function *function = node->function;
	const char *name = node->argument_names[index];

	for (uint32_t i = 0; name && i < function->parameter_count; i++)
		if (!strcmp(function->parameters[i].name, name))
			return i;
	return name ? function->parameter_count : index;
}

/* Arguments by parameter instead of as they are written. */
static struct profcol_error *bind_arguments(struct resolver *resolver, struct node *node)
{
	const struct function *function = node->function;
	struct node **bound;
	bool seen_name = false;

	if (node->child_count > function->parameter_count)
		return wrong_count(node);
	bound = arena_alloc(resolver->condition->arena, PARAMETERS_MAX * sizeof(*bound));
	if (!bound)
		return no_memory();
	for (uint32_t i = 0; i < node->child_count; i++) {
		uint32_t parameter = parameter_of(node, i);

		if (seen_name && !node->argument_names[i])
			return place_error(node->children[i]->place,
					   "error while parsing arguments for call to \"%s\": "
					   "unnamed argument used after named argument",
					   node->name);
		seen_name |= node->argument_names[i] != NULL;
		if (parameter == function->parameter_count)
			return unknown_parameter(node, node->children[i], node->argument_names[i]);
		if (bound[parameter])
			return place_error(node->children[i]->place,
					   "error while parsing arguments for call to \"%s\": "
					   "\"%s\" is given twice",
					   node->name, function->parameters[parameter].name);
		bound[parameter] = node->children[i];
	}
	for (uint32_t i = 0; i < function->parameter_count; i++)
		if (!bound[i] && !function->parameters[i].is_optional)
			return wrong_count(node);
	node->children = bound;
	node->child_count = function->parameter_count;
	return NULL;
}

static bool is_list_kind(enum parameter_kind kind)
{
	return kind == PARAMETER_TEXT_LIST || kind == PARAMETER_STRING_LIST ||
	       kind == PARAMETER_VALUE_LIST;
}

static bool is_literal_kind(enum parameter_kind kind)
{
	return kind == PARAMETER_FLAG || kind == PARAMETER_LITERAL_INT ||
	       kind == PARAMETER_LITERAL_TEXT || kind == PARAMETER_LITERAL_TEXTS;
}

/* What can be said of an argument before it has a value. */
static struct profcol_error *check_argument(const struct node *node, uint32_t index)
{
	const struct parameter *parameter = &node->function->parameters[index];
	const struct node *argument = node->children[index];
	bool is_literal = argument && argument->kind == NODE_LITERAL;
	const char *expected = "";

	if (!argument)
		return NULL;
	if (parameter->kind == PARAMETER_TARGET || parameter->kind == PARAMETER_MAP_TARGET ||
	    parameter->kind == PARAMETER_FUNCTION)
		return NULL;
	if (is_list_kind(parameter->kind) && argument->kind == NODE_LIST)
		return NULL;
	if (is_list_kind(parameter->kind) && !is_literal)
		return place_error(argument->place,
				   "error while parsing arguments for call to \"%s\": invalid "
				   "argument at position %u: must be a list in brackets",
				   node->name, index);
	if (is_literal_kind(parameter->kind) && !is_literal) {
		parameter_takes(parameter->kind, &(struct value){ 0 }, &expected);
		return place_error(argument->place,
				   "error while parsing arguments for call to \"%s\": invalid "
				   "argument at position %u: must be %s",
				   node->name, index, expected);
	}
	if (!is_literal || parameter_takes(parameter->kind, &argument->literal, &expected))
		return NULL;
	return place_error(argument->place,
			   "error while parsing arguments for call to \"%s\": invalid argument at "
			   "position %u: expected %s but got %s",
			   node->name, index, expected, value_type_name(argument->literal.type));
}

/* The regular expression of a call, once if it is a literal. */
static struct profcol_error *compile_pattern(struct resolver *resolver, struct node *node)
{
	struct ottl_condition *condition = resolver->condition;
	const struct node *argument = node->children[node->function->pattern - 1];
	struct profcol_error *error;

	node->pattern_slot = condition->pattern_count++;
	if (argument->kind != NODE_LITERAL)
		return NULL;
	if (!VECTOR_RESERVE(&condition->patterns, 1))
		return no_memory();
	error = node->function->is_glob
			? glob_create(argument->literal.text.bytes, argument->literal.text.length,
				      &node->pattern)
			: ottl_pattern_create(argument->literal.text.bytes,
					      argument->literal.text.length, &node->pattern);
	if (error)
		return profcol_error_prefix(error,
					    "%u:%u: the %s pattern supplied to %s is not valid",
					    argument->place.line, argument->place.column,
					    node->function->is_glob ? "glob" : "regex", node->name);
	condition->patterns.items[condition->patterns.count++] = node->pattern;
	return NULL;
}

/* The name of a converter in place of a value. */
static struct profcol_error *resolve_converter(const struct node *call, struct node *name)
{
	const struct function *converter =
		name->kind == NODE_ENUM ? function_find(name->name) : NULL;

	if (!converter)
		return place_error(
			name->place,
			"error while parsing arguments for call to \"%s\": must be the name "
			"of a converter, without parentheses; there are: %s",
			call->name, function_names());
	if (converter->parameters[0].kind > PARAMETER_TEXT || converter->pattern ||
	    (converter->parameter_count > 1 && !converter->parameters[1].is_optional))
		return place_error(
			name->place,
			"error while parsing arguments for call to \"%s\": %s takes more "
			"than one text",
			call->name, name->name);
	name->converter = converter;
	return NULL;
}

/* The path that an editor changes. */
static struct profcol_error *resolve_target(struct resolver *resolver, struct node *node,
					    const char *editor)
{
	struct profcol_error *error;

	if (node->kind != NODE_PATH)
		return place_error(node->place, "%s changes a path, and this is none", editor);
	error = resolve_value(resolver, node);
	if (error)
		return error;
	node->writer = path_writer(node->path);
	if (!node->writer)
		return place_error(node->place, "the path \"%s\" cannot be changed",
				   node->path->name);
	if (node->key_count > TARGET_KEYS_MAX)
		return place_error(node->place, "more than %d keys behind a path that is changed",
				   TARGET_KEYS_MAX);
	return NULL;
}

static struct profcol_error *resolve_argument(struct resolver *resolver, struct node *call,
					      uint32_t index)
{
	enum parameter_kind kind = call->function->parameters[index].kind;
	struct node *argument = call->children[index];
	struct profcol_error *error;

	if (kind == PARAMETER_FUNCTION)
		return resolve_converter(call, argument);
	if (kind == PARAMETER_TARGET || kind == PARAMETER_MAP_TARGET)
		error = resolve_target(resolver, argument, call->name);
	else
		error = resolve_value(resolver, argument);
	call->reads |= argument->reads;
	return error ? error : check_argument(call, index);
}

/* The arguments of a call whose function is known. */
static struct profcol_error *resolve_arguments(struct resolver *resolver, struct node *node)
{
	struct profcol_error *error = bind_arguments(resolver, node);

	for (uint32_t i = 0; !error && i < node->child_count; i++)
		if (node->children[i])
			error = resolve_argument(resolver, node, i);
	if (!error && node->function->pattern)
		error = compile_pattern(resolver, node);
	return error;
}

/* Cases that ConvertCase knows in the Collector, and not here, are none of our business. */
static struct profcol_error *check_case(const struct node *node)
{
	static const char *const cases[] = { "upper", "lower" };

	if (strcmp(node->name, "ConvertCase") != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(node->children[1]->literal.text.bytes, cases[i]))
			return NULL;
	return place_error(node->children[1]->place,
			   "ConvertCase: invalid case; there are \"upper\" and \"lower\"");
}

static struct profcol_error *resolve_call(struct resolver *resolver, struct node *node)
{
	struct profcol_error *error;

	node->function = function_find(node->name);
	if (!node->function)
		return unknown_function(node);
	error = resolve_arguments(resolver, node);
	if (!error)
		error = check_case(node);
	return error ? error : resolve_all(resolver, node, node->keys, node->key_count);
}

/* ---- values ---- */

static struct profcol_error *resolve_path(struct resolver *resolver, struct node *node)
{
	struct profcol_error *error;

	error = path_resolve(resolver->condition->context, resolver->needs_owner, node);
	return error ? error : resolve_all(resolver, node, node->keys, node->key_count);
}

static struct profcol_error *resolve_value(struct resolver *resolver, struct node *node)
{
	switch (node->kind) {
	case NODE_LITERAL:
		return NULL;
	case NODE_ENUM:
		// Other contexts of the Collector have some: kinds of spans, severities.
		return place_error(node->place, "enum symbol, %.60s, not found", node->name);
	case NODE_LIST:
	case NODE_MAP:
		return resolve_collection(resolver, node);
	case NODE_PATH:
		return resolve_path(resolver, node);
	case NODE_CALL:
		return resolve_call(resolver, node);
	default:
		return resolve_all(resolver, node, node->children, node->child_count);
	}
}

/* ---- conditions ---- */

/* The table whose entries settle what one frame makes of a node. */
static enum memo_table table_of_frame(unsigned int reads)
{
	if (reads == READS_FUNCTION)
		return MEMO_FUNCTIONS;
	if (reads == READS_MAPPING)
		return MEMO_MAPPINGS;
	return reads & ~(unsigned int)READS_FRAME ? MEMO_NONE : MEMO_LOCATIONS;
}

/* A comparison, or a converter in the place of one. */
static void mark_per_frame(struct node *node, enum ottl_context context)
{
	if (!(node->reads & READS_FRAME) || context == OTTL_FRAME || context == OTTL_MAPPING)
		return;
	node->is_per_frame = true;
	node->frame_reads = node->reads;
	node->frame_memo_table = table_of_frame(node->reads);
	node->reads = (node->reads & ~(unsigned int)READS_FRAME) | READS_STACK;
}

static bool is_constant(const struct node *node, bool boolean)
{
	return node->kind == NODE_LITERAL && node->literal.boolean == boolean;
}

static void become_constant(struct node *node, bool boolean)
{
	node->kind = NODE_LITERAL;
	node->literal = value_bool(boolean);
	node->reads = 0;
}

/*
 * What is settled before there is a batch, as the Collector settles it: `x or true` is true even
 * where x is an error.
 */
static void fold_constants(struct node *node)
{
	bool decides = node->kind == NODE_OR;
	uint32_t left = 0;

	if (node->kind == NODE_COMPARISON && are_literals(node->children, 2))
		become_constant(node, value_compare(&node->children[0]->literal,
						    &node->children[1]->literal, node->compare));
	if (node->kind == NODE_NOT && node->children[0]->kind == NODE_LITERAL)
		become_constant(node, !node->children[0]->literal.boolean);
	if (node->kind != NODE_AND && node->kind != NODE_OR)
		return;
	for (uint32_t i = 0; i < node->child_count; i++) {
		if (is_constant(node->children[i], decides)) {
			become_constant(node, decides);
			return;
		}
		if (!is_constant(node->children[i], !decides))
			node->children[left++] = node->children[i];
	}
	node->child_count = left;
	if (!left)
		become_constant(node, !decides);
}

static struct profcol_error *resolve_boolean(struct resolver *resolver, struct node *node)
{
	struct profcol_error *error;

	if (node->kind != NODE_AND && node->kind != NODE_OR && node->kind != NODE_NOT) {
		error = resolve_value(resolver, node);
		if (!error && node->kind == NODE_CALL && !node->key_count &&
		    node->function->result != VALUE_BOOL)
			return place_error(node->place,
					   "value returned from Converter in constant expression "
					   "must be bool but got %s",
					   value_type_name(node->function->result));
		if (!error) {
			mark_per_frame(node, resolver->condition->context);
			fold_constants(node);
		}
		return error;
	}
	for (uint32_t i = 0; i < node->child_count; i++) {
		error = resolve_boolean(resolver, node->children[i]);
		if (error)
			return error;
		node->reads |= node->children[i]->reads;
	}
	fold_constants(node);
	return NULL;
}

/* ---- what is remembered ---- */

static enum memo_table table_of(unsigned int reads)
{
	if (!(reads & ~(unsigned int)READS_RESOURCE))
		return MEMO_RESOURCES;
	if (!(reads & ~(unsigned int)(READS_RESOURCE | READS_SCOPE)))
		return MEMO_SCOPES;
	if (!(reads & ~(unsigned int)(READS_RESOURCE | READS_SCOPE | READS_PROFILE)))
		return MEMO_PROFILES;
	if (reads == READS_SAMPLE_ATTRIBUTES)
		return MEMO_ATTRIBUTE_LISTS;
	return reads == READS_STACK ? MEMO_STACKS : MEMO_NONE;
}

/* Is an entry of @table what the condition is evaluated for, and so met but once; or a row, while
 * rows change? */
static bool is_unstable(const struct ottl_condition *condition, enum memo_table table)
{
	enum ottl_context context = condition->context;

	if (condition->is_editing)
		return table == MEMO_RESOURCES || table == MEMO_SCOPES || table == MEMO_PROFILES ||
		       context == OTTL_FRAME || context == OTTL_MAPPING;
	return (table == MEMO_RESOURCES && context == OTTL_RESOURCE) ||
	       (table == MEMO_SCOPES && context == OTTL_SCOPE) ||
	       (table == MEMO_PROFILES && context == OTTL_PROFILE);
}

static uint32_t next_slot(struct ottl_condition *condition, enum memo_table table)
{
	condition->memos[condition->memo_count] = table;
	return condition->memo_count++;
}

static uint32_t count_nodes(const struct node *node)
{
	uint32_t count = 1;

	if (node->kind == NODE_AND || node->kind == NODE_OR || node->kind == NODE_NOT)
		for (uint32_t i = 0; i < node->child_count; i++)
			count += count_nodes(node->children[i]);
	return count;
}

/* @outer is the table for which a node around this one is remembered. */
static void assign_memos(struct ottl_condition *condition, struct node *node, enum memo_table outer)
{
	node->memo_table = table_of(node->reads);
	if (node->kind != NODE_LITERAL && node->memo_table != MEMO_NONE &&
	    node->memo_table != outer && !is_unstable(condition, node->memo_table))
		node->memo_slot = next_slot(condition, node->memo_table);
	if (node->frame_memo_table != MEMO_NONE)
		node->frame_memo_slot = next_slot(condition, node->frame_memo_table);
	if (node->kind == NODE_AND || node->kind == NODE_OR || node->kind == NODE_NOT)
		for (uint32_t i = 0; i < node->child_count; i++)
			assign_memos(condition, node->children[i], node->memo_table);
}

static struct profcol_error *resolve_root(struct resolver *resolver)
{
	struct ottl_condition *condition = resolver->condition;
	struct profcol_error *error = resolve_boolean(resolver, condition->root);

	if (error)
		return error;
	condition->memos = arena_alloc(condition->arena, 2 * (size_t)count_nodes(condition->root) *
								 sizeof(*condition->memos));
	if (!condition->memos)
		return no_memory();
	assign_memos(condition, condition->root, MEMO_NONE);
	return NULL;
}

struct profcol_error *resolve_condition(struct ottl_condition *condition, bool needs_owner)
{
	struct resolver resolver = { .condition = condition, .needs_owner = needs_owner };

	return resolve_root(&resolver);
}

struct profcol_error *resolve_statement(struct ottl_condition *program, bool needs_owner)
{
	struct resolver resolver = { .condition = program, .needs_owner = needs_owner };
	struct node *editor = program->editor;
	const struct node *argument;
	struct profcol_error *error;
	const char *fault;

	editor->function = editor_find(editor->name);
	if (!editor->function)
		return unknown_editor(editor);
	error = resolve_arguments(&resolver, editor);
	if (error)
		return error;
	fault = editor_fault(editor, &argument);
	if (fault)
		return place_error(argument->place, "%s: %s", editor->name, fault);
	if (program->context == OTTL_SAMPLE && (editor->reads & READS_FRAME))
		return place_error(editor->place,
				   "a stack has many frames, and %s does not say which of them; "
				   "frame and mapping can stand behind \"where\"",
				   editor->name);
	return program->root ? resolve_root(&resolver) : NULL;
}

/* ---- inference ---- */

static void widen_context(struct node *const *nodes, uint32_t count, enum ottl_context *context,
			  bool *found)
{
	enum ottl_context inner;

	for (uint32_t i = 0; i < count; i++) {
		if (!resolve_context(nodes[i], &inner))
			continue;
		*context = !*found || inner > *context ? inner : *context;
		*found = true;
	}
}

bool resolve_context(const struct node *node, enum ottl_context *ret)
{
	bool found = node->kind == NODE_PATH && path_context(node, ret);

	widen_context(node->children, node->child_count, ret, &found);
	widen_context(node->keys, node->key_count, ret, &found);
	for (uint32_t i = 0; i < node->segment_count; i++)
		widen_context(node->segments[i].keys, node->segments[i].key_count, ret, &found);
	return found;
}

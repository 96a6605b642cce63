// SPDX-License-Identifier: Apache-2.0
#include "pod_parse.h"

#include "pod_draft.h"
#include "pod_places.h"
#include "pod_tokens.h"

#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

enum { PLACES_DEEP_MAX = 12 };

struct pod_parse {
	enum pod_place root;
	enum k8s_kind kind;
	pod_event_function *take;
	void *context;
	yajl_handle yajl; /* owned */
	struct pod_tokens tokens;
	uint64_t fed; /* bytes, before the piece that is being parsed */
	bool stopped, failed;
	unsigned int roots; /* that have come to their end */

	/* Where we are: maps and lists that are kept, and how many are open that are not. */
	enum pod_place places[PLACES_DEEP_MAX];
	unsigned int place_count, ignored;
	const struct pod_step *step; /* to the value that comes next; NULL = ignored */
	const char *pair_key;        /* of a label or annotation */

	struct pod_draft *draft; /* owned */
	struct k8s_owner *owner; /* in the draft, as the next one */
	struct pod_draft_container *container;
	uint64_t object_begin; /* byte */
	bool has_object, oversized;
	enum pod_event_type type;
	const char *fault; /* why it was given up; NULL = something else than us */
	char version[POD_PARSE_VERSION_MAX + 1], more[POD_PARSE_CONTINUE_MAX + 1];
};

static enum pod_place here(const struct pod_parse *parse)
{
	return parse->place_count ? parse->places[parse->place_count - 1] : PLACE_NOWHERE;
}

/* Gives the parse up. */
static int refuse(struct pod_parse *parse, const char *fault)
{
	parse->fault = fault;
	return 0;
}

/* ---- objects ---- */

static void object_begin(struct pod_parse *parse)
{
	pod_draft_reset(parse->draft);
	parse->object_begin = parse->fed + yajl_get_bytes_consumed(parse->yajl);
	parse->has_object = true;
	parse->oversized = false;
}

/* Nothing more is kept of an object that is too large. */
static bool object_is_kept(struct pod_parse *parse)
{
	uint64_t at = parse->fed + yajl_get_bytes_consumed(parse->yajl);

	if (parse->has_object && at - parse->object_begin > POD_PARSE_OBJECT_MAX)
		parse->oversized = true;
	return !parse->oversized;
}

/* The object is complete, and so is the event it came in. */
static int object_deliver(struct pod_parse *parse, enum pod_event_type type)
{
	struct pod_draft *draft = parse->draft;
	const struct k8s_metadata *metadata = &draft->pod.metadata;
	struct pod_event event = {
		.type = type,
		.resource_version = draft->resource_version,
		.code = draft->refusal.code,
		.message = draft->refusal.message,
	};

	object_is_kept(parse);
	pod_draft_finish(draft);
	if (parse->oversized) {
		event.type = POD_EVENT_OVERSIZED;
	} else if (type == POD_EVENT_PUT || type == POD_EVENT_REMOVED) {
		event.metadata = metadata;
		event.pod = parse->kind == K8S_POD ? &draft->pod : NULL;
		if (!metadata->name[0] || !metadata->uid[0])
			event.type = POD_EVENT_UNKNOWN;
	}
	event.incomplete = draft->incomplete;
	parse->has_object = parse->oversized = false;
	parse->stopped = !parse->take(parse->context, &event);
	// A watch may be silent for long.
	pod_draft_reset(draft);
	return !parse->stopped;
}

static int event_deliver(struct pod_parse *parse)
{
	if (!parse->has_object)
		return refuse(parse, "an event has no object");
	return object_deliver(parse, parse->type);
}

/* ---- where we are ---- */

static enum k8s_container_role role_of(enum pod_place list)
{
	switch (list) {
	case PLACE_INIT_CONTAINERS:
	case PLACE_INIT_CONTAINER_STATUSES:
		return K8S_CONTAINER_INIT;
	case PLACE_EPHEMERAL_CONTAINERS:
	case PLACE_EPHEMERAL_CONTAINER_STATUSES:
		return K8S_CONTAINER_EPHEMERAL;
	default:
		return K8S_CONTAINER_REGULAR;
	}
}

/* Begin what @place holds; false when nothing of it is to be kept. */
static bool place_begin(struct pod_parse *parse, enum pod_place place)
{
	switch (place) {
	case PLACE_NOWHERE:
		return false;
	case PLACE_EVENT:
		parse->type = POD_EVENT_UNKNOWN;
		parse->has_object = parse->oversized = false;
		return true;
	case PLACE_OBJECT:
		object_begin(parse);
		return true;
	case PLACE_SPEC:
	case PLACE_STATUS:
		return parse->kind == K8S_POD;
	case PLACE_OWNER:
		parse->owner = pod_draft_add_owner(parse->draft);
		return parse->owner;
	case PLACE_CONTAINER:
		parse->container = pod_draft_add_described(parse->draft, role_of(here(parse)));
		return parse->container;
	case PLACE_CONTAINER_STATUS:
		parse->container = pod_draft_add_observed(parse->draft, role_of(here(parse)));
		return parse->container;
	default:
		return true;
	}
}

/* A map, or a list, begins where @place is expected. */
static int open_place(struct pod_parse *parse, enum pod_place place)
{
	unsigned int depth = parse->place_count + parse->ignored;

	if (depth >= POD_PARSE_DEPTH_REFUSED)
		return refuse(parse, "it is nested too deep");
	// One object of many: the others are none the worse for it.
	if (depth >= POD_PARSE_DEPTH_MAX && parse->has_object)
		parse->oversized = true;
	parse->step = NULL;
	if (parse->ignored || !object_is_kept(parse) || parse->place_count == PLACES_DEEP_MAX ||
	    !place_begin(parse, place))
		parse->ignored++;
	else
		parse->places[parse->place_count++] = place;
	return 1;
}

static int on_map(void *context)
{
	struct pod_parse *parse = context;
	enum pod_place place = here(parse), element;

	if (!parse->place_count && !parse->ignored)
		return open_place(parse, parse->root);
	element = pod_places_element(place);
	if (element != PLACE_NOWHERE)
		return open_place(parse, element);
	place = parse->step ? parse->step->next : PLACE_NOWHERE;
	// A list was expected.
	if (pod_places_element(place) != PLACE_NOWHERE)
		place = PLACE_NOWHERE;
	return open_place(parse, place);
}

static int on_list(void *context)
{
	struct pod_parse *parse = context;
	enum pod_place place = parse->step ? parse->step->next : PLACE_NOWHERE;

	if (!parse->place_count && !parse->ignored)
		return refuse(parse, "it is no object");
	if (pod_places_element(place) == PLACE_NOWHERE)
		place = PLACE_NOWHERE;
	return open_place(parse, place);
}

static int on_end(void *context)
{
	struct pod_parse *parse = context;
	enum pod_place place;

	parse->step = NULL;
	if (parse->ignored) {
		parse->ignored--;
		return 1;
	}
	place = here(parse);
	parse->place_count--;
	if (!parse->place_count)
		parse->roots++;
	if (place == PLACE_EVENT)
		return event_deliver(parse);
	if (place == PLACE_OBJECT && here(parse) == PLACE_ITEMS)
		return object_deliver(parse, POD_EVENT_PUT);
	return 1;
}

static int on_key(void *context, const unsigned char *key, size_t length)
{
	struct pod_parse *parse = context;
	enum pod_place place = here(parse);

	parse->step = NULL;
	parse->pair_key = NULL;
	if (parse->ignored || !object_is_kept(parse))
		return 1;
	if (place == PLACE_LABELS || place == PLACE_ANNOTATIONS)
		parse->pair_key = pod_draft_keep(parse->draft, (const char *)key, length);
	else
		parse->step = pod_places_find(place, (const char *)key, length);
	return 1;
}

/* ---- values ---- */

/* Where @step's value goes; NULL for those that have no place of their own. */
static void *slot_of(struct pod_parse *parse, const struct pod_step *step)
{
	char *base = (char *)parse->draft;

	switch (step->place) {
	case PLACE_OWNER:
		base = (char *)parse->owner;
		break;
	case PLACE_CONTAINER:
	case PLACE_CONTAINER_STATUS:
	case PLACE_STATE_TERMINATED:
	case PLACE_LAST_STATE_TERMINATED:
		base = (char *)parse->container;
		break;
	default:
		break;
	}
	return base + step->offset;
}

static void set_type(struct pod_parse *parse, const char *text, size_t length)
{
	static const struct {
		const char *name;
		enum pod_event_type type;
	} types[] = {
		{ "ADDED", POD_EVENT_PUT },       { "MODIFIED", POD_EVENT_PUT },
		{ "DELETED", POD_EVENT_REMOVED }, { "BOOKMARK", POD_EVENT_BOOKMARK },
		{ "ERROR", POD_EVENT_ERROR },
	};

	parse->type = POD_EVENT_UNKNOWN;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strlen(types[i].name) == length && !memcmp(types[i].name, text, length))
			parse->type = types[i].type;
}

/* A text of a list, which is sent back as it is. */
static int set_whole(struct pod_parse *parse, char *to, size_t most, const char *text,
		     size_t length)
{
	if (length > most)
		return refuse(parse, "its resourceVersion or continue is too long");
	strings_sanitize_utf8(to, text, length);
	return 1;
}

/* The step to a value that comes now, if it is kept as @value. */
static const struct pod_step *take_step(struct pod_parse *parse, enum pod_value value)
{
	const struct pod_step *step = TAKE(parse->step);

	if (!step || step->value != value || parse->ignored || !object_is_kept(parse))
		return NULL;
	return step;
}

static int on_text(void *context, const unsigned char *bytes, size_t length)
{
	struct pod_parse *parse = context;
	const char *text = (const char *)bytes, *key = TAKE(parse->pair_key), *kept;
	const struct pod_step *step = TAKE(parse->step);

	if (!parse->place_count && !parse->ignored)
		return refuse(parse, "it is no object");
	if (parse->ignored || !object_is_kept(parse) || (!step && !key))
		return 1;
	if (step && step->value == VALUE_EVENT_TYPE) {
		set_type(parse, text, length);
		return 1;
	}
	if (step && step->value == VALUE_LIST_VERSION)
		return set_whole(parse, parse->version, POD_PARSE_VERSION_MAX, text, length);
	if (step && step->value == VALUE_LIST_CONTINUE)
		return set_whole(parse, parse->more, POD_PARSE_CONTINUE_MAX, text, length);
	if (step && step->value != VALUE_TEXT)
		return 1;
	kept = pod_draft_keep(parse->draft, text, length);
	if (!kept)
		return 1;
	if (step)
		*(const char **)slot_of(parse, step) = kept;
	else if (here(parse) == PLACE_LABELS)
		pod_draft_add_label(parse->draft, key, kept);
	else
		pod_draft_add_annotation(parse->draft, key, kept);
	return 1;
}

static int on_number(void *context, const char *digits, size_t length)
{
	struct pod_parse *parse = context;
	const struct pod_step *step = take_step(parse, VALUE_NUMBER);
	int64_t number;

	if (!parse->place_count && !parse->ignored)
		return refuse(parse, "it is no object");
	if (step && number_parse_int(digits, length, &number) && number >= 0 &&
	    number <= UINT32_MAX)
		*(uint32_t *)slot_of(parse, step) = (uint32_t)number;
	return 1;
}

static int on_flag(void *context, int flag)
{
	struct pod_parse *parse = context;
	const struct pod_step *step = take_step(parse, VALUE_FLAG);

	if (!parse->place_count && !parse->ignored)
		return refuse(parse, "it is no object");
	if (step)
		*(bool *)slot_of(parse, step) = flag;
	return 1;
}

static int on_null(void *context)
{
	struct pod_parse *parse = context;

	parse->step = NULL;
	return parse->place_count || parse->ignored ? 1 : refuse(parse, "it is no object");
}

/* ---- bytes ---- */

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_flag,
	.yajl_number = on_number,
	.yajl_string = on_text,
	.yajl_start_map = on_map,
	.yajl_map_key = on_key,
	.yajl_end_map = on_end,
	.yajl_start_array = on_list,
	.yajl_end_array = on_end,
};

static struct pod_parse *create(enum pod_place root, enum k8s_kind kind, pod_event_function *take,
				void *context)
{
	struct pod_parse *parse = calloc(1, sizeof(*parse));

	if (!parse)
		return NULL;
	parse->root = root;
	parse->kind = kind;
	parse->take = take;
	parse->context = context;
	parse->draft = pod_draft_create();
	parse->yajl = yajl_alloc(&callbacks, NULL, parse);
	if (!parse->draft || !parse->yajl) {
		pod_parse_destroy(parse);
		return NULL;
	}
	// What is kept is made valid; the rest need not be.
	yajl_config(parse->yajl, yajl_dont_validate_strings, 1);
	yajl_config(parse->yajl, yajl_allow_multiple_values, root == PLACE_EVENT);
	return parse;
}

struct pod_parse *pod_parse_create(enum pod_form form, enum k8s_kind kind, pod_event_function *take,
				   void *context)
{
	return create(form == POD_FORM_LIST ? PLACE_LIST : PLACE_EVENT, kind, take, context);
}

void pod_parse_destroy(struct pod_parse *parse)
{
	if (!parse)
		return;
	if (parse->yajl)
		yajl_free(parse->yajl);
	pod_draft_destroy(parse->draft);
	free(parse);
}

static struct profcol_error *parse_fail(struct pod_parse *parse, const char *fault)
{
	parse->failed = true;
	return profcol_error_create(PROFCOL_BAD_DATA, "the answer is broken: %s", fault);
}

/* What yajl has to say, which quotes nothing. */
static struct profcol_error *parse_explain(struct pod_parse *parse)
{
	unsigned char *text = yajl_get_error(parse->yajl, 0, NULL, 0);
	struct profcol_error *error;

	if (!text)
		return parse_fail(parse, "it is not JSON");
	text[strcspn((char *)text, "\n")] = '\0';
	error = parse_fail(parse, (char *)text);
	yajl_free_error(parse->yajl, text);
	return error;
}

static struct profcol_error *parse_flush(struct pod_parse *parse)
{
	struct pod_tokens *tokens = &parse->tokens;
	size_t length = tokens->used;
	yajl_status status;

	if (!length)
		return NULL;
	status = yajl_parse(parse->yajl, (const unsigned char *)tokens->piece, length);
	tokens->used = 0;
	parse->fed += length;
	if (status == yajl_status_ok || parse->stopped)
		return NULL;
	return parse->fault ? parse_fail(parse, parse->fault) : parse_explain(parse);
}

struct profcol_error *pod_parse_feed(struct pod_parse *parse, const char *bytes, size_t length)
{
	// An event ends with its line, and none waits for the next one.
	bool ends = memchr(bytes, '\n', length);
	struct profcol_error *error = NULL;
	size_t used;

	while (length && !error && !parse->stopped) {
		if (!pod_tokens_feed(&parse->tokens, bytes, length, &used))
			return parse_fail(parse, "a number has too many digits");
		bytes += used;
		length -= used;
		if (length || ends || parse->tokens.used == POD_TOKENS_PIECE_BYTES)
			error = parse_flush(parse);
	}
	return error;
}

bool pod_parse_is_stopped(const struct pod_parse *parse)
{
	return parse->stopped;
}

struct profcol_error *pod_parse_end(struct pod_parse *parse)
{
	struct profcol_error *error;

	if (parse->stopped || parse->failed)
		return NULL;
	error = parse_flush(parse);
	if (error || parse->root != PLACE_LIST || parse->roots || parse->stopped)
		return error;
	return profcol_error_create(PROFCOL_UNAVAILABLE, "the list has ended in the middle");
}

const char *pod_parse_version(const struct pod_parse *parse)
{
	return parse->version;
}

const char *pod_parse_continue(const struct pod_parse *parse)
{
	return parse->more;
}

static bool ignore_event(void *context, const struct pod_event *event)
{
	(void)context;
	(void)event;
	return true;
}

void pod_parse_status(const char *body, size_t length, char *to, size_t size)
{
	struct pod_parse *parse = create(PLACE_OBJECT, K8S_NAMESPACE, ignore_event, NULL);
	struct profcol_error *error = NULL;

	to[0] = '\0';
	if (!parse)
		return;
	if (length)
		error = pod_parse_feed(parse, body, length);
	profcol_error_destroy(error);
	error = pod_parse_end(parse);
	profcol_error_destroy(error);
	strncat(to, parse->draft->refusal.message, size - 1);
	// A cut may have left a part of a character.
	strings_sanitize_utf8(to, to, strlen(to));
	for (char *at = to; *at; at++)
		if ((unsigned char)*at < ' ')
			*at = ' ';
	pod_parse_destroy(parse);
}

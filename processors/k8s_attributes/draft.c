// SPDX-License-Identifier: Apache-2.0
#include "draft.h"

#include <stdio.h>
#include <string.h>

void draft_init(struct draft *draft, struct text_pool *texts)
{
	*draft = (struct draft){ .texts = texts };
}

void draft_deinit(struct draft *draft)
{
	for (size_t i = 0; i < draft->items.count; i++) {
		text_pool_release(draft->texts, draft->items.items[i].key);
		text_pool_release(draft->texts, draft->items.items[i].value);
	}
	VECTOR_DEINIT(&draft->items);
}

/* Takes both, which may be NULL for lack of memory. */
static void put_taken(struct draft *draft, struct text *key, struct text *value)
{
	size_t at = 0;

	if (!key || !value) {
		draft->no_memory = true;
		goto release;
	}
	while (at < draft->items.count && draft->items.items[at].key != key)
		at++;
	if (at < draft->items.count) {
		text_pool_release(draft->texts, draft->items.items[at].value);
		draft->items.items[at].value = value;
		text_pool_release(draft->texts, key);
		return;
	}
	if (at >= DRAFT_ATTRIBUTES_MAX)
		goto release;
	if (VECTOR_PUSH(&draft->items, ((struct stored_attribute){ key, value })))
		return;
	draft->no_memory = true;
release:
	text_pool_release(draft->texts, key);
	text_pool_release(draft->texts, value);
}

static void put_text(struct draft *draft, const char *key, size_t length, const char *value)
{
	put_taken(draft, text_pool_take(draft->texts, key, length),
		  text_pool_take(draft->texts, value, strlen(value)));
}

void draft_put(struct draft *draft, const char *key, const char *value)
{
	put_text(draft, key, strlen(key), value);
}

struct text *draft_find(const struct draft *draft, const char *key)
{
	for (size_t i = 0; i < draft->items.count; i++)
		if (!strcmp(draft->items.items[i].key->bytes, key))
			return draft->items.items[i].value;
	return NULL;
}

void draft_put_field(struct draft *draft, const struct rules *rules, enum metadata_field field,
		     const char *value)
{
	if (value && value[0] && rules->wants[field])
		draft_put(draft, metadata_field_key(field), value);
}

/* ---- labels and annotations ---- */

/* "k8s.pod.labels.app": the older kinds have a plural. */
static void put_by_key(struct draft *draft, enum k8s_kind kind, bool annotations,
		       const struct k8s_pair *pair)
{
	static const char *const names[K8S_KINDS] = {
		[K8S_POD] = "pod",
		[K8S_NAMESPACE] = "namespace",
		[K8S_NODE] = "node",
		[K8S_DEPLOYMENT] = "deployment",
		[K8S_STATEFULSET] = "statefulset",
		[K8S_DAEMONSET] = "daemonset",
		[K8S_JOB] = "job",
	};
	bool plural = kind == K8S_POD || kind == K8S_NAMESPACE || kind == K8S_NODE;
	char key[DRAFT_KEY_MAX];
	int length = snprintf(key, sizeof(key), "k8s.%s.%s%s.%s", names[kind],
			      annotations ? "annotation" : "label", plural ? "s" : "", pair->key);

	if (length > 0 && (size_t)length < sizeof(key))
		put_text(draft, key, (size_t)length, pair->value);
}

/* The name behind a $, as Go's regexp.Expand takes it: all letters, digits and underscores, or what
 * is in braces. NULL when it is none. */
static const char *take_reference(const char *at, struct profcol_text *ret)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_";
	bool braces = *at == '{';

	at += braces;
	*ret = (struct profcol_text){ at, strspn(at, name) };
	at += ret->length;
	if (!ret->length || (braces && *at != '}'))
		return NULL;
	return at + braces;
}

/* The capture that @reference means; empty for what there is not. */
static struct profcol_text find_capture(const struct field_rule *rule,
					struct profcol_text reference,
					const struct profcol_text *captures)
{
	size_t number = 0;

	if (strspn(reference.bytes, "0123456789") >= reference.length) {
		for (size_t i = 0; i < reference.length && number <= rule->captures; i++)
			number = 10 * number + (size_t)(reference.bytes[i] - '0');
		return number <= rule->captures ? captures[number] : (struct profcol_text){ 0 };
	}
	for (size_t i = 0; i < ottl_pattern_group_count(rule->pattern); i++) {
		const char *name = ottl_pattern_group_name(rule->pattern, i);

		if (strlen(name) == reference.length &&
		    !memcmp(name, reference.bytes, reference.length))
			return captures[ottl_pattern_capture_number(rule->pattern, i)];
	}
	return (struct profcol_text){ 0 };
}

struct expansion {
	char bytes[DRAFT_KEY_MAX];
	size_t length;
	bool overflows;
};

static void expansion_add(struct expansion *expansion, const char *bytes, size_t length)
{
	expansion->overflows |= length > sizeof(expansion->bytes) - expansion->length;
	if (expansion->overflows || !length)
		return;
	memcpy(expansion->bytes + expansion->length, bytes, length);
	expansion->length += length;
}

static void expand(const struct field_rule *rule, const struct profcol_text *captures,
		   struct expansion *ret)
{
	const char *at = rule->tag_name;

	ret->length = 0;
	ret->overflows = false;
	while (*at) {
		size_t plain = strcspn(at, "$");
		struct profcol_text reference = { "", 0 }, text = { "$", 1 };
		const char *end;

		expansion_add(ret, at, plain);
		at += plain;
		if (!*at)
			break;
		end = at[1] == '$' ? at + 2 : take_reference(at + 1, &reference);
		if (end && at[1] != '$')
			text = find_capture(rule, reference, captures);
		expansion_add(ret, text.bytes, text.length);
		at = end ? end : at + 1;
	}
}

static void put_by_pattern(struct draft *draft, const struct field_rule *rule, enum k8s_kind kind,
			   bool annotations, const struct k8s_pair *pair)
{
	CLEANUP_FREE struct profcol_text *captures = calloc(rule->captures + 1, sizeof(*captures));
	struct expansion expansion;

	if (!captures) {
		draft->no_memory = true;
		return;
	}
	if (!pair->value[0] || ottl_pattern_capture(rule->pattern, pair->key, strlen(pair->key),
						    NULL, captures) != OTTL_TRUE)
		return;
	// Without groups there is nothing to make a name of.
	if (!rule->captures || !rule->tag_name[0]) {
		put_by_key(draft, kind, annotations, pair);
		return;
	}
	expand(rule, captures, &expansion);
	if (!expansion.overflows && expansion.length)
		put_text(draft, expansion.bytes, expansion.length, pair->value);
}

static void put_pair(struct draft *draft, const struct field_rule *rule, enum k8s_kind kind,
		     bool annotations, const struct k8s_pair *pair)
{
	if (rule->pattern)
		put_by_pattern(draft, rule, kind, annotations, pair);
	else if (strcmp(rule->key, pair->key) != 0)
		return;
	else if (rule->tag_name[0])
		draft_put(draft, rule->tag_name, pair->value);
	else
		put_by_key(draft, kind, annotations, pair);
}

void draft_put_pairs(struct draft *draft, const struct field_rules *rules, enum k8s_kind kind,
		     bool annotations, const struct k8s_pair *pairs, size_t count)
{
	for (size_t i = 0; i < rules->count; i++)
		for (size_t pair = 0; rules->items[i].from == kind && pair < count; pair++)
			put_pair(draft, &rules->items[i], kind, annotations, &pairs[pair]);
}

/* ---- the end ---- */

bool draft_finish(struct draft *draft, struct stored_attributes *ret)
{
	size_t count = draft->items.count;

	*ret = (struct stored_attributes){ 0 };
	if (draft->no_memory)
		return false;
	if (count) {
		// No larger than needed: many are kept.
		ret->items = malloc(count * sizeof(*ret->items));
		if (!ret->items)
			return false;
		memcpy(ret->items, draft->items.items, count * sizeof(*ret->items));
		ret->count = (uint32_t)count;
		draft->items.count = 0;
	}
	return true;
}

void draft_release(struct text_pool *texts, struct stored_attributes *attributes)
{
	for (uint32_t i = 0; i < attributes->count; i++) {
		text_pool_release(texts, attributes->items[i].key);
		text_pool_release(texts, attributes->items[i].value);
	}
	free(attributes->items);
	*attributes = (struct stored_attributes){ 0 };
}

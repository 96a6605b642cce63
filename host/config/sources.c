// SPDX-License-Identifier: Apache-2.0
/* What --config, --set and --feature-gates name, read in their order and merged. */
#include "gates.h"
#include "merge.h"
#include "tree.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

enum {
	NAME_SHOWN_MAX = 100, /* bytes of what stands for a text in places */
	SET_KEY_MAX = 4096,
};

static struct place whole_source(unsigned int source)
{
	return (struct place){ .source = source };
}

/* @name may go: decoding comes later. */
static unsigned int add_source(struct config_tree *tree, const char *name)
{
	const char *kept = arena_strdup(tree->memory, name);

	tree->problems.no_memory |= !kept;
	return problems_add_source(&tree->problems, kept ? kept : "");
}

/* A copy in the arena, "" without memory. */
static const char *keep_name(struct config_tree *tree, const char *prefix, const char *text,
			     size_t length)
{
	int shown = length < NAME_SHOWN_MAX ? (int)length : NAME_SHOWN_MAX;
	const char *name = arena_printf(tree->memory, "%s%.*s", prefix, shown, text);

	tree->problems.no_memory |= !name;
	return name ? name : "";
}

static bool is_known_root(const struct yaml_node *root)
{
	return root->kind == YAML_MAP || yaml_is_null(root);
}

/* To be merged on top of what there is. An empty text adds nothing. */
static void read_text(struct config_tree *tree, const struct yaml_text *text)
{
	struct yaml_node *root = yaml_parse(&tree->source, text);

	tree->incomplete |= !root || !is_known_root(root);
	if (!root)
		return;
	if (!is_known_root(root)) {
		problems_add(&tree->problems, root->place, NULL,
			     "retrieved value (type=%s) cannot be used as a Conf; a configuration "
			     "has the keys receivers, exporters and service",
			     yaml_type_name(root));
		return;
	}
	if (root->kind == YAML_MAP)
		root = merge_split_keys(&tree->source, root);
	if (!root || (tree->parts.count && yaml_is_null(root)))
		return;
	if (!VECTOR_PUSH(&tree->parts, root))
		tree->problems.no_memory = true;
}

static void merge_parts(struct config_tree *tree)
{
	if (tree->parts.count)
		tree->root = merge_nodes(&tree->source, tree->parts.items, tree->parts.count);
}

void sources_read_text(struct config_tree *tree, const char *name, const char *text, size_t length)
{
	struct yaml_text whole = {
		.bytes = text,
		.length = length,
		.source = add_source(tree, name),
	};

	read_text(tree, &whole);
	merge_parts(tree);
}

/* C:\x and what has no colon are files. */
static bool is_path(const char *uri)
{
	return !strchr(uri, ':') ||
	       (((*uri >= 'A' && *uri <= 'Z') || (*uri >= 'a' && *uri <= 'z')) && uri[1] == ':');
}

/* What stands for @uri in places: a file's path, and of a text the key it begins with. */
static unsigned int name_source(struct config_tree *tree, const char *uri,
				enum retrieve_scheme scheme, const char *rest)
{
	if (scheme == RETRIEVE_FILE)
		return add_source(tree, rest);
	if (scheme == RETRIEVE_ENV)
		return add_source(tree, uri);
	// Not its values: they may be secret.
	return add_source(tree, keep_name(tree, "yaml:", rest,
					  strspn(rest, "abcdefghijklmnopqrstuvwxyz_:/0123456789-."
						       "ABCDEFGHIJKLMNOPQRSTUVWXYZ")));
}

static void complain(struct config_tree *tree, unsigned int source, const char *why)
{
	tree->incomplete = true;
	if (*why)
		problems_add(&tree->problems, whole_source(source), NULL,
			     "cannot retrieve the configuration: %s", why);
	else
		tree->problems.no_memory = true;
}

static void read_location(struct config_tree *tree, enum retrieve_scheme scheme, const char *rest,
			  unsigned int source)
{
	struct retrieved retrieved = {};
	char why[RETRIEVE_WHY_MAX];
	struct yaml_text text = { .source = source };

	if (!retrieve(&tree->retriever, scheme, rest, strlen(rest), &retrieved, why)) {
		complain(tree, source, why);
		return;
	}
	if (retrieved.unset)
		problems_warn(&tree->problems, whole_source(source), NULL,
			      "environment variable \"%s\" is not set and has no default, it adds "
			      "nothing to the configuration",
			      retrieved.unset);
	text.bytes = retrieved.text;
	text.length = retrieved.length;
	read_text(tree, &text);
	free(retrieved.owned);
}

static void read_uri(struct config_tree *tree, const char *uri)
{
	enum retrieve_scheme scheme = RETRIEVE_FILE;
	char why[RETRIEVE_WHY_MAX];
	size_t rest = 0;

	if (!is_path(uri) &&
	    !retrieve_scheme_parse(&tree->retriever, uri, strlen(uri), &scheme, &rest, why)) {
		tree->incomplete = true;
		problems_add(
			&tree->problems,
			whole_source(add_source(tree, keep_name(tree, "", uri, strlen(uri)))), NULL,
			"unsupported scheme on URI; supported: a path, file:PATH, env:NAME and "
			"yaml:TEXT");
		return;
	}
	if (scheme == RETRIEVE_FILE && !uri[rest]) {
		tree->incomplete = true;
		problems_add(&tree->problems, whole_source(add_source(tree, uri)), NULL,
			     "names no file; write file:PATH, or the path alone");
		return;
	}
	read_location(tree, scheme, uri + rest, name_source(tree, uri, scheme, uri + rest));
}

/* How many characters @text has; it may be anything. */
static unsigned int count_characters(const char *text)
{
	unsigned int count = 0;

	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

/* The key with "::" for each dot, without blanks around it. False when it is overlong. */
static bool set_key(const char *set, const char *equal, char to[static SET_KEY_MAX])
{
	size_t used = 0;

	set += strspn(set, " \t");
	while (equal > set && (equal[-1] == ' ' || equal[-1] == '\t'))
		equal--;
	for (; set < equal; set++) {
		if (used + 3 > SET_KEY_MAX) {
			to[used] = '\0';
			return false;
		}
		to[used++] = *set == '.' ? ':' : *set;
		if (*set == '.')
			to[used++] = ':';
	}
	to[used] = '\0';
	return true;
}

/* As the Collector does, a.b=value becomes the text `a::b: value`. */
static void read_set(struct config_tree *tree, const char *set)
{
	const char *equal = strchr(set, '=');
	size_t key_length = equal ? (size_t)(equal - set) : strlen(set);
	unsigned int source = add_source(tree, keep_name(tree, "--set ", set, key_length));
	CLEANUP_FREE char *whole = NULL;
	char key[SET_KEY_MAX];
	struct yaml_text text = { .source = source };
	int length;

	if (!equal || !set_key(set, equal, key) || !*key) {
		tree->incomplete = true;
		problems_add(&tree->problems, whole_source(source), NULL,
			     "invalid argument \"%.100s\" for \"--set\" flag: %s; write --set "
			     "key.of.it=value",
			     set,
			     !equal ? "missing equal sign"
			     : *key ? "the key is too long"
				    : "the key is empty");
		return;
	}
	equal++;
	equal += strspn(equal, " \t");
	length = asprintf(&whole, "%s: %s", key, equal);
	if (length < 0) {
		whole = NULL;
		tree->problems.no_memory = true;
		return;
	}
	text.bytes = whole;
	text.length = (size_t)length;
	text.prefix = count_characters(key) + 2;
	read_text(tree, &text);
}

void sources_read(struct config_tree *tree, const struct config_sources *sources)
{
	for (size_t i = 0; i < sources->uri_count; i++)
		read_uri(tree, sources->uris[i]);
	for (size_t i = 0; i < sources->set_count; i++)
		read_set(tree, sources->sets[i]);
	merge_parts(tree);
	gates_check(&tree->problems, sources->gates, sources->gate_count);
}

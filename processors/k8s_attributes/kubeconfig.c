// SPDX-License-Identifier: Apache-2.0
#include "kubeconfig.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum {
	FILE_MAX_BYTES = 1 << 20,
	DEPTH_MAX = 32, /* libyaml's time grows with the square of it */
	NODES_MAX = 20000,
};

struct reading {
	const char *path; /* borrowed */
	yaml_document_t document;
};

__attribute__((format(printf, 3, 4))) static struct profcol_error *
complain(const struct reading *reading, const yaml_mark_t *mark, const char *format, ...)
{
	struct profcol_error *error;
	char text[320];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	error = profcol_error_create(PROFCOL_CONFIG, "%s", text);
	return mark ? profcol_error_prefix(error, "%s:%zu", reading->path, mark->line + 1)
		    : profcol_error_prefix(error, "%s", reading->path);
}

static struct profcol_error *out_of_memory(void)
{
	return profcol_error_errno(ENOMEM, "read a kubeconfig");
}

/* ---- nodes ---- */

static const yaml_node_t *node_at(struct reading *reading, int index)
{
	return yaml_document_get_node(&reading->document, index);
}

static bool node_is_text(const yaml_node_t *node, const char *text)
{
	return node && node->type == YAML_SCALAR_NODE && node->data.scalar.length == strlen(text) &&
	       !memcmp(node->data.scalar.value, text, strlen(text));
}

static bool node_is_null(const yaml_node_t *node)
{
	return !node ||
	       (node->type == YAML_SCALAR_NODE &&
		node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
		(node_is_text(node, "") || node_is_text(node, "null") || node_is_text(node, "~")));
}

/* Value of @key in @map; NULL when it is not there, null, or @map is none. */
static const yaml_node_t *node_member(struct reading *reading, const yaml_node_t *map,
				      const char *key)
{
	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
	     pair < map->data.mapping.pairs.top; pair++) {
		const yaml_node_t *value;

		if (!node_is_text(node_at(reading, pair->key), key))
			continue;
		value = node_at(reading, pair->value);
		return node_is_null(value) ? NULL : value;
	}
	return NULL;
}

/* Text of @key in @map, in *@ret, which stays NULL when it is missing or empty. */
static struct profcol_error *node_text(struct reading *reading, const yaml_node_t *map,
				       const char *key, char **ret)
{
	const yaml_node_t *value = node_member(reading, map, key);

	if (!value || node_is_text(value, ""))
		return NULL;
	if (value->type != YAML_SCALAR_NODE ||
	    memchr(value->data.scalar.value, '\0', value->data.scalar.length))
		return complain(reading, &value->start_mark, "'%s' is not a text", key);
	*ret = strndup((const char *)value->data.scalar.value, value->data.scalar.length);
	return *ret ? NULL : out_of_memory();
}

static struct profcol_error *node_flag(struct reading *reading, const yaml_node_t *map,
				       const char *key, bool *ret)
{
	const yaml_node_t *value = node_member(reading, map, key);

	if (!value || node_is_text(value, "false"))
		return NULL;
	if (!node_is_text(value, "true"))
		return complain(reading, &value->start_mark, "'%s' is neither true nor false", key);
	*ret = true;
	return NULL;
}

static void forget(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

static void forget_cleanup(char **secret)
{
	forget(*secret);
}

/* What @key of @map has in base64, in *@ret, as text. */
static struct profcol_error *node_data(struct reading *reading, const yaml_node_t *map,
				       const char *key, char **ret)
{
	CLEANUP(forget_cleanup) char *encoded = NULL, *decoded = NULL;
	struct profcol_error *error = node_text(reading, map, key, &encoded);
	struct base64_decode_ctx decoder;
	size_t length;

	if (error || !encoded)
		return error;
	length = BASE64_DECODE_LENGTH(strlen(encoded));
	decoded = calloc(1, length + 1);
	if (!decoded)
		return out_of_memory();
	base64_decode_init(&decoder);
	if (!base64_decode_update(&decoder, &length, (uint8_t *)decoded, strlen(encoded),
				  encoded) ||
	    !base64_decode_final(&decoder) || memchr(decoded, '\0', length))
		return complain(reading, &node_member(reading, map, key)->start_mark,
				"'%s' is not PEM in base64; `base64 -w0 FILE` makes it of a file",
				key);
	*ret = TAKE(decoded);
	return NULL;
}

/* Path of @key in @map, in *@ret, seen from the kubeconfig's folder. */
static struct profcol_error *node_path(struct reading *reading, const yaml_node_t *map,
				       const char *key, char **ret)
{
	const char *slash = strrchr(reading->path, '/');
	CLEANUP_FREE char *path = NULL;
	struct profcol_error *error = node_text(reading, map, key, &path);

	if (error || !path)
		return error;
	if (path[0] == '/' || !slash) {
		*ret = TAKE(path);
		return NULL;
	}
	if (asprintf(ret, "%.*s/%s", (int)(slash - reading->path), reading->path, path) < 0) {
		*ret = NULL;
		return out_of_memory();
	}
	return NULL;
}

/* ---- sections ---- */

/*
 * In the list @section, the entry that is called @name has @part, in *@ret. @wanted_at is where the
 * name was said; NULL = by the configuration.
 */
static struct profcol_error *find_named(struct reading *reading, const char *section,
					const char *part, const char *name,
					const yaml_mark_t *wanted_at, const yaml_node_t **ret)
{
	const yaml_node_t *root = yaml_document_get_root_node(&reading->document);
	const yaml_node_t *list = node_member(reading, root, section), *found = NULL;

	if (list && list->type != YAML_SEQUENCE_NODE)
		return complain(reading, &list->start_mark, "'%s' is not a list", section);
	for (const yaml_node_item_t *item = list ? list->data.sequence.items.start : NULL;
	     list && item < list->data.sequence.items.top; item++) {
		const yaml_node_t *entry = node_at(reading, *item);

		if (!node_is_text(node_member(reading, entry, "name"), name))
			continue;
		if (found)
			return complain(reading, &entry->start_mark,
					"there are two of the name '%.100s' in '%s'; remove one",
					name, section);
		found = entry;
	}
	if (!found)
		return complain(reading, wanted_at, "there is no '%.100s' in '%s'", name, section);
	*ret = node_member(reading, found, part);
	if (!*ret || (*ret)->type != YAML_MAPPING_NODE)
		return complain(reading, &found->start_mark, "'%.100s' in '%s' has no '%s'", name,
				section, part);
	return NULL;
}

static struct profcol_error *read_cluster(struct reading *reading, const yaml_node_t *cluster,
					  struct kubeconfig *kubeconfig)
{
	const yaml_node_t *proxy = node_member(reading, cluster, "proxy-url");
	struct profcol_error *error;

	error = node_text(reading, cluster, "server", &kubeconfig->server);
	if (!error && !kubeconfig->server)
		error = complain(reading, &cluster->start_mark,
				 "the cluster has no 'server'; write https://HOST:PORT");
	if (!error && proxy && !node_is_text(proxy, ""))
		error = complain(reading, &proxy->start_mark,
				 "'proxy-url' is not supported; give 'server' an address that can "
				 "be reached from here");
	if (!error)
		error = node_path(reading, cluster, "certificate-authority", &kubeconfig->ca_file);
	if (!error)
		error = node_data(reading, cluster, "certificate-authority-data",
				  &kubeconfig->ca_pem);
	if (!error)
		error = node_text(reading, cluster, "tls-server-name", &kubeconfig->server_name);
	if (!error)
		error = node_flag(reading, cluster, "insecure-skip-tls-verify",
				  &kubeconfig->insecure);
	if (!error)
		kubeconfig->server[strcspn(kubeconfig->server, "?#")] = '\0';
	return error;
}

/* What would mean to run a foreign program, or to speak a foreign protocol. */
static struct profcol_error *refuse_user(struct reading *reading, const yaml_node_t *user)
{
	static const struct {
		const char *key, *remedy;
	} refused[] = {
		{ "exec",
		  "profcol runs no programs; give the user a token, tokenFile or client "
		  "certificate, for instance a service account's by `kubectl create token`" },
		{ "auth-provider", "Kubernetes has removed these; give the user a token, tokenFile "
				   "or client certificate" },
		{ "username", "API servers no longer take passwords; give the user a token, "
			      "tokenFile or client certificate" },
		{ "as", "give the user itself the rights that are needed" },
		{ "as-uid", "give the user itself the rights that are needed" },
		{ "as-groups", "give the user itself the rights that are needed" },
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const yaml_node_t *value = node_member(reading, user, refused[i].key);

		if (value && !node_is_text(value, ""))
			return complain(reading, &value->start_mark, "'%s' is not supported: %s",
					refused[i].key, refused[i].remedy);
	}
	return NULL;
}

static struct profcol_error *read_user(struct reading *reading, const yaml_node_t *user,
				       struct kubeconfig *kubeconfig)
{
	struct profcol_error *error = refuse_user(reading, user);

	if (!error)
		error = node_text(reading, user, "token", &kubeconfig->token);
	if (!error)
		error = node_path(reading, user, "tokenFile", &kubeconfig->token_file);
	if (!error)
		error = node_path(reading, user, "client-certificate", &kubeconfig->cert_file);
	if (!error)
		error = node_data(reading, user, "client-certificate-data", &kubeconfig->cert_pem);
	if (!error)
		error = node_path(reading, user, "client-key", &kubeconfig->key_file);
	if (!error)
		error = node_data(reading, user, "client-key-data", &kubeconfig->key_pem);
	if (!error && (kubeconfig->cert_file || kubeconfig->cert_pem) !=
			      (kubeconfig->key_file || kubeconfig->key_pem))
		error = complain(reading, &user->start_mark,
				 "a client certificate and its key go together: the user has one "
				 "of them only");
	return error;
}

static struct profcol_error *read_context(struct reading *reading, const char *name,
					  const yaml_mark_t *wanted_at,
					  struct kubeconfig *kubeconfig)
{
	CLEANUP_FREE char *cluster_name = NULL, *user_name = NULL;
	const yaml_node_t *context = NULL, *cluster = NULL, *user = NULL;
	struct profcol_error *error;

	error = find_named(reading, "contexts", "context", name, wanted_at, &context);
	if (!error)
		error = node_text(reading, context, "cluster", &cluster_name);
	if (!error)
		error = node_text(reading, context, "user", &user_name);
	if (!error && !cluster_name)
		error = complain(reading, &context->start_mark,
				 "the context '%.100s' has no 'cluster'", name);
	if (!error)
		error = find_named(reading, "clusters", "cluster", cluster_name,
				   &context->start_mark, &cluster);
	if (!error)
		error = read_cluster(reading, cluster, kubeconfig);
	// Nobody in particular is somebody, too: a server may take him.
	if (error || !user_name)
		return error;
	error = find_named(reading, "users", "user", user_name, &context->start_mark, &user);
	return error ? error : read_user(reading, user, kubeconfig);
}

static struct profcol_error *read_document(struct reading *reading, const char *context,
					   struct kubeconfig *kubeconfig)
{
	const yaml_node_t *root = yaml_document_get_root_node(&reading->document), *current;
	CLEANUP_FREE char *name = NULL;
	struct profcol_error *error;

	if (!root || root->type != YAML_MAPPING_NODE)
		return complain(reading, NULL, "it is no kubeconfig: not a map");
	if (context && context[0])
		return read_context(reading, context, NULL, kubeconfig);
	error = node_text(reading, root, "current-context", &name);
	if (error)
		return error;
	current = node_member(reading, root, "current-context");
	if (!name)
		return complain(reading, NULL,
				"it has no 'current-context'; set it by `kubectl config "
				"use-context NAME`, or name one by the option context");
	return read_context(reading, name, &current->start_mark, kubeconfig);
}

/* ---- YAML ---- */

static struct profcol_error *explain_syntax(const struct reading *reading,
					    const yaml_parser_t *parser)
{
	if (parser->error == YAML_MEMORY_ERROR)
		return out_of_memory();
	return complain(reading, &parser->problem_mark, "%s",
			parser->problem ? parser->problem : "it is not YAML");
}

static void parser_begin(yaml_parser_t *parser, const char *text, size_t length)
{
	yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(parser, (const unsigned char *)text, length);
}

/* Is the text small enough to be loaded as a tree? */
static struct profcol_error *check_size(const struct reading *reading, const char *text,
					size_t length)
{
	CLEANUP(yaml_parser_delete) yaml_parser_t parser = { 0 };
	unsigned int depth = 0, nodes = 0;
	yaml_event_type_t type;
	yaml_event_t event;

	if (!yaml_parser_initialize(&parser))
		return out_of_memory();
	parser_begin(&parser, text, length);
	do {
		if (!yaml_parser_parse(&parser, &event))
			return explain_syntax(reading, &parser);
		type = event.type;
		yaml_event_delete(&event);
		nodes++;
		if (type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT)
			depth++;
		else if (type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT)
			depth--;
		if (depth > DEPTH_MAX || nodes > NODES_MAX)
			return complain(reading, &parser.mark,
					"it is no kubeconfig: nested too deep, or too long");
	} while (type != YAML_STREAM_END_EVENT);
	return NULL;
}

struct profcol_error *kubeconfig_parse(const char *text, size_t length, const char *path,
				       const char *context, struct kubeconfig *ret)
{
	CLEANUP(yaml_parser_delete) yaml_parser_t parser = { 0 };
	CLEANUP(kubeconfig_deinit) struct kubeconfig kubeconfig = { 0 };
	struct reading reading = { .path = path };
	struct profcol_error *error = check_size(&reading, text, length);

	if (error)
		return error;
	if (!yaml_parser_initialize(&parser))
		return out_of_memory();
	parser_begin(&parser, text, length);
	// Aliases stay references in it: a tree is never larger than its text.
	if (!yaml_parser_load(&parser, &reading.document))
		return explain_syntax(&reading, &parser);
	error = read_document(&reading, context, &kubeconfig);
	yaml_document_delete(&reading.document);
	if (error)
		return error;
	*ret = kubeconfig;
	kubeconfig = (struct kubeconfig){ 0 };
	return NULL;
}

/* ---- the file ---- */

/* Where it is when nobody says it, in *@ret, free(). */
static struct profcol_error *default_path(char **ret)
{
	const char *named = getenv("KUBECONFIG"), *home = getenv("HOME");

	if (named && strchr(named, ':'))
		return profcol_error_create(PROFCOL_CONFIG,
					    "the environment variable KUBECONFIG names several "
					    "files, which are not merged; name one by the option "
					    "kube_config_path");
	if (named && named[0])
		*ret = strdup(named);
	else if (asprintf(ret, "%s/.kube/config", home ? home : "") < 0)
		*ret = NULL;
	return *ret ? NULL : out_of_memory();
}

struct profcol_error *kubeconfig_read(const char *path, const char *context, struct kubeconfig *ret)
{
	CLEANUP(forget_cleanup) char *text = NULL;
	CLEANUP_FREE char *found = NULL;
	struct profcol_error *error;
	size_t length;
	int status;

	if (!path || !path[0]) {
		error = default_path(&found);
		if (error)
			return error;
		path = found;
	}
	status = file_read(AT_FDCWD, path, FILE_MAX_BYTES, &text, &length);
	if (status)
		return profcol_error_create(PROFCOL_CONFIG,
					    "cannot read the kubeconfig '%s': %s; name one by the "
					    "option kube_config_path",
					    path, strerrordesc_np(-status));
	return kubeconfig_parse(text, length, path, context, ret);
}

void kubeconfig_deinit(struct kubeconfig *kubeconfig)
{
	free(kubeconfig->server);
	free(kubeconfig->ca_file);
	free(kubeconfig->ca_pem);
	free(kubeconfig->server_name);
	forget(kubeconfig->token);
	free(kubeconfig->token_file);
	free(kubeconfig->cert_file);
	free(kubeconfig->cert_pem);
	free(kubeconfig->key_file);
	forget(kubeconfig->key_pem);
	*kubeconfig = (struct kubeconfig){ 0 };
}

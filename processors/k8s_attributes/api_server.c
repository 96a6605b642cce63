// SPDX-License-Identifier: Apache-2.0
#include "api_server.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_OBJECTS = 500 };

static const struct {
	const char *group, *version, *plural;
	bool namespaced;
} kinds[K8S_KINDS] = {
	[K8S_POD] = { "", "v1", "pods", true },
	[K8S_NAMESPACE] = { "", "v1", "namespaces", false },
	[K8S_NODE] = { "", "v1", "nodes", false },
	[K8S_DEPLOYMENT] = { "apps", "v1", "deployments", true },
	[K8S_REPLICASET] = { "apps", "v1", "replicasets", true },
	[K8S_STATEFULSET] = { "apps", "v1", "statefulsets", true },
	[K8S_DAEMONSET] = { "apps", "v1", "daemonsets", true },
	[K8S_JOB] = { "batch", "v1", "jobs", true },
	[K8S_CLUSTER] = { "", "v1", "namespaces", false },
};

const char *api_server_plural(enum k8s_kind kind)
{
	return kinds[kind].plural;
}

bool api_server_is_namespaced(enum k8s_kind kind)
{
	return kinds[kind].namespaced;
}

const char *api_server_accept(enum k8s_kind kind, bool watch)
{
	if (kind == K8S_POD)
		return "application/json";
	return watch ? "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
		       "application/json"
		     : "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
		       "application/json";
}

/* "/apis/apps/v1/namespaces/shop/deployments" */
static void print_path(FILE *to, const struct k8s_scope *scope)
{
	const char *group = kinds[scope->kind].group;

	fprintf(to, "%s%s/%s", group[0] ? "/apis/" : "/api", group, kinds[scope->kind].version);
	if (scope->namespace[0])
		source_selection_encode(to, "/namespaces/", scope->namespace);
	fprintf(to, "/%s", kinds[scope->kind].plural);
}

/* The same with a query, of which @selection has the end. */
static char *finish(FILE *to, char **text, const struct selection *selection, enum k8s_kind kind)
{
	CLEANUP_FREE char *query = source_selection_query(selection, kind);

	if (query)
		fputs(query, to);
	if (!fclose(to) && query)
		return *text;
	free(*text);
	return NULL;
}

char *api_server_list(const struct selection *selection, const struct k8s_scope *scope,
		      const char *version, const char *more)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	print_path(to, scope);
	// A page that is not older than a version would have to be of just that version.
	if (more[0] || !version[0] || !strcmp(version, "0"))
		fprintf(to, "?limit=%d&", PAGE_OBJECTS);
	else
		fputc('?', to);
	if (more[0])
		source_selection_encode(to, "continue=", more);
	else
		source_selection_encode(to, "resourceVersion=", version);
	return finish(to, &text, selection, scope->kind);
}

char *api_server_watch(const struct selection *selection, const struct k8s_scope *scope,
		       const char *version, unsigned int seconds)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	print_path(to, scope);
	source_selection_encode(to, "?watch=true&resourceVersion=", version);
	fprintf(to, "&allowWatchBookmarks=true&timeoutSeconds=%u", seconds);
	return finish(to, &text, selection, scope->kind);
}

char *api_server_rule(const struct k8s_scope *scope)
{
	bool all = !scope->namespace[0];
	char *text;

	if (asprintf(&text,
		     "add this to the rules of a %s%s%s that is bound to the user named:\n"
		     "- apiGroups: [\"%s\"]\n"
		     "  resources: [%s]\n"
		     "  verbs: [get, list, watch]",
		     all ? "ClusterRole" : "Role in namespace '", all ? "" : scope->namespace,
		     all ? "" : "'", kinds[scope->kind].group, kinds[scope->kind].plural) < 0)
		return NULL;
	return text;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API server calls things: where objects of each kind are, how they are listed and
 * watched, and the right that it takes. Private to the source. Pure.
 */
#pragma once

#include "source_selection.h"

/* "list pods", "list nodes"... is what a failure is about. */
const char *api_server_plural(enum k8s_kind kind);

/* Do objects of @kind lie in namespaces? */
bool api_server_is_namespaced(enum k8s_kind kind);

/* Of the header Accept: pods whole, of the others the metadata only where the server can do that.
 */
const char *api_server_accept(enum k8s_kind kind, bool watch);

/*
 * The target of a request for a page of the list; @more is the mark that the page before ended
 * with, "" for the first one. Else it is not to be older than @version ("0": whatever the server
 * has in memory; "": what counts now). free(); NULL without memory.
 */
char *api_server_list(const struct selection *selection, const struct k8s_scope *scope,
		      const char *version, const char *more);

/* The same of a watch for what happens after @version, which the server ends after @seconds. */
char *api_server_watch(const struct selection *selection, const struct k8s_scope *scope,
		       const char *version, unsigned int seconds);

/* How somebody gives us the right to list and watch @scope: a rule in YAML. free(), NULL without
 * memory. */
char *api_server_rule(const struct k8s_scope *scope);

// SPDX-License-Identifier: Apache-2.0
#include "container.h"

#include <string.h>

enum { LONG_ID = 64, TASK_ID = 32, TASK_NUMBER_MAX = 20 };

struct span {
	const char *begin, *end;
};

static size_t span_length(const struct span *span)
{
	return (size_t)(span->end - span->begin);
}

static bool span_is(const struct span *span, const char *text)
{
	return span_length(span) == strlen(text) && !memcmp(span->begin, text, strlen(text));
}

static bool is_hex(const char *at, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!((at[i] >= '0' && at[i] <= '9') || (at[i] >= 'a' && at[i] <= 'f') ||
		      (at[i] >= 'A' && at[i] <= 'F')))
			return false;
	return true;
}

static bool ends_with(const struct span *span, const char *suffix)
{
	size_t length = strlen(suffix);

	return span_length(span) >= length && !memcmp(span->end - length, suffix, length);
}

/* "<64 hex>", or with a runtime's name before it: "docker-<64 hex>", "...:cri-containerd:<64 hex>"
 */
static bool take_long_id(const struct span *component, struct span *ret)
{
	size_t length = span_length(component);
	struct span prefix;

	if (length < LONG_ID || !is_hex(component->end - LONG_ID, LONG_ID))
		return false;
	prefix = (struct span){ component->begin, component->end - LONG_ID };
	// CRI-O's and podman's conmon watches a container from outside.
	if (length > LONG_ID &&
	    ((prefix.end[-1] != '-' && prefix.end[-1] != ':') || ends_with(&prefix, "conmon-")))
		return false;
	*ret = (struct span){ prefix.end, component->end };
	return true;
}

/* Amazon ECS: "<32 hex>-<number>" */
static bool take_task_id(const struct span *component, struct span *ret)
{
	size_t length = span_length(component);

	if (length < TASK_ID + 2 || length > TASK_ID + 1 + TASK_NUMBER_MAX ||
	    !is_hex(component->begin, TASK_ID) || component->begin[TASK_ID] != '-')
		return false;
	for (const char *at = component->begin + TASK_ID + 1; at < component->end; at++)
		if (*at < '0' || *at > '9')
			return false;
	*ret = *component;
	return true;
}

/* Cloud Foundry's garden: "e746ad53-f64f-4ae0-b541-928a", below a cgroup that is called so. */
static bool take_garden_id(const struct span *component, struct span *ret)
{
	enum { LENGTH = 28 };

	if (span_length(component) != LENGTH)
		return false;
	for (size_t i = 0; i < LENGTH; i++) {
		bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;

		if (hyphen ? component->begin[i] != '-' : !is_hex(component->begin + i, 1))
			return false;
	}
	*ret = *component;
	return true;
}

/* The next component at *@at, which is passed over with the slashes before it; false at the end. */
static bool next_component(const char **at, const char *end, struct span *ret)
{
	while (*at < end && **at == '/')
		++*at;
	ret->begin = *at;
	while (*at < end && **at != '/')
		++*at;
	ret->end = *at;
	return ret->begin < ret->end;
}

/* The outermost id from @from on, in a path that ends at @end. */
static bool take_outermost(const char *from, const char *end, struct span *ret)
{
	struct span component, before = { from, from };

	while (next_component(&from, end, &component)) {
		struct span name = component;

		// What a sandbox costs besides what runs in it.
		if (span_is(&name, "kata_overhead"))
			return false;
		if (ends_with(&name, ".scope"))
			name.end -= strlen(".scope");
		if (take_long_id(&name, ret) || take_task_id(&name, ret) ||
		    (span_is(&before, "garden") && take_garden_id(&name, ret)))
			return true;
		before = component;
	}
	return false;
}

/* Where container engines put the containers that they run within another one: docker, podman, and
 * the kubelet of kind, minikube and k3d. */
static bool is_nesting(const struct span *component)
{
	static const char *const roots[] = {
		"docker",         "kubelet",       "kubelet.slice", "kubepods",
		"kubepods.slice", "libpod_parent", "machine.slice", "system.slice",
	};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		if (span_is(component, roots[i]))
			return true;
	return false;
}

static bool take_pod(const char *from, const char *end, char ret[POD_UID_SIZE]);

/* Is what ends at @end in a pod? Those of static ones have another kind of uid. */
static bool is_in_pod(const char *from, const char *end)
{
	static const char word[] = "kubepods";
	char uid[POD_UID_SIZE];

	return memmem(from, (size_t)(end - from), word, sizeof(word) - 1) ||
	       take_pod(from, end, uid);
}

/*
 * The id in a cgroup path: the outermost one, since whoever is in a container may be able to make
 * cgroups below it, and call them as he likes. Where an engine runs in a container outside of pods,
 * that which it has put into it counts.
 */
static bool take_path(const struct span *path, struct span *ret)
{
	struct span component, inner;
	const char *at;

	if (!take_outermost(path->begin, path->end, ret))
		return false;
	while (!is_in_pod(path->begin, ret->begin)) {
		// Of "docker-ID.scope" the rest.
		for (at = ret->end; at < path->end && *at != '/';)
			at++;
		if (!next_component(&at, path->end, &component) || !is_nesting(&component) ||
		    !take_outermost(component.begin, path->end, &inner))
			break;
		*ret = inner;
	}
	return true;
}

/* A line is "hierarchy:controllers:path"; in v2's both the first is 0 and the second empty. */
static bool take_line(const struct span *line, bool *unified_ret, struct span *ret)
{
	const char *first = memchr(line->begin, ':', span_length(line)), *second;
	struct span path;

	if (!first)
		return false;
	second = memchr(first + 1, ':', (size_t)(line->end - first - 1));
	if (!second)
		return false;
	*unified_ret = second == first + 1;
	path = (struct span){ second + 1, line->end };
	return take_path(&path, ret);
}

/* The line that says in which container a process is, and the id in it. */
static bool take_text(const char *text, size_t length, struct span *line_ret, struct span *ret)
{
	const char *end = text + length;
	bool found = false;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct span line = { text, newline ? newline : end }, id;
		bool unified;

		text = newline ? newline + 1 : end;
		if (!take_line(&line, &unified, &id) || (found && !unified))
			continue;
		found = true;
		*line_ret = line;
		*ret = id;
		if (unified)
			break;
	}
	return found;
}

bool container_id_parse(const char *text, size_t length, char ret[CONTAINER_ID_SIZE])
{
	struct span line, found;

	ret[0] = '\0';
	if (!take_text(text, length, &line, &found))
		return false;
	memcpy(ret, found.begin, span_length(&found));
	ret[span_length(&found)] = '\0';
	return true;
}

/* ---- pods ---- */

enum { UUID_LENGTH = POD_UID_SIZE - 1 };

/* A UUID, in which systemd wants '_' for '-'. */
static bool take_uuid(const char *at, char ret[POD_UID_SIZE])
{
	for (size_t i = 0; i < UUID_LENGTH; i++) {
		bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;

		if (hyphen ? at[i] != '-' && at[i] != '_' : !is_hex(&at[i], 1))
			return false;
		ret[i] = hyphen ? '-' : at[i];
	}
	ret[UUID_LENGTH] = '\0';
	return true;
}

/* "/kubepods/burstable/pod<UUID>/...", "/kubepods-pod<UUID>.slice/..." */
static bool take_pod(const char *from, const char *end, char ret[POD_UID_SIZE])
{
	enum { WORD = 3 }; /* "pod" */

	for (const char *at = from + 1; end - at >= WORD + UUID_LENGTH; at++) {
		const char *after = at + WORD + UUID_LENGTH;

		if (!memcmp(at, "pod", WORD) && (at[-1] == '/' || at[-1] == '-') &&
		    (after == end || *after == '/' || *after == '.') && take_uuid(at + WORD, ret))
			return true;
	}
	return false;
}

bool pod_uid_parse(const char *text, size_t length, char ret[POD_UID_SIZE])
{
	const char *end = text + length;
	bool found = false;
	struct span line, id;

	ret[0] = '\0';
	// What lies below the container may be called as a pod by those in it.
	if (take_text(text, length, &line, &id)) {
		found = take_pod(line.begin, id.begin, ret);
		text = end;
	}
	while (text < end && !found) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end;

		found = take_pod(text, line_end, ret);
		text = newline ? newline + 1 : end;
	}
	if (!found)
		ret[0] = '\0';
	return found;
}

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

/* The innermost id in a cgroup path. */
static bool take_path(const struct span *path, struct span *ret)
{
	struct span component = { path->end, path->end };

	while (component.begin > path->begin) {
		struct span name;

		component.end = component.begin;
		while (component.begin > path->begin && component.begin[-1] != '/')
			component.begin--;
		name = component;
		if (ends_with(&name, ".scope"))
			name.end -= strlen(".scope");
		if (take_long_id(&name, ret) || take_task_id(&name, ret))
			return true;
		if (component.begin > path->begin)
			component.begin--; // the slash
	}
	return false;
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

bool container_id_parse(const char *text, size_t length, char ret[CONTAINER_ID_SIZE])
{
	const char *end = text + length;
	struct span found = { NULL, NULL };
	size_t found_length;

	ret[0] = '\0';
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct span line = { text, newline ? newline : end }, id;
		bool unified;

		text = newline ? newline + 1 : end;
		if (!take_line(&line, &unified, &id))
			continue;
		if (unified || !found.begin)
			found = id;
		if (unified)
			break;
	}
	if (!found.begin)
		return false;
	found_length = span_length(&found);
	memcpy(ret, found.begin, found_length);
	ret[found_length] = '\0';
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
static bool take_pod(const struct span *line, char ret[POD_UID_SIZE])
{
	enum { WORD = 3 }; /* "pod" */

	for (const char *at = line->begin + 1; line->end - at >= WORD + UUID_LENGTH; at++) {
		const char *after = at + WORD + UUID_LENGTH;

		if (!memcmp(at, "pod", WORD) && (at[-1] == '/' || at[-1] == '-') &&
		    (after == line->end || *after == '/' || *after == '.') &&
		    take_uuid(at + WORD, ret))
			return true;
	}
	return false;
}

bool pod_uid_parse(const char *text, size_t length, char ret[POD_UID_SIZE])
{
	const char *end = text + length;
	bool found = false;

	ret[0] = '\0';
	while (text < end && !found) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const struct span line = { text, newline ? newline : end };

		text = newline ? newline + 1 : end;
		found = take_pod(&line, ret);
	}
	if (!found)
		ret[0] = '\0';
	return found;
}

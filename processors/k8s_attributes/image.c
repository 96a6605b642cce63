// SPDX-License-Identifier: Apache-2.0
#include "image.h"

#include <stdio.h>
#include <string.h>

enum { DIGEST_DIGITS_LEAST = 32, TAG_MAX = 128 };

static bool is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_word(char c)
{
	return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_tag(struct profcol_text text)
{
	if (!text.length || text.length > TAG_MAX || !is_word(text.bytes[0]))
		return false;
	for (size_t i = 1; i < text.length; i++)
		if (!is_word(text.bytes[i]) && text.bytes[i] != '.' && text.bytes[i] != '-')
			return false;
	return true;
}

static bool is_digest(struct profcol_text text)
{
	const char *colon = memchr(text.bytes, ':', text.length);
	size_t digits;

	if (!colon || colon == text.bytes)
		return false;
	digits = (size_t)(text.bytes + text.length - colon - 1);
	return digits >= DIGEST_DIGITS_LEAST &&
	       strspn(colon + 1, "0123456789abcdefABCDEF") >= digits;
}

/* A host may have capitals, brackets and a port, a path has none of these. */
static bool is_repository(struct profcol_text text)
{
	const char *slash = memchr(text.bytes, '/', text.length);
	size_t path = slash ? (size_t)(slash - text.bytes) + 1 : 0;

	if (path == text.length)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		char c = text.bytes[i];
		bool fits = is_lower_or_digit(c) || c == '.' || c == '-' || c == '_' || c == '/';

		if (!fits && !(i < path && (is_word(c) || strchr(":[]", c))))
			return false;
		if (c == '/' && (!i || i + 1 == text.length || text.bytes[i + 1] == '/'))
			return false;
	}
	return is_word(text.bytes[0]) || text.bytes[0] == '[';
}

/* The last one of text's first @length bytes. */
static const char *last_of(const char *text, size_t length, char c)
{
	return length ? memrchr(text, c, length) : NULL;
}

bool image_parse(const char *text, struct image *ret)
{
	size_t length = strlen(text);
	struct image image = { .repository = { text, length } };
	const char *at = last_of(text, length, '@'), *colon, *slash;

	// What completes it must fit, too.
	if (length > IMAGE_MAX - 32)
		return false;
	if (at) {
		image.digest = (struct profcol_text){ at + 1, (size_t)(text + length - at - 1) };
		image.repository.length = length = (size_t)(at - text);
		if (!is_digest(image.digest))
			return false;
	}
	colon = last_of(text, length, ':');
	slash = last_of(text, length, '/');
	if (colon && (!slash || colon > slash)) {
		image.tag = (struct profcol_text){ colon + 1, (size_t)(text + length - colon - 1) };
		image.repository.length = (size_t)(colon - text);
		if (!is_tag(image.tag))
			return false;
	}
	if (!image.repository.length || !is_repository(image.repository))
		return false;
	*ret = image;
	return true;
}

void image_version(const struct image *image, char to[IMAGE_MAX])
{
	bool both = image->tag.length && image->digest.length;

	snprintf(to, IMAGE_MAX, "%.*s%s%.*s", (int)image->tag.length,
		 image->tag.length ? image->tag.bytes : "", both ? "@" : "",
		 (int)image->digest.length, image->digest.length ? image->digest.bytes : "");
}

/* Does the repository begin with the name of a registry? */
static bool has_host(struct profcol_text repository)
{
	const char *slash = memchr(repository.bytes, '/', repository.length);
	size_t length = slash ? (size_t)(slash - repository.bytes) : 0;

	if (!length)
		return false;
	if (length == strlen("localhost") && !memcmp(repository.bytes, "localhost", length))
		return true;
	for (size_t i = 0; i < length; i++)
		if (strchr(".:", repository.bytes[i]) ||
		    (repository.bytes[i] >= 'A' && repository.bytes[i] <= 'Z'))
			return true;
	return false;
}

bool image_canonical(const char *image_id, char to[IMAGE_MAX])
{
	static const char hub[] = "docker.io/", old_hub[] = "index.docker.io/";
	struct image image;
	const char *host = hub, *path = image_id;

	if (!image_parse(image_id, &image) || !image.digest.length)
		return false;
	if (!strncmp(path, old_hub, strlen(old_hub)))
		path += strlen(old_hub);
	else if (!strncmp(path, hub, strlen(hub)))
		path += strlen(hub);
	else if (has_host(image.repository))
		host = "";
	image.repository.length -= (size_t)(path - image_id);
	snprintf(to, IMAGE_MAX, "%s%s%s", host,
		 host[0] && !memchr(path, '/', image.repository.length) ? "library/" : "", path);
	return true;
}

// SPDX-License-Identifier: Apache-2.0
/* Values as text: the JSON that the Collector makes of them (goccy/go-json). */
#include "ottl.h"
#include "value.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Text that grows in scratch memory, up to OTTL_MAX_STRING. */
struct text {
	struct scratch *scratch;
	char *bytes;
	size_t length, capacity;
	bool failed;
};

static char *text_room(struct text *text, size_t more)
{
	if (text->failed || more > OTTL_MAX_STRING - text->length) {
		text->failed = true;
		return NULL;
	}
	if (text->length + more > text->capacity) {
		size_t capacity = 2 * (text->length + more);
		char *bytes = scratch_alloc(text->scratch, capacity);

		if (!bytes) {
			text->failed = true;
			return NULL;
		}
		if (text->length)
			memcpy(bytes, text->bytes, text->length);
		text->bytes = bytes;
		text->capacity = capacity;
	}
	return text->bytes + text->length;
}

static void text_append(struct text *text, const char *bytes, size_t length)
{
	char *to = length ? text_room(text, length) : NULL;

	if (!to)
		return;
	memcpy(to, bytes, length);
	text->length += length;
}

static void text_append_string(struct text *text, const char *string)
{
	text_append(text, string, strlen(string));
}

/* ---- numbers ---- */

/* Digits before the point, and behind it. */
static void append_plain(struct text *text, const char *digits, int exponent)
{
	int count = (int)strlen(digits);

	if (exponent < 0) {
		text_append_string(text, "0.");
		for (int i = -1; i > exponent; i--)
			text_append(text, "0", 1);
		text_append_string(text, digits);
		return;
	}
	for (int i = 0; i <= exponent; i++)
		text_append(text, i < count ? &digits[i] : "0", 1);
	if (count > exponent + 1) {
		text_append(text, ".", 1);
		text_append_string(text, digits + exponent + 1);
	}
}

static void append_double(struct text *text, double real)
{
	char digits[NUMBER_DIGITS_SIZE], power[16];
	double size = fabs(real);
	int exponent;

	if (!isfinite(real)) {
		text->failed = true;
		return;
	}
	if (signbit(real))
		text_append(text, "-", 1);
	exponent = number_digits(size, digits);
	if (size == 0 || (size >= 1e-6 && size < 1e21)) {
		append_plain(text, digits, exponent);
		return;
	}
	text_append(text, digits, 1);
	if (digits[1]) {
		text_append(text, ".", 1);
		text_append_string(text, digits + 1);
	}
	snprintf(power, sizeof(power), "e%+03d", exponent);
	text_append_string(text, power);
}

static void append_integer(struct text *text, int64_t integer)
{
	char digits[32];

	snprintf(digits, sizeof(digits), "%lld", (long long)integer);
	text_append_string(text, digits);
}

static void append_time(struct text *text, int64_t ns)
{
	enum { NS_PER_S = 1000000000 };
	time_t seconds = ns / NS_PER_S;
	long rest = (long)(ns % NS_PER_S);
	char written[64], fraction[16];
	struct tm parts;
	size_t length;

	if (rest < 0) {
		rest += NS_PER_S;
		seconds--;
	}
	gmtime_r(&seconds, &parts);
	strftime(written, sizeof(written), "\"%Y-%m-%dT%H:%M:%S", &parts);
	text_append_string(text, written);
	if (rest) {
		length = (size_t)snprintf(fraction, sizeof(fraction), ".%09ld", rest);
		while (fraction[length - 1] == '0')
			length--;
		text_append(text, fraction, length);
	}
	text_append(text, "Z\"", 2);
}

/* ---- strings ---- */

static void append_hex(struct text *text, struct profcol_text bytes)
{
	char *to;

	if (bytes.length > OTTL_MAX_STRING / 2) {
		text->failed = true;
		return;
	}
	// A NUL comes behind it.
	to = text_room(text, 2 * bytes.length + 1);
	if (!to)
		return;
	strings_hex(to, bytes.bytes, bytes.length);
	text->length += 2 * bytes.length;
}

static void append_base64(struct text *text, struct profcol_text bytes)
{
	char *to;

	text_append(text, "\"", 1);
	to = bytes.length > OTTL_MAX_STRING ? NULL
					    : text_room(text, STRINGS_BASE64_SIZE(bytes.length));
	if (!to) {
		text->failed = true;
		return;
	}
	strings_base64(to, bytes.bytes, bytes.length);
	// The NUL behind it gives way.
	text->length += STRINGS_BASE64_SIZE(bytes.length) - 1;
	text_append(text, "\"", 1);
}

/* Bytes of the character at @at, of at most @left; 0 when it is not UTF-8. */
static size_t character_length(const char *at, size_t left)
{
	unsigned char first = (unsigned char)*at;
	size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	return length <= left && (first < 0x80 || strings_is_utf8(at, length)) ? length : 0;
}

static void append_character(struct text *text, const char *at, size_t length)
{
	static const char plain[] = "\"\\\n\r\t", names[] = "\"\\nrt";
	static const char digits[] = "0123456789abcdef";
	const char *name = length == 1 && *at ? strchr(plain, *at) : NULL;
	unsigned char byte = (unsigned char)*at;

	// Not by snprintf, which is most of the time for a text that consists of such characters.
	if (name) {
		text_append(text, (const char[]){ '\\', names[name - plain] }, 2);
	} else if (length == 1 && (byte < 0x20 || strchr("<>&", byte))) {
		text_append(text, "\\u00", 4);
		text_append(text, (const char[]){ digits[byte >> 4], digits[byte & 15] }, 2);
	} else if (length == 3 && !memcmp(at, "\xe2\x80\xa8", 3)) {
		text_append_string(text, "\\u2028");
	} else if (length == 3 && !memcmp(at, "\xe2\x80\xa9", 3)) {
		text_append_string(text, "\\u2029");
	} else {
		text_append(text, at, length);
	}
}

static void append_quoted(struct text *text, struct profcol_text string)
{
	text_append(text, "\"", 1);
	for (size_t i = 0; i < string.length && !text->failed;) {
		size_t length = character_length(string.bytes + i, string.length - i);

		if (length)
			append_character(text, string.bytes + i, length);
		else
			text_append_string(text, "\\ufffd");
		i += length ? length : 1;
	}
	text_append(text, "\"", 1);
}

/* ---- all of them ---- */

static void append_json(struct text *text, const struct value *value);

static void append_list(struct text *text, const struct value *list)
{
	text_append(text, "[", 1);
	for (uint32_t i = 0; i < list->count && !text->failed; i++) {
		if (i)
			text_append(text, ",", 1);
		append_json(text, &list->items[i]);
	}
	text_append(text, "]", 1);
}

static void append_map(struct text *text, const struct value *map)
{
	text_append(text, "{", 1);
	for (uint32_t i = 0; i < map->count && !text->failed; i++) {
		const struct value *pair = &map->items[2 * (size_t)i];

		// Of several with one key, the first.
		if (i && !text_compare(pair[0].text, pair[-2].text))
			continue;
		if (i)
			text_append(text, ",", 1);
		append_quoted(text, pair[0].text);
		text_append(text, ":", 1);
		append_json(text, &pair[1]);
	}
	text_append(text, "}", 1);
}

static void append_json(struct text *text, const struct value *value)
{
	switch (value->type) {
	case VALUE_NIL:
		text_append_string(text, "null");
		break;
	case VALUE_BOOL:
		text_append_string(text, value->boolean ? "true" : "false");
		break;
	case VALUE_INT:
	case VALUE_DURATION:
		append_integer(text, value->integer);
		break;
	case VALUE_DOUBLE:
		append_double(text, value->real);
		break;
	case VALUE_STRING:
		append_quoted(text, value->text);
		break;
	case VALUE_BYTES:
		append_base64(text, value->text);
		break;
	case VALUE_LIST:
		append_list(text, value);
		break;
	case VALUE_MAP:
		append_map(text, value);
		break;
	case VALUE_TIME:
		append_time(text, value->integer);
		break;
	case VALUE_ID:
		append_hex(text, value->text);
		break;
	case VALUE_MESSAGE:
		text_append_string(text, "{}");
		break;
	}
}

bool value_to_text(const struct value *value, struct scratch *scratch, struct profcol_text *ret)
{
	struct text text = { .scratch = scratch, .bytes = (char[]){ "" } };

	if (value->type == VALUE_STRING) {
		*ret = value->text;
		return true;
	}
	if (value->type == VALUE_BYTES)
		append_hex(&text, value->text);
	else
		append_json(&text, value);
	*ret = (struct profcol_text){ text.length ? text.bytes : "", text.length };
	return !text.failed;
}

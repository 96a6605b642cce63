// SPDX-License-Identifier: Apache-2.0
#include "strings.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST_WORD = 64 };

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/*
 * Write @word in lower_snake_case. Returns its length, or LONGEST_WORD + 1 for one
 * that is longer.
 */
static size_t strings_fold(const char *word, char to[static LONGEST_WORD + 1])
{
	size_t length = 0;

	for (size_t i = 0; word[i]; i++) {
		bool begins = i && is_upper(word[i]) &&
			      ((word[i - 1] >= 'a' && word[i - 1] <= 'z') ||
			       (word[i - 1] >= '0' && word[i - 1] <= '9'));

		if (length + begins + 1 > LONGEST_WORD)
			return LONGEST_WORD + 1;
		if (begins)
			to[length++] = '_';
		to[length++] = is_upper(word[i]) ? (char)(word[i] - 'A' + 'a')
			       : word[i] == '-'  ? '_'
						 : word[i];
	}
	to[length] = '\0';
	return length;
}

static unsigned int minimum(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Optimal string alignment distance of two folded words, or more than @limit. */
static unsigned int strings_distance(const char *a, size_t a_length, const char *b, size_t b_length,
				     unsigned int limit)
{
	unsigned int row[3][LONGEST_WORD + 1];

	if ((a_length > b_length ? a_length - b_length : b_length - a_length) > limit)
		return UINT32_MAX;
	for (size_t j = 0; j <= b_length; j++)
		row[0][j] = (unsigned int)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned int *now = row[i % 3];
		const unsigned int *last = row[(i - 1) % 3], *before = row[(i + 1) % 3];

		now[0] = (unsigned int)i;
		for (size_t j = 1; j <= b_length; j++) {
			now[j] = minimum(last[j - 1] + (a[i - 1] != b[j - 1]),
					 minimum(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = minimum(now[j], before[j - 2] + 1);
		}
	}
	return row[a_length % 3][b_length];
}

const char *strings_nearest(const char *word, const char *const *candidates, size_t count)
{
	char folded[LONGEST_WORD + 1], candidate[LONGEST_WORD + 1];
	size_t length = strings_fold(word, folded);
	unsigned int limit = (unsigned int)length / 3, best = UINT32_MAX;
	const char *nearest = NULL;

	// Longer words are far from everything.
	if (length > LONGEST_WORD)
		return NULL;
	if (limit < 1)
		limit = 1;
	for (size_t i = 0; i < count; i++) {
		size_t candidate_length = strings_fold(candidates[i], candidate);
		unsigned int distance;

		if (candidate_length > LONGEST_WORD)
			continue;
		distance = strings_distance(folded, length, candidate, candidate_length, limit);
		if (distance <= limit && distance < best) {
			best = distance;
			nearest = candidates[i];
		}
	}
	return nearest;
}

/* Length of the valid UTF-8 sequence at @bytes (RFC 3629, table 3-7 of Unicode), 0 if none. */
static size_t utf8_sequence(const unsigned char *bytes, size_t left)
{
	unsigned char lead = bytes[0], low = 0x80, high = 0xbf;
	size_t length;

	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		length = 2;
	else if (lead >= 0xe0 && lead <= 0xef)
		length = 3;
	else if (lead >= 0xf0 && lead <= 0xf4)
		length = 4;
	else
		return 0;
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	if (left < length || bytes[1] < low || bytes[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if (bytes[i] < 0x80 || bytes[i] > 0xbf)
			return 0;
	return length;
}

void strings_sanitize_utf8(char *to, const char *from, size_t length)
{
	for (size_t i = 0; i < length;) {
		size_t valid = utf8_sequence((const unsigned char *)from + i, length - i);

		if (!valid || !from[i]) {
			to[i++] = '?';
			continue;
		}
		memmove(to + i, from + i, valid);
		i += valid;
	}
	to[length] = '\0';
}

bool strings_is_utf8(const char *bytes, size_t length)
{
	for (size_t i = 0; i < length;) {
		uint64_t eight;
		size_t valid;

		// Nearly all text is ASCII.
		if (length - i >= sizeof(eight)) {
			memcpy(&eight, bytes + i, sizeof(eight));
			if (!(eight & 0x8080808080808080)) {
				i += sizeof(eight);
				continue;
			}
		}
		valid = utf8_sequence((const unsigned char *)bytes + i, length - i);
		if (!valid)
			return false;
		i += valid;
	}
	return true;
}

size_t strings_encode_utf8(uint32_t code, char to[static 4])
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

size_t strings_cut_utf8(const char *bytes, size_t length, size_t max)
{
	size_t cut = max;

	if (length <= max)
		return length;
	// Behind its first byte a character has three at most.
	while (cut && max - cut < 3 && ((unsigned char)bytes[cut] & 0xc0) == 0x80)
		cut--;
	return cut;
}

int strings_hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool strings_decode_url(const char *from, size_t length, bool form, char *to)
{
	for (size_t i = 0; i < length; i++) {
		int high, low;

		if (from[i] != '%') {
			*to++ = form && from[i] == '+' ? ' ' : from[i];
			continue;
		}
		if (length - i < 3)
			return false;
		high = strings_hex_digit(from[i + 1]);
		low = strings_hex_digit(from[i + 2]);
		if (high < 0 || low < 0 || high + low == 0)
			return false;
		*to++ = (char)(high << 4 | low);
		i += 2;
	}
	*to = '\0';
	return true;
}

void strings_hex(char *to, const void *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *from = bytes;

	for (size_t i = 0; i < length; i++) {
		to[2 * i] = digits[from[i] >> 4];
		to[2 * i + 1] = digits[from[i] & 0xf];
	}
	to[2 * length] = '\0';
}

void strings_base64(char *to, const void *bytes, size_t length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *from = bytes;

	for (size_t i = 0; i < length; i += 3) {
		size_t left = length - i;
		uint32_t group = (uint32_t)from[i] << 16;

		group |= left > 1 ? (uint32_t)from[i + 1] << 8 : 0;
		group |= left > 2 ? from[i + 2] : 0;
		*to++ = digits[group >> 18];
		*to++ = digits[group >> 12 & 63];
		*to++ = left > 1 ? digits[group >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[group & 63] : '=';
	}
	*to = '\0';
}

int strings_compare(const char *left, size_t left_length, const char *right, size_t right_length)
{
	size_t length = left_length < right_length ? left_length : right_length;
	int order = length ? memcmp(left, right, length) : 0;

	if (order)
		return order < 0 ? -1 : 1;
	return (left_length > right_length) - (left_length < right_length);
}

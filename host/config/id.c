// SPDX-License-Identifier: Apache-2.0
#include "id.h"

#include "base/base.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TYPE_MAX = 63, NAME_MAX_CHARACTERS = 1024 };

struct range {
	uint32_t first, last;
};

/*
 * Beyond ASCII: the blocks that consist of separators, controls and symbols
 * (Unicode categories Z, C and S). Symbols strewn among letters are let pass.
 */
static const struct range refused[] = {
	{ 0x80, 0xa0 },     { 0xa2, 0xa6 },       { 0xa8, 0xa9 },        { 0xac, 0xb1 },
	{ 0xb4, 0xb4 },     { 0xb8, 0xb8 },       { 0xd7, 0xd7 },        { 0xf7, 0xf7 },
	{ 0x1680, 0x1680 }, { 0x2000, 0x200f },   { 0x2028, 0x202f },    { 0x205f, 0x206f },
	{ 0x20a0, 0x20cf }, { 0x2190, 0x23ff },   { 0x2500, 0x2767 },    { 0x2794, 0x27c4 },
	{ 0x2b00, 0x2bff }, { 0x3000, 0x3000 },   { 0xe000, 0xf8ff },    { 0xfeff, 0xfeff },
	{ 0xfff0, 0xffff }, { 0x1f000, 0x1faff }, { 0xe0000, 0x10ffff },
};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool id_is_type(const char *type)
{
	if (!is_letter(*type) || strlen(type) > TYPE_MAX)
		return false;
	for (; *type; type++)
		if (!is_letter(*type) && !(*type >= '0' && *type <= '9') && *type != '_')
			return false;
	return true;
}

/* The character at *@at, which is valid UTF-8: the YAML reader has seen to it. */
static uint32_t next_character(const char **at)
{
	unsigned char lead = (unsigned char)*(*at)++;
	uint32_t character = lead < 0x80   ? lead
			     : lead < 0xe0 ? lead & 0x1f
			     : lead < 0xf0 ? lead & 0x0f
					   : lead & 0x07;

	while ((**at & 0xc0) == 0x80)
		character = character << 6 | ((unsigned char)*(*at)++ & 0x3f);
	return character;
}

static bool is_allowed(uint32_t character)
{
	if (character < 0x80)
		return character > 0x20 && character != 0x7f &&
		       !strchr("$+<=>^`|~", (int)character);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (character >= refused[i].first && character <= refused[i].last)
			return false;
	return true;
}

static bool check_name(const char *name, const char *text, char why[ID_FAULT_MAX])
{
	size_t count = 0;

	for (const char *at = name; *at; count++) {
		if (is_allowed(next_character(&at)))
			continue;
		snprintf(why, ID_FAULT_MAX,
			 "in \"%.80s\" id: invalid character(s) in name; use letters, digits and "
			 "punctuation",
			 text);
		return false;
	}
	if (count <= NAME_MAX_CHARACTERS)
		return true;
	snprintf(why, ID_FAULT_MAX,
		 "in \"%.80s...\" id: the name is longer than %d characters (%zu characters); "
		 "shorten it",
		 text, NAME_MAX_CHARACTERS, count);
	return false;
}

static char *trim(struct arena *memory, const char *begin, const char *end)
{
	static const char blanks[] = " \t\r\n";

	while (begin < end && strchr(blanks, *begin))
		begin++;
	while (end > begin && strchr(blanks, end[-1]))
		end--;
	return arena_strndup(memory, begin, (size_t)(end - begin));
}

static bool check_halves(const struct id *id, bool has_name, const char *text,
			 char why[ID_FAULT_MAX])
{
	if (!*id->type && !has_name)
		snprintf(why, ID_FAULT_MAX, "id must not be empty; write type or type/name");
	else if (!*id->type)
		snprintf(why, ID_FAULT_MAX,
			 "in \"%.80s\" id: the part before / should not be empty; write type/name",
			 text);
	else if (has_name && !*id->name)
		snprintf(why, ID_FAULT_MAX,
			 "in \"%.80s\" id: the part after / should not be empty; write type/name, "
			 "or leave out the /",
			 text);
	else if (!id_is_type(id->type))
		snprintf(why, ID_FAULT_MAX,
			 "in \"%.80s\" id: invalid character(s) in type \"%.64s\"; use letters, "
			 "digits and _, at most %d",
			 text, id->type, TYPE_MAX);
	else
		return check_name(id->name, text, why);
	return false;
}

bool id_parse(struct arena *memory, const char *text, struct id *ret, char why[ID_FAULT_MAX])
{
	const char *slash = strchr(text, '/'), *end = text + strlen(text);
	struct id id = {
		.type = trim(memory, text, slash ? slash : end),
		.name = trim(memory, slash ? slash + 1 : end, end),
	};

	why[0] = '\0';
	if (!id.type || !id.name || !check_halves(&id, slash, text, why))
		return false;
	id.text = *id.name ? arena_printf(memory, "%s/%s", id.type, id.name) : id.type;
	if (!id.text)
		return false;
	*ret = id;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids as the Collector spells them: `type[/name]`, with blanks around either half
 * ignored. A type is ^[a-zA-Z][0-9a-zA-Z_]{0,62}$; a name has 1 to 1024 characters,
 * none of them white space, a control character or a symbol.
 */
#pragma once

#include <stdbool.h>

struct arena;

enum { ID_FAULT_MAX = 256 };

struct id {
	const char *text; /* "pprof/node", without the blanks; the others are its parts */
	const char *type;
	const char *name; /* "" without one */
};

/*
 * @ret lives in the arena. False with the reason in @why, in the Collector's words;
 * "" means without memory.
 */
bool id_parse(struct arena *memory, const char *text, struct id *ret, char why[ID_FAULT_MAX]);

/* Does @type follow the grammar above? */
bool id_is_type(const char *type);

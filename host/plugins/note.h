/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file says it was built for, read without loading it: a shared object's constructors run
 * as soon as it is loaded. And what it would do to the program by being loaded. Source for the
 * format: the ELF specification (gABI), "Program Header", "Dynamic Section" and "Note Section";
 * <profcol/plugin.h>. Trusts nothing in the file. Any thread.
 */
#pragma once

#include <profcol/plugin.h>

/*
 * The note of the file @fd, at whatever position that is. UNSUPPORTED: the file has none, or is
 * cut short; REJECTED: it would make the stack executable, or load libraries from places of its
 * own.
 */
PROFCOL_MUST_CHECK struct profcol_error *note_read(int fd, struct profcol_plugin_abi *ret);

/*
 * Whether a plugin built for @abi fits this program. @build is the program's; a note's terminator
 * is looked for, too. UNSUPPORTED names what does not fit: expected and found.
 */
PROFCOL_MUST_CHECK struct profcol_error *note_check(const struct profcol_plugin_abi *abi,
						    const char *build);

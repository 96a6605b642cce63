/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an open file to the plugin that is in it. Nothing of the file runs before its note fits.
 * Main thread.
 */
#pragma once

#include <profcol/plugin.h>

/*
 * Load the shared object @fd, whose place has been checked. Takes @fd. The file is loaded by its
 * descriptor, so that it is the one that was checked, and stays loaded until the process ends:
 * code cannot be taken away from the threads that a library may have started. So does the
 * descriptor stay open, for its number is the name that the loader knows the object by; a second
 * file under the same number would be taken for the first.
 *
 * *@ret is borrowed until the process ends. UNSUPPORTED says what does not fit.
 */
PROFCOL_MUST_CHECK struct profcol_error *object_load(int fd, const struct profcol_plugin **ret);

/* The build of this program, as a plugin that shares private code with it names it. */
const char *object_build(void);

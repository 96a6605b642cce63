/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads of this process wait for a disk or a file system, in a way that nothing ends. */
#pragma once

#include <stddef.h>

/* Their names, as "'unwind', 'page-cache'"; "" when there are none. Writes at most @size bytes
 * including the NUL. */
void stuck_threads_list(char *to, size_t size);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the reader when many samples have no name: of which files they are, and what would help.
 * One thread at a time.
 */
#pragma once

#include "locations.h"

#include <profcol/component.h>

struct nameless;

/* NULL without memory. All are borrowed until destroy. */
struct nameless *nameless_create(const struct profcol_host *host, struct processes *processes,
				 struct symbols *symbols);
void nameless_destroy(struct nameless *nameless); /* accepts NULL */

/* Count the samples of @capture by whether their leaf has a name, after locations_build(). */
void nameless_count(struct nameless *nameless, const struct capture *capture,
		    const struct locations *locations);

/*
 * Log one line if it is time and more than a fifth of the samples since the last one had no name: a
 * minute after the begin, then every hour, and with @last in any case, unless it has been said. May
 * wait for file systems, some seconds.
 */
void nameless_tell(struct nameless *nameless, uint64_t now_ns, bool last);

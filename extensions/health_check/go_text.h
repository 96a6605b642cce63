/* SPDX-License-Identifier: Apache-2.0 */
/* Times as Go's programs print them, which is what reads a Collector's answers expects. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GO_TEXT_MAX = 48 };

/* time.Time in JSON (RFC 3339, local time, fraction without trailing zeros); 0 = no time at all. */
void go_text_time(uint64_t unix_ns, char to[static GO_TEXT_MAX]);

/* time.Duration.String(): "1h2m3.5s", "1.5ms", "0s". */
void go_text_duration(uint64_t ns, char to[static GO_TEXT_MAX]);

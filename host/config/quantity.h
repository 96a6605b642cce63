/* SPDX-License-Identifier: Apache-2.0 */
/* Durations and byte sizes as text. All pure; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QUANTITY_TEXT_MAX = 160 }; /* bytes that hold any text written here */

/*
 * Go's time.ParseDuration: "300ms", "-1.5h", "2h45m", "0"; units ns, us, ms, s, m,
 * h. *@ret_ns may be negative. On failure false, and @why says it in Go's words.
 */
bool quantity_parse_duration(const char *text, int64_t *ret_ns, char why[QUANTITY_TEXT_MAX]);

/* "1h30m", "250ms": what quantity_parse_duration would read back. */
void quantity_print_duration(int64_t ns, char to[QUANTITY_TEXT_MAX]);

/* "4096", "512KiB", "1.5GiB"; units B, KiB, MiB, GiB, TiB. On failure false and @why. */
bool quantity_parse_bytes(const char *text, uint64_t *ret, char why[QUANTITY_TEXT_MAX]);

/* In the biggest unit that divides @bytes. */
void quantity_print_bytes(uint64_t bytes, char to[QUANTITY_TEXT_MAX]);

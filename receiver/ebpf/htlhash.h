/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of a file whatever is in it, OpenTelemetry's "htlhash": SHA-256 over its first and
 * its last 4,096 bytes and its length, the first half of that. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { HTLHASH_BYTES = 16, HTLHASH_HEX = 2 * HTLHASH_BYTES + 1 };

/* Of a file of @size bytes at @file. */
void htlhash_of_memory(const void *file, size_t size, uint8_t ret[HTLHASH_BYTES]);

/* Of the file of @size bytes behind @fd, whose position stays. 0 or a negative errno; -ENODATA
 * when it is shorter. May wait for its file system. */
int htlhash_of_file(int fd, uint64_t size, uint8_t ret[HTLHASH_BYTES]);

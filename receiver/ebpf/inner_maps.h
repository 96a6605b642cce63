/* SPDX-License-Identifier: Apache-2.0 */
/* Maps in an array of maps. Any thread. */
#pragma once

#include <stdint.h>

/*
 * Put fds[i] into the place keys[i] of @outer_fd, for each of @count. All at once where the kernel
 * can (5.13), since it then waits for the programs that run, some milliseconds. 0 or a negative
 * errno: some may be there then.
 */
int inner_maps_put(int outer_fd, const uint32_t *keys, const int *fds, uint32_t count);

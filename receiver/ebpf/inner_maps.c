// SPDX-License-Identifier: Apache-2.0
#include "inner_maps.h"

#include <bpf/bpf.h>

int inner_maps_put(int outer_fd, const uint32_t *keys, const int *fds, uint32_t count)
{
	uint32_t done = count;
	int status = 0;

	if (count > 1 && !bpf_map_update_batch(outer_fd, keys, fds, &done, NULL))
		return 0;
	for (uint32_t i = 0; i < count && !status; i++)
		status = bpf_map_update_elem(outer_fd, &keys[i], &fds[i], BPF_ANY);
	return status;
}

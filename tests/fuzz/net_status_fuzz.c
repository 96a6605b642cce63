// SPDX-License-Identifier: Apache-2.0
/*
 * What a peer answers: the details of a status, and the result of an export. What is understood
 * of them must be within bounds and printable.
 */
#include "net/net.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct net_export_result result;
	uint64_t delay_ns;

	if (net_status_find_retry(bytes, size, &delay_ns) &&
	    delay_ns > 24 * UINT64_C(3600000000000))
		abort();
	error = net_export_result_decode(bytes, size, &result);
	if (error)
		return 0;
	for (const char *c = result.message; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			abort();
	if (result.message && strlen(result.message) > 1024)
		abort();
	net_export_result_deinit(&result);
	return 0;
}

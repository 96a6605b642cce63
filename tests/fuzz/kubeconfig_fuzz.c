// SPDX-License-Identifier: Apache-2.0
/* A kubeconfig that somebody else wrote: it leads to a server, or to an error that says where. */
#include "processors/k8s_attributes/kubeconfig.h"

#include "base/base.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void parse(const uint8_t *bytes, size_t size, const char *context)
{
	struct kubeconfig found = { 0 };
	struct profcol_error *error =
		kubeconfig_parse((const char *)bytes, size, "/etc/config", context, &found);

	if (!error == !found.server)
		abort();
	if (!error && (found.cert_file || found.cert_pem) != (found.key_file || found.key_pem))
		abort();
	if (!error && found.token_file && found.token_file[0] != '/')
		abort();
	if (error && profcol_error_code(error) != PROFCOL_CONFIG)
		abort();
	profcol_error_destroy(error);
	kubeconfig_deinit(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	parse(bytes, size, NULL);
	parse(bytes, size, "c");
	return 0;
}

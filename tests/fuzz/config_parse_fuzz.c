// SPDX-License-Identifier: Apache-2.0
/* Any bytes as a configuration. Variables are part of it: F_... hold what a file could refer to. */
#include "config/config.h"
#include "tests/unit/config/sample_components.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return setenv("F_A", "99", 1) || setenv("F_B", "[a, '${env:F_A}']", 1) ||
	       setenv("F_C", "${env:F_A}$${x}", 1) || setenv("F_D", "- ${env:F_D}\n- 1", 1) ||
	       setenv("F_E", "{a: b, profiling: , debug: {top: 1}}", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct profcol_error *error;
	struct config *config = NULL;

	error = config_parse("fuzz.yaml", (const char *)bytes, length, &sample_components, &config);
	// Exactly one of the two, and every error says something.
	if (!error == !config || (error && !*profcol_error_message(error)))
		abort();
	profcol_error_destroy(error);
	config_destroy(config);
	return 0;
}

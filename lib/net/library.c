// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <stdlib.h>

static void library_drop_log(gpr_log_func_args *arguments)
{
	(void)arguments;
}

void library_ref(void)
{
	// The log function is the one global: gRPC has no other way to be quiet.
	if (!getenv("GRPC_VERBOSITY"))
		gpr_set_log_function(library_drop_log);
	grpc_init();
}

void library_unref(void)
{
	grpc_shutdown_blocking();
}

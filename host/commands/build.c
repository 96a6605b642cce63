// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include "pipeline/graph.h"

struct profcol_error *loaded_try_to_build(const struct loaded *loaded, const char *version)
{
	const struct instance_settings settings = {
		.version = version,
		.level = PROFCOL_ERROR,
		.log_fd = -1, // what is not started has nothing to say
	};
	struct graph *graph = NULL;
	struct profcol_error *error = graph_create(loaded->config, &settings, &graph);

	graph_destroy(graph);
	return error;
}

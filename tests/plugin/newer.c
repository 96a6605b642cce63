// SPDX-License-Identifier: Apache-2.0
/* Built with later headers of the same ABI: a structure has grown. */
#include "refused.h"

#undef PROFCOL_PLUGIN_ABI
#define PROFCOL_PLUGIN_ABI                                                                         \
	{ .abi = PROFCOL_ABI,                                                                      \
	  .size = sizeof(struct profcol_plugin),                                                   \
	  .component_size = sizeof(struct profcol_component) + sizeof(void *),                     \
	  .host_size = sizeof(struct profcol_host),                                                \
	  .option_size = sizeof(struct profcol_option) }

PROFCOL_PLUGIN(&component);

// SPDX-License-Identifier: Apache-2.0
/*
 * The structures that plugins and the program share, as they are in PROFCOL_ABI 1. When this does
 * not compile any more, plugins that are in use do not fit any more: take the change back, or raise
 * PROFCOL_ABI.
 */
#include <profcol/batch.h>
#include <profcol/http.h>
#include <profcol/plugin.h>
#include <profcol/storage.h>

#define FROZEN(name, bytes)                                                                        \
	_Static_assert(sizeof(struct name) == (bytes), #name " is not what plugins know")

/* Those that say their size. */
#define MAY_GROW(name, bytes)                                                                      \
	_Static_assert(sizeof(struct name) >= (bytes) && sizeof(((struct name *)0)->size),         \
		       #name " is less than what plugins know")

_Static_assert(PROFCOL_ABI == 1, "look through these numbers");

MAY_GROW(profcol_host, 104);
MAY_GROW(profcol_component, 152);
MAY_GROW(profcol_http_settings, 160);
MAY_GROW(profcol_http_call, 40);
MAY_GROW(profcol_http_answer, 56);
MAY_GROW(profcol_logger, 32);
MAY_GROW(profcol_storage_operations, 64);

FROZEN(profcol_text, 16);
FROZEN(profcol_value, 16);
FROZEN(profcol_attribute, 24);
FROZEN(profcol_mapping, 32);
FROZEN(profcol_function, 24);
FROZEN(profcol_line, 24);
FROZEN(profcol_location, 32);
FROZEN(profcol_link, 24);
FROZEN(profcol_resource, 16);
FROZEN(profcol_scope, 20);
FROZEN(profcol_profile, 72);
FROZEN(profcol_sample, 40);
FROZEN(profcol_range, 8);
FROZEN(profcol_finding, 40);
FROZEN(profcol_findings, 32);
FROZEN(profcol_request, 40);
FROZEN(profcol_reply, 32);
FROZEN(profcol_http_request, 16);
FROZEN(profcol_http_reply, 32);
FROZEN(profcol_metric, 8);
FROZEN(profcol_list, 16);
FROZEN(profcol_map, 24);
FROZEN(profcol_sections, 16);
FROZEN(profcol_option, 112);
FROZEN(profcol_plugin_abi, 56);
FROZEN(profcol_plugin, 72);
FROZEN(profcol_component_view, 40);
FROZEN(profcol_pipeline_view, 48);
FROZEN(profcol_service_view, 64);
FROZEN(profcol_record, 32);
FROZEN(profcol_storage_figures, 56);

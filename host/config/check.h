/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables are code and may be wrong; a test asks here. */
#pragma once

#include "config.h"

/*
 * Check all descriptors of @registry and decode all defaults: keys and types follow
 * the grammar and are there once, every option has a doc line and lies inside its
 * struct, defaults are of their type and within their bounds. One line per fault.
 */
PROFCOL_MUST_CHECK struct profcol_error *
config_check_options(const struct component_registry *registry);

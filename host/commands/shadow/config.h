/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration that `shadow` runs with, which no file holds. Pure. */
#pragma once

#include "command_line.h"

#define SHADOW_OWN_EXPORTER "tally/own" /* of our own receiver */

/*
 * A source for --config, "yaml:{...}": our own receiver and one for the other's OTLP, each with a
 * tally (exporter.h) of its own. The caller frees; NULL without memory.
 */
char *shadow_config(const struct shadow_options *options);

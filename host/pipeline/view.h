/* SPDX-License-Identifier: Apache-2.0 */
/* How all components are at one moment, copied for whoever shows it. Any thread. */
#pragma once

#include <profcol/status.h>

struct graph;

/* NULL without memory. @version is borrowed. */
struct profcol_service_view *view_create(struct graph *graph, const char *version);
void view_release(struct profcol_service_view *view); /* accepts NULL */

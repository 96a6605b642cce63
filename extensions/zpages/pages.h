/* SPDX-License-Identifier: Apache-2.0 */
/* The pages, under the names that they have in the Collector. Private to extensions/zpages. */
#pragma once

#include <profcol/http.h>
#include <profcol/status.h>

#include <stdint.h>

/*
 * Answer @path: 200 with a page; 404 with the names of the pages; 503 when @view is NULL. Without
 * memory 500. Pure.
 */
void pages_answer(const char *path, const struct profcol_service_view *view, uint64_t now_unix_ns,
		  struct profcol_http_reply *reply);

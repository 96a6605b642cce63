/* SPDX-License-Identifier: Apache-2.0 */
/*
 * List, then watch, and list again when the watch cannot go on
 * (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).
 * Private to the source.
 */
#pragma once

#include "source_feed.h"

/* Until the source is to stop. */
void watch_run(struct feed *feed);

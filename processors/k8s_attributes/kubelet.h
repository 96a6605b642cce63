/* SPDX-License-Identifier: Apache-2.0 */
/* The kubelet's list of the pods of its node, again and again. Private to the source. */
#pragma once

#include "source_feed.h"

/* Until the source is to stop. */
void kubelet_run(struct feed *feed);

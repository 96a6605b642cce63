/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/base: what knows nothing of profiles. The one header that other folders
 * include; each part is described where it is declared.
 */
#pragma once

#include "arena.h"
#include "cgroup.h"
#include "cleanup.h"
#include "clock.h"
#include "close_later.h"
#include "container.h"
#include "file.h"
#include "findings.h"
#include "housekeeping.h"
#include "intern.h"
#include "lookup.h"
#include "memory_budget.h"
#include "numbers.h"
#include "radix.h"
#include "reader.h"
#include "residency.h"
#include "strings.h"
#include "thread.h"
#include "trusted_path.h"
#include "vector.h"
#include "wake.h"

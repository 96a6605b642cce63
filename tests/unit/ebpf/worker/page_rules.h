/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of an answer beside the tables of the file they were built from. */
#pragma once

#include "receiver/ebpf/worker/image.h"

/* The rule that @answer has for @address, which lies in @page. */
struct unwind_rule page_rules_at(const struct worker_answer *answer, const struct worker_page *page,
				 uint64_t address);

/* Every byte of @answer's pages has the rule that @image's source gives it; or the test fails. */
void page_rules_expect_source(const struct worker_answer *answer, const struct image *image);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side's memory, kept by the test, and its way from a program counter to a rule, as
 * bpf/unwind.bpf.h goes it: what the tests assert is what a walk would find.
 */
#pragma once

#include "tables/memory.h"
#include "tables/process_index.h"
#include "tables/rule_table.h"

#include "worker/worker.h"

enum { MODEL_SLABS = 64, MODEL_BUCKETS = 4096 };

struct kernel_model {
	uint8_t slabs[MODEL_SLABS][UNWIND_SLAB_BYTES];
	uint32_t slab_count;
	uint64_t written, writes; /* bytes; times */
	struct unwind_bucket buckets[MODEL_BUCKETS];
	struct unwind_rule rules[UNWIND_RULES];
};

struct memory_slabs kernel_model_slabs(struct kernel_model *model);

/* In the place of a rule: the frame that a walk begins with would have another one than a caller.
 */
enum { MODEL_DISAGREED = 1 << 16 };

/* What a walk finds for @pc: a packed rule, a number of the table, or why there is none. */
struct model_finding {
	enum {
		MODEL_NO_PROCESS,
		MODEL_NO_RANGE,
		MODEL_BARE,
		MODEL_RUNTIME,
		MODEL_NO_PAGE,
		MODEL_RULE
	} what;
	uint32_t rule; /* RULE: 16 bits of the row */
	uint32_t file; /* as in the frame: file id + 1, or 0 */
	uint64_t file_offset;
	const struct unwind_range *range; /* RUNTIME: that one */
};

struct model_finding kernel_model_find(const struct kernel_model *model, uint32_t pid,
				       uint32_t identity, uint64_t pc);

/* What lies at @handle. */
const void *kernel_model_object(const struct kernel_model *model, uint32_t handle);

/* Which stacks of the process are copied: UNWIND_COPIES. */
uint32_t kernel_model_copies(const struct kernel_model *model, uint32_t pid, uint32_t identity);

/* Handle of what says where labels of the process lie; 0: it has none, or is not known. */
uint32_t kernel_model_labels(const struct kernel_model *model, uint32_t pid, uint32_t identity);

/* Files as a worker would describe them: each page has one rule for all of it. */
struct model_answer {
	struct worker_answer answer;
	struct worker_segment segment;
	struct worker_page pages[64];
	uint16_t first[UNWIND_BLOCKS + 1];
	uint32_t rows[64][UNWIND_BLOCKS];
	struct unwind_rule rules[2 * UNWIND_BLOCKS];
};

/*
 * @file has @count pages of text at @address, which is @file_offset in the file. The answer has
 * those of @numbers; page i has a wide rule with cfa_offset = @marks[i].
 */
void model_answer_init(struct model_answer *model, uint32_t file, uint64_t address,
		       uint64_t file_offset, uint32_t page_count);
void model_answer_add(struct model_answer *model, uint32_t number, int32_t mark);

/* The same of one whose blocks have a rule each, with @mark, @mark + 1, and so on: twice at most.
 */
void model_answer_add_many(struct model_answer *model, uint32_t number, int32_t mark);

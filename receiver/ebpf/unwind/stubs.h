/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules for code that no table describes but whose form is known: stubs of linkage tables, the
 * return from a signal handler, the first function of a program and of a thread, the system call
 * that starts one, functions of arm64's vDSO. Nothing is looked for but where rules are asked for.
 * One thread at a time.
 */
#pragma once

#include "elf_view.h"
#include "outermost.h"
#include "rule.h"

#include <stddef.h>

enum { STUBS_AREAS = 8 };

/* Code that is known by its place. */
struct stubs_area {
	uint64_t start, limit;
	bool entry; /* the program's first code */
	bool leaf;  /* a function without a frame; neither: a linkage table */
};

struct stubs {
	const struct elf_view *view;
	const struct unwind_machine *machine; /* NULL: none that we know */
	struct stubs_area areas[STUBS_AREAS]; /* ascending, without overlap */
	size_t area_count;
	struct outermost outermost;
};

/* @view is borrowed as long as @stubs is used. */
void stubs_init(struct stubs *stubs, const struct elf_view *view);

/* Give the rules of all of [start, limit), UNKNOWN where there is no stub. */
void stubs_visit(const struct stubs *stubs, uint64_t start, uint64_t limit,
		 unwind_take_function take, void *context);

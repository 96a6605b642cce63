/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host for one processor, which configures it from YAML, as the program does, and keeps what it
 * hands on. One thread.
 */
#pragma once

#include "fake_host.h"

struct arena;

struct processor {
	struct fake_host fake; /* first: found again by the address of its host; counts what is
				* filtered as lost */
	struct arena *memory;  /* owned: what the configuration refers to */
	struct profcol_batch *passed; /* owned: the last batch that was handed on; NULL before */
	unsigned int passed_count;
	struct profcol_error *refusal; /* taken by the next consume_next, which then fails */
};

/* From options to start; what fails first is the caller's. The processor has to be deinited then,
 * too. Places in the error are of @yaml: "test:1:2: ...". */
struct profcol_error *processor_try_start(struct processor *processor,
					  const struct profcol_component *component,
					  const char *yaml);

/* The same, and it must succeed. */
void processor_start(struct processor *processor, const struct profcol_component *component,
		     const char *yaml);
void processor_deinit(struct processor *processor);

/* Takes @batch; must succeed. Returns what was handed on, borrowed until the next; NULL when
 * nothing was. */
const struct profcol_batch *processor_consume(struct processor *processor,
					      struct profcol_batch *batch);

/* Fails unless starting with @yaml is refused with @text among the words. */
void assert_refused(const struct profcol_component *component, const char *yaml, const char *text);

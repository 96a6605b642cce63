/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of `profcol doctor`, by the component they are about. One thread. */
#pragma once

#include "doctor_http.h"

#include <profcol/component.h>

#include "base/base.h"

#include <stdio.h>

struct diagnosis_part {
	const char *kind; /* "host", "receiver", ... */
	const char *id;   /* "pprof/node"; "" for the host */
	VECTOR(struct profcol_finding) findings;
};

/* What one part of the configuration will use, and no other can then. */
struct diagnosis_claim {
	const char *what;
	const char *owner; /* "extension file_storage" */
};

struct diagnosis {
	struct profcol_findings base; /* first: what a component adds goes to the last part */
	struct arena *memory;         /* of the texts */
	VECTOR(struct diagnosis_part) parts;
	VECTOR(struct diagnosis_claim) claims;
	VECTOR(int) held; /* owned descriptors */
	struct doctor_http http;
	bool no_memory; /* something could not be kept */
};

/* False without memory. */
bool diagnosis_init(struct diagnosis *diagnosis);
void diagnosis_deinit(struct diagnosis *diagnosis);

/* Findings from now on are about this one. @kind and @id are copied. */
void diagnosis_begin(struct diagnosis *diagnosis, const char *kind, const char *id);

/* How many findings have @verdict. */
size_t diagnosis_count(const struct diagnosis *diagnosis, enum profcol_verdict verdict);

/* Nothing is missing: what the configuration asks for can work here. */
bool diagnosis_is_good(const struct diagnosis *diagnosis);

/* ---- diagnosis_print.c ---- */

void diagnosis_print_text(const struct diagnosis *diagnosis, FILE *to);

/* One JSON document; its keys are listed in docs/commands.md. False without memory. */
bool diagnosis_print_json(const struct diagnosis *diagnosis, const char *version, FILE *to);

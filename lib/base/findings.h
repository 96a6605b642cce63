/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a component's diagnose says, in one call each. All texts are borrowed during the
 * call. One thread at a time, as the findings themselves.
 */
#pragma once

#include <profcol/component.h>

/* @subject is as it should be; @format says how it is. */
void findings_add_fine(struct profcol_findings *findings, const char *subject, const char *format,
		       ...) __attribute__((format(printf, 3, 4)));

/*
 * What @error (taken, not NULL) tells of @subject, one finding for each line of it: its text up
 * to the first "; " is the detail, what follows the remedy. @effect is what is lost by it.
 */
void findings_add_error(struct profcol_findings *findings, const char *subject,
			enum profcol_verdict verdict, const char *effect,
			struct profcol_error *error);

/*
 * An error (REJECTED) when another part of the configuration has claimed @what, of which there is
 * only one: "directory '/var/lib/queue'". @remedy is how both can have theirs.
 */
PROFCOL_MUST_CHECK struct profcol_error *findings_claim(struct profcol_findings *findings,
							const char *what, const char *remedy);

/* Keep @fd (taken, -1 is fine) open until every component has been asked, if that can be. */
void findings_hold(struct profcol_findings *findings, int fd);

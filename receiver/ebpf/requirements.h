/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine must offer before anything is loaded: one list of facts, in the order in
 * which a start would fail, for the start itself and for `profcol doctor`.
 *
 * Everything is asked through an environment, so that what a machine does
 * not have at hand (old kernels, lockdown) can be tried on any.
 *
 * Threads: one at a time.
 */
#pragma once

#include <profcol/component.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum requirements_machine { REQUIREMENTS_AMD64, REQUIREMENTS_ARM64 };

struct requirements_environment {
	const char *root;        /* prefix of /proc and /sys: "" on the real machine */
	char kernel_release[65]; /* as uname -r */
	enum requirements_machine machine;
	uint64_t memlock_bytes; /* hard limit on locked memory; UINT64_MAX = none */
	bool (*has_capability)(void *context, int capability); /* effective? */
	/* Read @length bytes of the kernel's code; an error when the kernel forbids it. */
	struct profcol_error *(*read_kernel_text)(void *context, uint64_t address, uint8_t *code,
						  size_t length);
	void *context;
};

/* The machine this runs on. */
struct requirements_environment requirements_this_machine(void);

/*
 * Add a finding for each requirement. Without what is MISSING nothing can be sampled; what is
 * LACKING narrows the result. @skip_version leaves out the kernel's version and the fault in its
 * user copies.
 */
void requirements_visit(const struct requirements_environment *environment, bool skip_version,
			struct profcol_findings *findings);

/* The same for a start: UNSUPPORTED with the first that is missing, and how to get it. What is
 * lacking is logged as a warning. */
PROFCOL_MUST_CHECK struct profcol_error *
requirements_check(const struct requirements_environment *environment, bool skip_version,
		   const struct profcol_logger *logger);

/*
 * Put the reason in front of the error of a perf event that was not permitted (REJECTED, see
 * perf/perf.h); any other comes back as it is. Takes @error; NULL stays NULL.
 */
PROFCOL_MUST_CHECK struct profcol_error *
requirements_explain_perf(const struct requirements_environment *environment,
			  struct profcol_error *error);

/*
 * Does this code of copy_from_user_nofault() have commit d319f344561d ("mm: Fix
 * copy_from_user_nofault().", 6.4, stable 6.1.36 and 6.3.10)? On amd64 it calls
 * nmi_uaccess_okay(); on arm64 it no longer tests PF_KTHREAD, as access_ok() does.
 */
bool requirements_user_copy_is_mended(enum requirements_machine machine, const uint8_t *code,
				      size_t length, uint64_t code_address,
				      uint64_t nmi_uaccess_okay);

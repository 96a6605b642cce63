/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a recording. Exporters write into a hidden directory beside it; what is there at
 * the end gets the file's name, at once, and the user who called sudo gets the file. One thread.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <stdint.h>

enum record_form { RECORD_PPROF, RECORD_FOLDED, RECORD_OTLP };

struct record_output {
	const char *path; /* borrowed: of the file */
	enum record_form form;
	char *directory; /* owned: the hidden one; NULL = there is none */
	char *otlp_path; /* owned: in it, what OTLP is written to */
};

/* The form that the ending of @path stands for: pprof without one. Touches nothing. */
PROFCOL_MUST_CHECK struct profcol_error *record_output_form(const char *path,
							    enum record_form *ret);

/* Make the directory. @path is borrowed until deinit. */
PROFCOL_MUST_CHECK struct profcol_error *record_output_init(struct record_output *output,
							    const char *path);

/*
 * Give the file that was written its name. *@size_ret is its size in bytes; 0 when there is none,
 * since nothing was sampled, and then nothing has happened.
 */
PROFCOL_MUST_CHECK struct profcol_error *record_output_publish(struct record_output *output,
							       uint64_t *size_ret);

/* Remove the directory with all that is in it. */
void record_output_deinit(struct record_output *output);

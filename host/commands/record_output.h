/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a recording. Exporters write into a directory that nobody else can reach; what is
 * there at the end is copied to a new file beside the one asked for, which it then replaces, at
 * once. All that happens in the file's own directory happens with the rights of the user who has
 * called (caller.h), and through no symbolic link in the file's own place. One thread.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <stdint.h>

/* The last two are made of OTLP when the recording is over. */
enum record_form { RECORD_PPROF, RECORD_FOLDED, RECORD_OTLP, RECORD_HTML, RECORD_SVG };

/* Is OTLP what is recorded? */
static inline bool record_form_is_otlp(enum record_form form)
{
	return form >= RECORD_OTLP;
}

struct flame;

struct record_output {
	const char *path; /* borrowed: of the file */
	enum record_form form;
	char *directory; /* owned: the exporters'; NULL = there is none */
	char *otlp_path; /* owned: in it, what OTLP is written to */
};

/* The form that the ending of @path stands for: pprof without one. Touches nothing. */
PROFCOL_MUST_CHECK struct profcol_error *record_output_form(const char *path,
							    enum record_form *ret);

/* Make the directory, and see whether the file could be written. @path is borrowed until deinit. */
PROFCOL_MUST_CHECK struct profcol_error *record_output_init(struct record_output *output,
							    const char *path);

/*
 * What was recorded becomes a page or a picture, where that is the form, and is added to @flame.
 */
PROFCOL_MUST_CHECK struct profcol_error *record_output_draw(struct record_output *output,
							    struct flame *flame);

/* Add what was recorded, and is neither page nor picture, to @flame. Not once it is published: by
 * its name it may be another file then, which its owner may not read. */
PROFCOL_MUST_CHECK struct profcol_error *record_output_read(const struct record_output *output,
							    struct flame *flame);

/*
 * Give the file that was written its name. *@size_ret is its size in bytes; 0 when there is none,
 * since nothing was sampled, and then nothing has happened.
 */
PROFCOL_MUST_CHECK struct profcol_error *record_output_publish(struct record_output *output,
							       uint64_t *size_ret);

/* Remove the directory with all that is in it. */
void record_output_deinit(struct record_output *output);

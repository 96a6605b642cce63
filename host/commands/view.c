// SPDX-License-Identifier: Apache-2.0
/* `view`: a file of profiles, or two for a difference, in the browser or as a picture. */
#include "caller.h"
#include "command.h"
#include "profile_file.h"
#include "profile_page.h"

#include "base/base.h"

#include <stdlib.h>

enum { HOTTEST = 10 };

/* Write the picture with the rights of the caller, as all commands write. */
static struct profcol_error *write_picture(const struct view_options *options, struct flame *flame)
{
	CLEANUP(caller_leave) struct caller_rights rights = { 0 };
	struct profcol_error *error = caller_enter(&rights);
	enum profile_picture form;

	if (error)
		return error;
	// The form has been checked with the command line.
	(void)profile_picture_form(options->output, &form);
	return profile_picture_write(flame, options->files[1], options->files[0], form,
				     options->output);
}

static struct profcol_error *view(const struct view_options *options, struct flame *flame)
{
	struct profcol_error *error = profile_file_add(options->files[0], flame, FLAME_NOW);

	if (!error && options->files[1])
		error = profile_file_add(options->files[1], flame, FLAME_BASE);
	if (error)
		return error;
	if (!flame_total(flame, FLAME_NOW) && !flame_total(flame, FLAME_BASE))
		return profcol_error_create(PROFCOL_BAD_DATA, "there are no samples in '%s'",
					    options->files[0]);
	error = profile_print_hottest(flame, HOTTEST, stdout);
	if (error)
		return error;
	if (!options->output)
		return profile_page_serve(flame, options->files[1], stdout);
	return write_picture(options, flame);
}

int command_view(const struct command_line *line, const struct program *program)
{
	const struct flame_settings settings = { 0 };
	FLAME_CLEANUP struct flame *flame = flame_create(&settings);
	struct profcol_error *error;
	enum profile_picture form;

	(void)program;
	if (line->view.output && !profile_picture_form(line->view.output, &form))
		return commands_refuse(profcol_error_create(
			PROFCOL_CONFIG,
			"'view' writes a page or a picture, by the ending: -o FILE.html or "
			"-o FILE.svg, not '%s'",
			line->view.output));
	if (!flame)
		return command_fail(profcol_error_create(PROFCOL_NO_MEMORY, "out of memory"));
	error = view(&line->view, flame);
	return error ? command_fail(error) : command_finish(EXIT_SUCCESS);
}

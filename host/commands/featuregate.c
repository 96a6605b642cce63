// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include "config/gates.h"

#include "base/base.h"

#include <string.h>

static void print_all(void)
{
	int width = 0;

	for (size_t i = 0; i < gate_count; i++)
		if ((int)strlen(gates[i].id) > width)
			width = (int)strlen(gates[i].id);
	printf("%-*s  Enabled  Stage   Description\n", width, "ID");
	for (size_t i = 0; i < gate_count; i++)
		printf("%-*s  %-7s  %-6s  %s\n", width, gates[i].id,
		       gates[i].enabled ? "true" : "false", gates[i].stage, gates[i].doc);
}

static void print_one(const struct gate *gate)
{
	printf("Feature: %s\nEnabled: %s\nStage: %s\nDescription: %s\n", gate->id,
	       gate->enabled ? "true" : "false", gate->stage, gate->doc);
	if (gate->instead)
		printf("Here: no effect, %s\n", gate->instead);
}

static struct profcol_error *unknown_gate(const char *id)
{
	CLEANUP_FREE const char **ids = calloc(gate_count, sizeof(*ids));
	const char *nearest;

	if (!ids)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	for (size_t i = 0; i < gate_count; i++)
		ids[i] = gates[i].id;
	nearest = strings_nearest(id, ids, gate_count);
	if (nearest)
		return profcol_error_create(PROFCOL_REJECTED,
					    "feature \"%s\" not found; did you mean '%s'?", id,
					    nearest);
	return profcol_error_create(
		PROFCOL_REJECTED, "feature \"%s\" not found; 'profcol featuregate' lists them", id);
}

int command_featuregate(const struct command_line *line, const struct program *program)
{
	const struct gate *gate = line->gate ? gates_find(line->gate) : NULL;

	(void)program;
	if (line->gate && !gate)
		return command_fail(unknown_gate(line->gate));
	if (gate)
		print_one(gate);
	else
		print_all();
	return command_finish(EXIT_SUCCESS);
}

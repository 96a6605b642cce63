// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include "diagnosis.h"
#include "doctor_host.h"
#include "registry.h"

#include "base/base.h"

/* What is looked at when no configuration is given. */
static const char *const default_uris[] = {
	"yaml:{receivers: {profiling: }, exporters: {debug: }, service: {pipelines: {profiles: "
	"{receivers: [profiling], exporters: [debug]}}}}",
};

/* Is the component at @position in use: enabled, or part of a pipeline? */
static bool is_in_use(const struct config *config, size_t position)
{
	for (size_t i = 0; i < config->extension_count; i++)
		if (config->extensions[i] == position)
			return true;
	for (size_t i = 0; i < config->pipeline_count; i++) {
		const struct config_pipeline *pipeline = &config->pipelines[i];

		for (size_t j = 0; j < pipeline->receiver_count; j++)
			if (pipeline->receivers[j] == position)
				return true;
		for (size_t j = 0; j < pipeline->processor_count; j++)
			if (pipeline->processors[j] == position)
				return true;
		for (size_t j = 0; j < pipeline->exporter_count; j++)
			if (pipeline->exporters[j] == position)
				return true;
	}
	return false;
}

/* With @pid that process, too; 0: none. */
static void diagnose_components(const struct config *config, uint32_t pid,
				struct diagnosis *diagnosis)
{
	for (size_t i = 0; i < config->component_count; i++) {
		const struct config_component *component = &config->components[i];

		if (!component->type->diagnose || !is_in_use(config, i))
			continue;
		diagnosis_begin(diagnosis, registry_kind_name(component->kind), component->id);
		component->type->diagnose(component->options, &diagnosis->base);
		if (pid && component->type->diagnose_process)
			component->type->diagnose_process(component->options, pid,
							  &diagnosis->base);
	}
}

static void diagnose(const struct loaded *loaded, const char *version, uint32_t pid,
		     struct diagnosis *diagnosis)
{
	struct profcol_error *error;

	diagnosis_begin(diagnosis, "host", "");
	doctor_host_diagnose("", &loaded->config->service, &diagnosis->base);
	error = loaded_try_to_build(loaded, version);
	if (error)
		findings_add_error(&diagnosis->base, "pipelines", PROFCOL_MISSING,
				   "profcol does not start", error);
	else
		findings_add_fine(&diagnosis->base, "pipelines", "can be built");
	diagnose_components(loaded->config, pid, diagnosis);
}

/* Without its plugins nothing else of the configuration can be read. Takes @error. */
static void diagnose_plugins(struct profcol_error *error, struct diagnosis *diagnosis)
{
	diagnosis_begin(diagnosis, "host", "");
	findings_add_error(&diagnosis->base, "plugins", PROFCOL_MISSING, "profcol does not start",
			   error);
}

static int print(const struct command_line *line, const struct program *program,
		 const struct diagnosis *diagnosis)
{
	if (!line->json)
		diagnosis_print_text(diagnosis, stdout);
	else if (!diagnosis_print_json(diagnosis, program->version, stdout))
		return command_fail(profcol_error_create(PROFCOL_NO_MEMORY, "out of memory"));
	return command_finish(diagnosis_is_good(diagnosis) ? EXIT_SUCCESS : EXIT_FAILURE);
}

int command_doctor(const struct command_line *line, const struct program *program)
{
	CLEANUP(loaded_deinit) struct loaded loaded = { 0 };
	CLEANUP(diagnosis_deinit) struct diagnosis diagnosis = { 0 };
	struct config_sources sources = line->sources;
	struct profcol_error *error;

	if (!sources.uri_count) {
		sources.uris = default_uris;
		sources.uri_count = 1;
	}
	if (!diagnosis_init(&diagnosis))
		return command_fail(profcol_error_create(PROFCOL_NO_MEMORY, "out of memory"));
	error = loaded_init(&loaded, &sources, program->builtin);
	if (error && !loaded.plugins_refused)
		return command_fail(error);
	profcol_error_destroy(error);
	if (loaded.plugins_refused)
		diagnose_plugins(TAKE(loaded.plugins_refused), &diagnosis);
	else
		diagnose(&loaded, program->version, line->doctor_pid, &diagnosis);
	return print(line, program, &diagnosis);
}

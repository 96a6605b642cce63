// SPDX-License-Identifier: Apache-2.0
#include "reload.h"

#include "lifecycle.h"
#include "transition.h"
#include "watch.h"

#include "telemetry/log_output.h"
#include "telemetry/telemetry.h"

#include <string.h>

static const struct config *running(const struct reload *reload)
{
	return reload->graph->layout->generation->config;
}

static void tree_cleanup(struct config_tree **tree)
{
	config_tree_destroy(*tree);
}

static bool is_same_list(const struct profcol_list *a, const struct profcol_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i], b->items[i]) != 0)
			return false;
	return true;
}

/* ---- reading ---- */

/* What has been loaded stays loaded, so another list has no effect yet. */
static void compare_plugins(const struct reload *reload, struct config_tree *tree)
{
	struct profcol_list directories = { 0 };

	config_tree_plugins(tree, &directories);
	if (!is_same_list(&directories, reload->plugins))
		profcol_log_warn(&reload->logger->base,
				 "service::plugins has changed, which needs a restart: the plugins "
				 "that are loaded stay, and no others come");
}

/* Before it is read: no change from what is read is missed, whatever becomes of the reload. */
static void watch_file(const char *path, void *context)
{
	struct watch *watch = context;

	watch_add_file(watch, path);
}

static void watch_files_of(const struct reload *reload, const struct config *config)
{
	if (reload->watch)
		watch_set_files(reload->watch, config->watched, config->watched_count);
}

static struct profcol_error *load(const struct reload *reload, struct config **ret)
{
	CLEANUP(tree_cleanup) struct config_tree *tree = NULL;
	struct config_sources sources = *reload->sources;
	struct profcol_error *error;

	if (reload->watch) {
		sources.note_file = watch_file;
		sources.context = reload->watch;
	}
	// Without what earlier ones, which were refused, have named.
	watch_files_of(reload, running(reload));
	error = config_tree_load(&sources, &tree);
	if (error)
		return error;
	compare_plugins(reload, tree);
	return config_tree_decode(TAKE(tree), reload->registry, ret);
}

static const char untouched[] = "the configuration of before goes on unchanged";

/* One message for each problem, and @outcome; takes @error. */
static void refuse(const struct reload *reload, struct profcol_error *error, const char *outcome)
{
	const struct profcol_logger *logger = &reload->logger->base;
	const char *line = profcol_error_message(error);

	telemetry_note_reload(reload->telemetry, false);
	while (line[0]) {
		size_t length = strcspn(line, "\n");

		if (length)
			profcol_log_error(logger, "%.*s", (int)length, line);
		line += length + (line[length] == '\n');
	}
	profcol_log_error(logger, "Config reload failed, %s", outcome);
	profcol_error_destroy(error);
}

/* ---- what is the service's own ---- */

static void set_level(struct instance *instance, void *context)
{
	const enum profcol_level *level = context;

	logging_set_level(&instance->logger, *level);
}

static void apply_level(const struct reload *reload)
{
	enum profcol_level level = log_output_level(reload->log);

	logging_set_level(reload->logger, level);
	reload->graph->settings.level = level;
	graph_visit(reload->graph, set_level, &level);
}

/*
 * The log is as @service has it, and the metrics are ready to be so, until the transition is
 * over. On error everything is as it was.
 */
static struct profcol_error *apply_service(const struct reload *reload,
					   const struct config_service *service)
{
	struct profcol_error *error = telemetry_prepare(reload->telemetry, service);

	if (error)
		return error;
	error = log_output_configure(reload->log, service);
	if (error)
		return profcol_error_join(error, telemetry_abort(reload->telemetry));
	apply_level(reload);
	return NULL;
}

static struct profcol_error *revert_service(const struct reload *reload)
{
	struct profcol_error *error = telemetry_abort(reload->telemetry);

	error = profcol_error_join(error,
				   log_output_configure(reload->log, &running(reload)->service));
	apply_level(reload);
	return error;
}

/* ---- the whole ---- */

static void finish(const struct reload *reload)
{
	const struct config *config = running(reload);
	const struct profcol_logger *logger = &reload->logger->base;

	reload->patience->drain_ns = config->service.shutdown_timeout_ns;
	// What did not start, or has not found out what it waited for, may not run as it should.
	if (lifecycle_is_ending(reload->graph)) {
		profcol_log_info(logger, "Config reload cut short, the process ends.");
		return;
	}
	watch_files_of(reload, config);
	telemetry_note_reload(reload->telemetry, true);
	profcol_log_info(logger, "Config reload complete.");
}

static struct profcol_error *go_over(const struct reload *reload, struct config *config)
{
	const struct transition_settings settings = {
		.patience = reload->patience,
		.logger = &reload->logger->base,
	};
	const char *outcome = untouched;
	struct profcol_error *error;

	switch (transition_apply(reload->graph, config, &settings, &error)) {
	case TRANSITION_DONE:
		telemetry_commit(reload->telemetry);
		apply_level(reload);
		finish(reload);
		return NULL;
	case TRANSITION_REFUSED:
		break;
	case TRANSITION_PUT_BACK:
		outcome = "the configuration of before runs again";
		break;
	case TRANSITION_PUT_BACK_PARTLY:
		outcome = "the configuration of before runs again, but for the components that "
			  "did not start (see above)";
		break;
	case TRANSITION_FATAL:
		return error;
	}
	refuse(reload, profcol_error_join(error, revert_service(reload)), outcome);
	return NULL;
}

struct profcol_error *reload_run(const struct reload *reload)
{
	struct config *config = NULL;
	struct profcol_error *error = load(reload, &config);

	if (!error)
		error = apply_service(reload, &config->service);
	if (error) {
		config_destroy(config);
		refuse(reload, error, untouched);
		return NULL;
	}
	for (size_t i = 0; i < config->warning_count; i++)
		profcol_log_warn(&reload->logger->base, "%s", config->warnings[i]);
	return go_over(reload, config);
}

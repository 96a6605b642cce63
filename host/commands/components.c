// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include "registry.h"

#include "config/describe.h"
#include "config/quantity.h"
#include "sending/sending.h"

#include "base/base.h"

#include <float.h>
#include <inttypes.h>

/* A double-quoted YAML scalar: text may hold ": " or " #", which end a plain one. */
static void print_quoted(const char *text, FILE *to)
{
	fputc('"', to);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c < 0x20)
			fprintf(to, "\\x%02x", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

static void print_text(const char *key, const char *text, int indent, FILE *to)
{
	fprintf(to, "%*s%s: ", indent, "", key);
	print_quoted(text, to);
	fputc('\n', to);
}

/* ---- options ---- */

static void print_quantity(const char *key, const struct profcol_option *option, int64_t value,
			   int indent, FILE *to)
{
	char text[QUANTITY_TEXT_MAX];

	if (option->type == PROFCOL_OPTION_DURATION)
		quantity_print_duration(value, text);
	else
		quantity_print_bytes((uint64_t)value, text);
	fprintf(to, "%*s%s: %s\n", indent, "", key, text);
}

static void print_bounds(const struct profcol_option *option, int indent, FILE *to)
{
	switch (option->type) {
	case PROFCOL_OPTION_INT:
		if (option->min != INT64_MIN)
			fprintf(to, "%*sminimum: %" PRId64 "\n", indent, "", option->min);
		if (option->max != INT64_MAX)
			fprintf(to, "%*smaximum: %" PRId64 "\n", indent, "", option->max);
		break;
	case PROFCOL_OPTION_DOUBLE:
		if (option->double_min > -DBL_MAX)
			fprintf(to, "%*sminimum: %.15g\n", indent, "", option->double_min);
		if (option->double_max < DBL_MAX)
			fprintf(to, "%*smaximum: %.15g\n", indent, "", option->double_max);
		break;
	case PROFCOL_OPTION_DURATION:
	case PROFCOL_OPTION_BYTES:
		if (option->min)
			print_quantity("minimum", option, option->min, indent, to);
		if (option->max)
			print_quantity("maximum", option, option->max, indent, to);
		break;
	default:
		break;
	}
}

static void print_words(const struct profcol_option *option, int indent, FILE *to)
{
	const char *const *first = option->names + (option->names[0][0] == '\0');

	fprintf(to, "%*svalues: [", indent, "");
	for (const char *const *name = first; *name; name++) {
		fputs(name == first ? "" : ", ", to);
		print_quoted(*name, to);
	}
	fputs("]\n", to);
}

static void print_options(const struct profcol_option *table, int indent, FILE *to)
{
	fprintf(to, "%*soptions:%s\n", indent, "", table && table->key ? "" : " []");
	for (const struct profcol_option *option = table; option && option->key; option++) {
		int inner = indent + 6;

		fprintf(to, "%*s- key: %s\n%*stype: %s\n", indent + 4, "", option->key, inner, "",
			describe_type(option->type));
		if (option->type == PROFCOL_OPTION_ENUM)
			print_words(option, inner, to);
		print_bounds(option, inner, to);
		if (option->required)
			fprintf(to, "%*srequired: true\n", inner, "");
		else if (option->fallback) // is YAML text already
			fprintf(to, "%*sdefault: %s\n", inner, "", option->fallback);
		print_text("doc", option->doc, inner, to);
		if (option->nested)
			print_options(option->nested, inner, to);
	}
}

/* ---- components ---- */

static const char *stability_name(enum profcol_stability stability)
{
	switch (stability) {
	case PROFCOL_DEVELOPMENT:
		return "Development";
	case PROFCOL_ALPHA:
		return "Alpha";
	case PROFCOL_BETA:
		return "Beta";
	case PROFCOL_STABLE:
		return "Stable";
	}
	return "Unknown";
}

static void print_component(const struct profcol_component *component, FILE *to)
{
	CLEANUP_ARENA struct arena *memory = arena_create(0);
	const struct profcol_option *table = component->options;
	size_t size;

	fprintf(to, "    - name: %s\n", component->type);
	if (component->aliases && component->aliases[0]) {
		fputs("      aliases: [", to);
		for (const char *const *alias = component->aliases; *alias; alias++)
			fprintf(to, "%s%s", alias == component->aliases ? "" : ", ", *alias);
		fputs("]\n", to);
	}
	// Profiles are all that an extension does not carry; there the Collector says "extension".
	fprintf(to, "      stability:\n        %s: %s\n",
		component->kind == PROFCOL_EXTENSION ? "extension" : "profiles",
		stability_name(component->stability));
	print_text("summary", component->summary ? component->summary : "", 6, to);
	// With the host's part. Without memory for it, its own is better than nothing.
	if (!memory || !sending_compose(component, memory, &table, &size))
		table = component->options;
	print_options(table, 6, to);
}

static void print_kind(const struct component_registry *registry, enum profcol_kind kind, FILE *to)
{
	size_t found = 0;

	fprintf(to, "%ss:", registry_kind_name(kind));
	for (size_t i = 0; i < registry->count; i++) {
		if (registry->components[i]->kind != kind)
			continue;
		if (!found++)
			fputc('\n', to);
		print_component(registry->components[i], to);
	}
	if (!found)
		fputs(" []\n", to);
}

void components_print(const struct component_registry *registry, const char *version, FILE *to)
{
	fprintf(to,
		"buildinfo:\n"
		"    command: profcol\n"
		"    description: whole-system profiler in the shape of an OpenTelemetry "
		"Collector\n"
		"    version: %s\n",
		version);
	print_kind(registry, PROFCOL_RECEIVER, to);
	print_kind(registry, PROFCOL_PROCESSOR, to);
	print_kind(registry, PROFCOL_EXPORTER, to);
	fputs("connectors: []\n", to);
	print_kind(registry, PROFCOL_EXTENSION, to);
	fputs("providers:\n"
	      "    - scheme: env\n"
	      "    - scheme: file\n"
	      "    - scheme: yaml\n"
	      "converters: []\n",
	      to);
}

int command_components(const struct command_line *line, const struct program *program)
{
	CLEANUP(loaded_deinit) struct loaded loaded = { 0 };
	struct profcol_error *error =
		loaded_init_registry(&loaded, &line->sources, program->builtin);

	if (error)
		return command_fail(error);
	components_print(loaded.registry, program->version, stdout);
	return command_finish(EXIT_SUCCESS);
}

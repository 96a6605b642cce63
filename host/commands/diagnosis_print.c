// SPDX-License-Identifier: Apache-2.0
#include "diagnosis.h"

#include <jansson.h>
#include <string.h>

/* ---- text ---- */

enum { SUBJECT_COLUMNS_MAX = 40 };

static const char *const marks[] = {
	[PROFCOL_FINE] = "ok",
	[PROFCOL_LACKING] = "lacking",
	[PROFCOL_MISSING] = "MISSING",
};

/* A finding is a line or two: a line break in a text would tear it. */
static void print_line(const char *text, FILE *to)
{
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text, to);
}

static int subject_columns(const struct diagnosis_part *part)
{
	size_t columns = 0;

	for (size_t i = 0; i < part->findings.count; i++) {
		size_t length = strlen(part->findings.items[i].subject);

		if (length > columns && length <= SUBJECT_COLUMNS_MAX)
			columns = length;
	}
	return (int)columns;
}

static void print_finding(const struct profcol_finding *finding, int columns, FILE *to)
{
	fprintf(to, "  %-7s  %-*s  ", marks[finding->verdict], columns, finding->subject);
	print_line(finding->detail, to);
	fputc('\n', to);
	if (finding->effect[0]) {
		fprintf(to, "  %-7s  so:  ", "");
		print_line(finding->effect, to);
		fputc('\n', to);
	}
	if (finding->remedy[0]) {
		fprintf(to, "  %-7s  fix: ", "");
		print_line(finding->remedy, to);
		fputc('\n', to);
	}
}

static void print_sum(const struct diagnosis *diagnosis, FILE *to)
{
	size_t missing = diagnosis_count(diagnosis, PROFCOL_MISSING);
	size_t lacking = diagnosis_count(diagnosis, PROFCOL_LACKING);

	if (missing)
		fprintf(to,
			"%zu missing, %zu lacking: profcol cannot do all that the configuration "
			"asks for here.\n",
			missing, lacking);
	else if (lacking)
		fprintf(to, "%zu lacking: this configuration works here, with less.\n", lacking);
	else
		fputs("Everything that the configuration asks for can work here.\n", to);
}

void diagnosis_print_text(const struct diagnosis *diagnosis, FILE *to)
{
	for (size_t i = 0; i < diagnosis->parts.count; i++) {
		const struct diagnosis_part *part = &diagnosis->parts.items[i];
		int columns = subject_columns(part);

		if (!part->findings.count)
			continue;
		fprintf(to, "%s%s%s\n", part->kind, part->id[0] ? " " : "", part->id);
		for (size_t j = 0; j < part->findings.count; j++)
			print_finding(&part->findings.items[j], columns, to);
		fputc('\n', to);
	}
	print_sum(diagnosis, to);
}

/* ---- JSON ---- */

static json_t *finding_to_json(const struct profcol_finding *finding)
{
	static const char *const words[] = {
		[PROFCOL_FINE] = "fine",
		[PROFCOL_LACKING] = "lacking",
		[PROFCOL_MISSING] = "missing",
	};

	return json_pack("{s:s, s:s, s:s, s:s, s:s}", "subject", finding->subject, "verdict",
			 words[finding->verdict], "detail", finding->detail, "effect",
			 finding->effect, "remedy", finding->remedy);
}

static json_t *part_to_json(const struct diagnosis_part *part)
{
	json_t *findings = json_array();

	for (size_t i = 0; findings && i < part->findings.count; i++) {
		if (json_array_append_new(findings, finding_to_json(&part->findings.items[i]))) {
			json_decref(findings);
			return NULL;
		}
	}
	return json_pack("{s:s, s:s, s:o}", "kind", part->kind, "id", part->id, "findings",
			 findings);
}

bool diagnosis_print_json(const struct diagnosis *diagnosis, const char *version, FILE *to)
{
	json_t *parts = json_array(), *root;
	bool done;

	for (size_t i = 0; parts && i < diagnosis->parts.count; i++) {
		if (json_array_append_new(parts, part_to_json(&diagnosis->parts.items[i]))) {
			json_decref(parts);
			parts = NULL;
		}
	}
	root = json_pack("{s:s, s:b, s:I, s:I, s:o}", "version", version, "ok",
			 diagnosis_is_good(diagnosis), "missing",
			 (json_int_t)diagnosis_count(diagnosis, PROFCOL_MISSING), "lacking",
			 (json_int_t)diagnosis_count(diagnosis, PROFCOL_LACKING), "parts", parts);
	done = root && !json_dumpf(root, to, JSON_INDENT(2));
	json_decref(root);
	fputc('\n', to);
	return done;
}

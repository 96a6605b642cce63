// SPDX-License-Identifier: Apache-2.0
#include "status.h"

#include "flame/flame.h"

#include <profcol/component.h>

#include <inttypes.h>
#include <string.h>

static void write_text(FILE *stream, const char *text)
{
	flame_write_json_text(stream, text, strlen(text));
}

static void write_kinds(const struct history *history, FILE *stream)
{
	size_t count = history_kind_count(history);

	fputs(",\"kinds\":[", stream);
	for (size_t i = 0; i < count; i++) {
		struct history_kind kind = history_kind(history, i);

		fputs(i ? ",{\"type\":" : "{\"type\":", stream);
		write_text(stream, kind.type);
		fputs(",\"unit\":", stream);
		write_text(stream, kind.unit);
		fprintf(stream, ",\"value\":%" PRId64 "}", kind.value);
	}
	putc(']', stream);
}

static void write_keys(const struct history *history, FILE *stream)
{
	const char *keys[HISTORY_KEYS_MAX];
	size_t count = history_keys(history, keys);

	fputs(",\"keys\":[", stream);
	for (size_t i = 0; i < count; i++) {
		if (i)
			putc(',', stream);
		write_text(stream, keys[i]);
	}
	putc(']', stream);
}

struct accounts {
	FILE *stream;
	const char *separator;
};

static void write_account(void *context, const char *kind, const char *id,
			  enum profcol_outcome outcome, const char *cause, uint64_t samples)
{
	static const char *const outcomes[] = {
		[PROFCOL_TAKEN] = "taken",       [PROFCOL_EXPORTED] = "exported",
		[PROFCOL_FILTERED] = "filtered", [PROFCOL_LOST] = "lost",
		[PROFCOL_STORED] = "stored",
	};
	struct accounts *accounts = context;

	fprintf(accounts->stream, "%s{\"kind\":", accounts->separator);
	write_text(accounts->stream, kind);
	fputs(",\"id\":", accounts->stream);
	write_text(accounts->stream, id);
	fprintf(accounts->stream, ",\"outcome\":\"%s\",\"cause\":", outcomes[outcome]);
	write_text(accounts->stream, cause ? cause : "");
	fprintf(accounts->stream, ",\"samples\":%" PRIu64 "}", samples);
	accounts->separator = ",";
}

void status_write(const struct answer_context *context, FILE *stream)
{
	struct history_figures figures = history_figures(context->history);
	struct accounts accounts = { stream, "" };

	fputs("{\"format\":1,\"version\":", stream);
	write_text(stream, context->version);
	fprintf(stream,
		",\"now\":%" PRIu64 ",\"from\":%" PRIu64 ",\"to\":%" PRIu64
		",\"retention_ms\":%" PRIu64 ",\"memory\":%" PRIu64 ",\"memory_max\":%" PRIu64
		",\"slices\":%" PRIu64 ",\"samples\":{\"kept\":%" PRIu64 ",\"expired\":%" PRIu64
		",\"evicted\":%" PRIu64 ",\"refused\":%" PRIu64 "}",
		context->now_unix_ns / 1000000, figures.begin_ns / 1000000,
		figures.end_ns / 1000000, context->retention_ns / 1000000, figures.memory_bytes,
		context->memory_bytes, figures.slices, figures.samples, figures.expired_samples,
		figures.evicted_samples, context->refused_samples);
	write_kinds(context->history, stream);
	write_keys(context->history, stream);
	fputs(",\"account\":[", stream);
	context->host->visit_accounts(context->host, write_account, &accounts);
	fputs("]}\n", stream);
}

/* SIZE_MAX: none of that name. */
static size_t find_kind(const struct history *history, const struct parameters *parameters)
{
	size_t count = history_kind_count(history);

	for (size_t i = 0; i < count; i++) {
		struct history_kind kind = history_kind(history, i);

		if ((!parameters->type || !strcmp(parameters->type, kind.type)) &&
		    (!parameters->unit || !strcmp(parameters->unit, kind.unit)))
			return i;
	}
	return SIZE_MAX;
}

void status_write_load(const struct answer_context *context, const struct parameters *parameters,
		       FILE *stream)
{
	const struct history *history = context->history;
	size_t kind = find_kind(history, parameters);
	size_t count = kind == SIZE_MAX ? 0 : history_slice_count(history);
	struct history_kind name =
		count ? history_kind(history, kind) : (struct history_kind){ "", "", 0 };

	fputs("{\"format\":1,\"type\":", stream);
	write_text(stream, name.type);
	fputs(",\"unit\":", stream);
	write_text(stream, name.unit);
	fputs(",\"slices\":[", stream);
	for (size_t i = 0; i < count; i++) {
		struct history_load load = history_slice_load(history, i, kind);

		fprintf(stream, "%s[%" PRIu64 ",%" PRIu64 ",%" PRId64 "]", i ? "," : "",
			load.range.from_ns / 1000000, load.range.to_ns / 1000000, load.value);
	}
	fputs("]}\n", stream);
}

// SPDX-License-Identifier: Apache-2.0
#include "diagnosis.h"

#include <string.h>
#include <unistd.h>

/* What machines say need not be text: names of mounts, links, messages of the kernel. */
static const char *keep(struct diagnosis *diagnosis, const char *text)
{
	size_t length = text ? strlen(text) : 0;
	char *copy = arena_alloc(diagnosis->memory, length + 1);

	if (!copy) {
		diagnosis->no_memory = true;
		return "";
	}
	strings_sanitize_utf8(copy, text ? text : "", length);
	return copy;
}

static void diagnosis_add(struct profcol_findings *findings, const struct profcol_finding *finding)
{
	struct diagnosis *diagnosis = (struct diagnosis *)findings;
	struct diagnosis_part *part;
	const struct profcol_finding copy = {
		.subject = keep(diagnosis, finding->subject),
		.verdict = finding->verdict,
		.detail = keep(diagnosis, finding->detail),
		.effect = keep(diagnosis, finding->effect),
		.remedy = keep(diagnosis, finding->remedy),
	};

	if (!diagnosis->parts.count)
		return;
	part = &diagnosis->parts.items[diagnosis->parts.count - 1];
	if (!VECTOR_PUSH(&part->findings, copy))
		diagnosis->no_memory = true;
}

/* ---- what only one can have ---- */

/* The last part's name in a sentence. */
static const char *claimer(struct diagnosis *diagnosis)
{
	const struct diagnosis_part *part;
	const char *text;

	if (!diagnosis->parts.count)
		return "";
	part = &diagnosis->parts.items[diagnosis->parts.count - 1];
	if (!part->id[0])
		return "service::telemetry";
	text = arena_printf(diagnosis->memory, "%s %s", part->kind, part->id);
	diagnosis->no_memory |= !text;
	return text ? text : "";
}

static const char *diagnosis_claim(struct profcol_findings *findings, const char *what)
{
	struct diagnosis *diagnosis = (struct diagnosis *)findings;
	struct diagnosis_claim claim;

	for (size_t i = 0; i < diagnosis->claims.count; i++)
		if (strcmp(diagnosis->claims.items[i].what, what) == 0)
			return diagnosis->claims.items[i].owner;
	claim = (struct diagnosis_claim){
		.what = keep(diagnosis, what),
		.owner = claimer(diagnosis),
	};
	if (!VECTOR_PUSH(&diagnosis->claims, claim))
		diagnosis->no_memory = true;
	return NULL;
}

static void diagnosis_hold(struct profcol_findings *findings, int fd)
{
	struct diagnosis *diagnosis = (struct diagnosis *)findings;

	if (fd < 0 || VECTOR_PUSH(&diagnosis->held, fd))
		return;
	diagnosis->no_memory = true;
	close(fd);
}

/* The same address in two places: who has it is easier to mend than "Address already in use". */
static struct profcol_error *claim_address(struct profcol_findings *findings, const char *endpoint)
{
	const char *port = strrchr(endpoint, ':');
	CLEANUP_FREE char *what = NULL;

	if (port && strcmp(port, ":0") == 0)
		return NULL;
	if (asprintf(&what, "address '%s'", endpoint) < 0) {
		what = NULL;
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	}
	return profcol_error_prefix(findings_claim(findings, what, "choose another one"),
				    "endpoint");
}

static struct profcol_error *diagnosis_try_http(struct profcol_findings *findings,
						const struct profcol_http_settings *settings)
{
	struct diagnosis *diagnosis = (struct diagnosis *)findings;
	struct profcol_error *error = claim_address(findings, settings->endpoint);

	return error ? error : doctor_http_try(&diagnosis->http, settings);
}

/* ---- parts ---- */

bool diagnosis_init(struct diagnosis *diagnosis)
{
	*diagnosis = (struct diagnosis){
		.base = {
			.add = diagnosis_add,
			.try_http = diagnosis_try_http,
			.claim = diagnosis_claim,
			.hold = diagnosis_hold,
		},
		.memory = arena_create(0),
	};
	return diagnosis->memory;
}

void diagnosis_deinit(struct diagnosis *diagnosis)
{
	for (size_t i = 0; i < diagnosis->parts.count; i++)
		VECTOR_DEINIT(&diagnosis->parts.items[i].findings);
	VECTOR_DEINIT(&diagnosis->parts);
	VECTOR_DEINIT(&diagnosis->claims);
	for (size_t i = 0; i < diagnosis->held.count; i++)
		close(diagnosis->held.items[i]);
	VECTOR_DEINIT(&diagnosis->held);
	doctor_http_deinit(&diagnosis->http);
	arena_destroy(diagnosis->memory);
}

void diagnosis_begin(struct diagnosis *diagnosis, const char *kind, const char *id)
{
	struct diagnosis_part part = {
		.kind = keep(diagnosis, kind),
		.id = keep(diagnosis, id),
	};

	if (!VECTOR_PUSH(&diagnosis->parts, part))
		diagnosis->no_memory = true;
}

size_t diagnosis_count(const struct diagnosis *diagnosis, enum profcol_verdict verdict)
{
	size_t count = 0;

	for (size_t i = 0; i < diagnosis->parts.count; i++) {
		const struct diagnosis_part *part = &diagnosis->parts.items[i];

		for (size_t j = 0; j < part->findings.count; j++)
			count += part->findings.items[j].verdict == verdict;
	}
	return count;
}

bool diagnosis_is_good(const struct diagnosis *diagnosis)
{
	return !diagnosis->no_memory && !diagnosis_count(diagnosis, PROFCOL_MISSING);
}

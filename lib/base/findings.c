// SPDX-License-Identifier: Apache-2.0
#include "findings.h"

#include "cleanup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void findings_add_fine(struct profcol_findings *findings, const char *subject, const char *format,
		       ...)
{
	char detail[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(detail, sizeof(detail), format, arguments);
	va_end(arguments);
	findings->add(findings, &(struct profcol_finding){
					.subject = subject,
					.verdict = PROFCOL_FINE,
					.detail = detail,
					.effect = "",
					.remedy = "",
				});
}

/* One line of an error. False without memory. */
static bool add_line(struct profcol_findings *findings, const struct profcol_finding *like,
		     const char *line, size_t length)
{
	CLEANUP_FREE char *detail = strndup(line, length);
	struct profcol_finding finding = *like;
	char *separator;

	if (!detail)
		return false;
	separator = strstr(detail, "; ");
	if (separator)
		*separator = '\0';
	finding.detail = detail;
	finding.remedy = separator ? separator + 2 : "";
	findings->add(findings, &finding);
	return true;
}

void findings_add_error(struct profcol_findings *findings, const char *subject,
			enum profcol_verdict verdict, const char *effect,
			struct profcol_error *error)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *owned = error;
	const char *text = profcol_error_message(owned);
	struct profcol_finding finding = {
		.subject = subject,
		.verdict = verdict,
		.detail = text,
		.effect = effect,
		.remedy = "",
	};
	bool added = true;

	while (*text && added) {
		size_t length = strcspn(text, "\n");

		if (length)
			added = add_line(findings, &finding, text, length);
		text += length + (text[length] == '\n');
	}
	if (!added)
		findings->add(findings, &finding);
}

struct profcol_error *findings_claim(struct profcol_findings *findings, const char *what,
				     const char *remedy)
{
	const char *owner = findings->claim ? findings->claim(findings, what) : NULL;

	if (!owner)
		return NULL;
	return profcol_error_create(PROFCOL_REJECTED,
				    "%s is taken by %s of the same "
				    "configuration; %s",
				    what, owner, remedy);
}

void findings_hold(struct profcol_findings *findings, int fd)
{
	if (findings->hold)
		findings->hold(findings, fd);
	else
		cleanup_fd(&fd);
}

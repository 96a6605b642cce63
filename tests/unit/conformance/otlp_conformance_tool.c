// SPDX-License-Identifier: Apache-2.0
// otlp_conformance [--recommended] [--ignore RULE]... FILE...: requests, raw or each behind its
// length in 4 bytes, big-endian. Exits with 0 when all keep the rules, 1 when not, 2 when it
// cannot tell.
#include "otlp_conformance.h"

#include "base/base.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 30, LENGTH_BYTES = 4, KEPT = 0, BROKEN = 1, UNKNOWN = 2 };

static size_t frame_length(const uint8_t *bytes)
{
	return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

/* Do frames fill the file to its last byte? */
static bool is_framed(const uint8_t *bytes, size_t length)
{
	size_t at = 0;

	while (length - at >= LENGTH_BYTES) {
		size_t frame = frame_length(bytes + at);

		at += LENGTH_BYTES;
		if (frame > length - at)
			return false;
		at += frame;
	}
	return length && at == length;
}

static int check_request(struct conformance *conformance, const char *path, size_t number,
			 const uint8_t *bytes, size_t length)
{
	size_t before = conformance->violations;

	if (!otlp_conformance_check(conformance, bytes, length)) {
		fprintf(stderr, "%s: request %zu is not a request\n", path, number);
		return UNKNOWN;
	}
	printf("%s: request %zu: %zu bytes, %zu violations\n", path, number, length,
	       conformance->violations - before);
	return conformance->violations > before ? BROKEN : KEPT;
}

static int check_file(struct conformance *conformance, const char *path)
{
	CLEANUP_FREE char *file = NULL;
	const uint8_t *bytes;
	int worst = KEPT;
	size_t length;

	if (file_read(AT_FDCWD, path, MAX_FILE_BYTES, &file, &length) < 0) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return UNKNOWN;
	}
	bytes = (const uint8_t *)file;
	if (!is_framed(bytes, length))
		return check_request(conformance, path, 0, bytes, length);
	for (size_t at = 0, number = 0; at < length; number++) {
		size_t frame = frame_length(bytes + at);
		int verdict =
			check_request(conformance, path, number, bytes + at + LENGTH_BYTES, frame);

		worst = verdict > worst ? verdict : worst;
		at += LENGTH_BYTES + frame;
	}
	return worst;
}

static int usage(void)
{
	fprintf(stderr, "usage: otlp_conformance [--recommended] [--ignore RULE]... FILE...\n\n");
	for (int rule = 1; rule < RULES; rule++)
		fprintf(stderr, "%4d  %s%s\n", rule,
			otlp_conformance_rule((enum conformance_rule)rule),
			RULES_RECOMMENDED & RULE_BIT(rule) ? " (--recommended)" : "");
	return UNKNOWN;
}

int main(int argc, char **argv)
{
	struct conformance conformance = { .ignored = RULES_RECOMMENDED, .stream = stdout };
	int worst = KEPT, i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		int rule;

		if (!strcmp(argv[i], "--recommended")) {
			conformance.ignored &= ~RULES_RECOMMENDED;
			continue;
		}
		if (strcmp(argv[i], "--ignore") || ++i == argc)
			return usage();
		rule = atoi(argv[i]);
		if (rule < 1 || rule >= RULES)
			return usage();
		conformance.ignored |= RULE_BIT(rule);
	}
	if (i == argc)
		return usage();
	for (; i < argc; i++) {
		int verdict = check_file(&conformance, argv[i]);

		worst = verdict > worst ? verdict : worst;
	}
	return worst;
}

// SPDX-License-Identifier: Apache-2.0
#include "naming.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TEMPORARY_DIGITS = 16 };

bool naming_prefix_is_valid(const char *prefix)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(prefix);

	return length >= 1 && length <= NAMING_PREFIX_MAX && prefix[0] != '.' &&
	       strspn(prefix, allowed) == length;
}

void naming_format(char name[NAMING_MAX], const char *prefix, uint64_t start_unix_ms,
		   unsigned int ordinal, enum naming_form form)
{
	static const char *const endings[] = {
		[NAMING_PPROF_GZIP] = ".pb.gz",
		[NAMING_PPROF] = ".pb",
		[NAMING_FOLDED] = ".folded",
	};
	time_t seconds = (time_t)(start_unix_ms / 1000);
	char stamp[32] = "", number[16] = "";
	struct tm utc;

	if (gmtime_r(&seconds, &utc))
		strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &utc);
	if (ordinal)
		snprintf(number, sizeof(number), "-%u", ordinal);
	snprintf(name, NAMING_MAX, "%.*s-%s.%03uZ%s%s", NAMING_PREFIX_MAX, prefix, stamp,
		 (unsigned int)(start_unix_ms % 1000), number, endings[form]);
}

/* What follows @prefix and '-', or NULL. */
static const char *naming_after_prefix(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);

	if (strncmp(name, prefix, length) || name[length] != '-')
		return NULL;
	return name + length + 1;
}

bool naming_parse(const char *name, const char *prefix, uint64_t *start_unix_ms_ret,
		  unsigned int *ordinal_ret)
{
	const char *rest = naming_after_prefix(name, prefix);
	unsigned int milliseconds = 0, ordinal = 0;
	char expected[NAMING_MAX];
	struct tm utc = { 0 };
	uint64_t start_ms;
	time_t seconds;
	int end = 0;

	// The scan is lenient; writing the result out again decides.
	if (!rest ||
	    sscanf(rest, "%4d%2d%2dT%2d%2d%2d.%3uZ%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
		   &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &milliseconds, &end) != 7 ||
	    !end)
		return false;
	if (rest[end] == '-' && sscanf(rest + end, "-%9u", &ordinal) != 1)
		return false;
	utc.tm_year -= 1900;
	utc.tm_mon -= 1;
	seconds = timegm(&utc);
	if (seconds < 0)
		return false;
	start_ms = (uint64_t)seconds * 1000 + milliseconds;
	for (enum naming_form form = 0; form < NAMING_FORMS; form++) {
		naming_format(expected, prefix, start_ms, ordinal, form);
		if (strcmp(name, expected))
			continue;
		*start_unix_ms_ret = start_ms;
		*ordinal_ret = ordinal;
		return true;
	}
	return false;
}

void naming_format_temporary(char name[NAMING_MAX], const char *prefix, uint64_t random)
{
	snprintf(name, NAMING_MAX, ".%.*s-%016llx.tmp", NAMING_PREFIX_MAX, prefix,
		 (unsigned long long)random);
}

bool naming_is_temporary(const char *name, const char *prefix)
{
	const char *rest = name[0] == '.' ? naming_after_prefix(name + 1, prefix) : NULL;

	return rest && strspn(rest, "0123456789abcdef") == TEMPORARY_DIGITS &&
	       !strcmp(rest + TEMPORARY_DIGITS, ".tmp");
}

// SPDX-License-Identifier: Apache-2.0
#include "go_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Append @fraction, of which @digits make a whole, to the @length bytes at @to: ".5", or nothing
 * for 0. Returns the new length.
 */
static size_t add_fraction(char to[static GO_TEXT_MAX], size_t length, uint64_t fraction,
			   int digits)
{
	if (!fraction)
		return length;
	length += (size_t)snprintf(to + length, GO_TEXT_MAX - length, ".%0*" PRIu64, digits,
				   fraction);
	while (to[length - 1] == '0')
		length--;
	to[length] = '\0';
	return length;
}

void go_text_time(uint64_t unix_ns, char to[static GO_TEXT_MAX])
{
	time_t seconds = (time_t)(unix_ns / 1000000000u);
	struct tm local = { 0 };
	long offset, minutes;
	size_t length;

	// The zero value of Go's type is the year 1.
	if (!unix_ns || !localtime_r(&seconds, &local)) {
		snprintf(to, GO_TEXT_MAX, "0001-01-01T00:00:00Z");
		return;
	}
	length = strftime(to, GO_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &local);
	length = add_fraction(to, length, unix_ns % 1000000000u, 9);
	offset = local.tm_gmtoff;
	minutes = labs(offset) / 60;
	if (offset)
		snprintf(to + length, GO_TEXT_MAX - length, "%c%02ld:%02ld", offset < 0 ? '-' : '+',
			 minutes / 60, minutes % 60);
	else
		snprintf(to + length, GO_TEXT_MAX - length, "Z");
}

/* Less than a second: in the largest unit that has a whole part. */
static void print_short(uint64_t ns, char to[static GO_TEXT_MAX])
{
	uint64_t unit = ns >= 1000000 ? 1000000 : ns >= 1000 ? 1000 : 1;
	const char *name = ns >= 1000000 ? "ms" : ns >= 1000 ? "\302\265s" : "ns";
	size_t length;

	length = (size_t)snprintf(to, GO_TEXT_MAX, "%" PRIu64, ns / unit);
	length = add_fraction(to, length, ns % unit, unit == 1000000 ? 6 : 3);
	snprintf(to + length, GO_TEXT_MAX - length, "%s", name);
}

void go_text_duration(uint64_t ns, char to[static GO_TEXT_MAX])
{
	uint64_t seconds = ns / 1000000000u, minutes = seconds / 60, hours = minutes / 60;
	size_t length = 0;

	if (ns && ns < 1000000000u) {
		print_short(ns, to);
		return;
	}
	if (hours)
		length += (size_t)snprintf(to, GO_TEXT_MAX, "%" PRIu64 "h", hours);
	if (minutes)
		length += (size_t)snprintf(to + length, GO_TEXT_MAX - length, "%" PRIu64 "m",
					   minutes % 60);
	length += (size_t)snprintf(to + length, GO_TEXT_MAX - length, "%" PRIu64, seconds % 60);
	length = add_fraction(to, length, ns % 1000000000u, 9);
	snprintf(to + length, GO_TEXT_MAX - length, "s");
}

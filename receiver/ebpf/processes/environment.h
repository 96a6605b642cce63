/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the environment of a process says about it, as attributes.
 *
 * OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES (OpenTelemetry specification,
 * "Resource SDK" and "Environment Variable Specification"), and the variables that
 * the user asks for. The process chooses every byte: nothing is trusted, the size of
 * the result is bounded, and what the kernel or the platform vouches for (its number, its
 * program, container, pod, machine and cloud: cloud.*, container.*, cpu.*, host.*, k8s.*,
 * process.*, thread.*) cannot be set here. Control characters are replaced. Pure; any thread.
 */
#pragma once

#include <profcol/options.h>

enum {
	ENVIRONMENT_MAX_BYTES = 4096, /* of all keys and values, with their NULs */
	ENVIRONMENT_MAX_KEY = 255,    /* a longer key is passed over */
	ENVIRONMENT_MAX_VALUE = 1024, /* a longer value is cut */
};

struct environment_attributes {
	char bytes[ENVIRONMENT_MAX_BYTES]; /* key, NUL, value, NUL, ...; UTF-8, each key once */
	size_t length;
	bool malformed; /* OTEL_RESOURCE_ATTRIBUTES is, and was passed over as a whole */
	size_t claims;  /* attributes passed over since they are not for the process to say */
};

/*
 * Read @text, the @length bytes of /proc/PID/environ (proc(5)); a last entry without NUL was cut
 * off and is passed over. @variables are given as process.environment_variable.NAME. What finds
 * no room in @ret is left out.
 */
void environment_parse(const char *text, size_t length, const struct profcol_list *variables,
		       struct environment_attributes *ret);

// SPDX-License-Identifier: Apache-2.0
#include "libbpf_messages.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The first warning names the cause; the ones after it repeat it level by level. */
static _Thread_local char first_warning[512];

static int keep_message(enum libbpf_print_level level, const char *format, va_list arguments)
{
	if (level == LIBBPF_WARN && !first_warning[0]) {
		vsnprintf(first_warning, sizeof(first_warning), format, arguments);
		first_warning[strcspn(first_warning, "\n")] = '\0';
	}
	return 0;
}

void libbpf_messages_capture(void)
{
	libbpf_set_print(keep_message);
	first_warning[0] = '\0';
}

static const char *remedy(int errnum)
{
	if (errnum == EPERM)
		return "; grant CAP_BPF and CAP_PERFMON, and on kernels before 5.11 raise the "
		       "memlock limit (ulimit -l unlimited)";
	if (errnum == ENOMEM)
		return "; raise the memory limit of the container or, on kernels before 5.11, "
		       "the memlock limit";
	if (errnum == EMFILE || errnum == ENFILE)
		return "; raise the limit on open files";
	return "";
}

struct profcol_error *libbpf_messages_error(int errnum, const char *format, ...)
{
	struct profcol_error *error;
	char context[128], text[128];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(context, sizeof(context), format, arguments);
	va_end(arguments);
	error = profcol_error_create(errnum == ENOMEM ? PROFCOL_NO_MEMORY : PROFCOL_SYSTEM,
				     "%s: %s%s%s%s", context,
				     strerror_r(errnum, text, sizeof(text)),
				     first_warning[0] ? ": " : "", first_warning, remedy(errnum));
	first_warning[0] = '\0';
	return error;
}

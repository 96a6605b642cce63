// SPDX-License-Identifier: Apache-2.0
#include "connect_fault.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Of the kernel; there is no number above. */
enum { ERRNO_MAX = 4095 };

/* What connect(2), tcp(7) and ip(7) name, and what routes, filters and security modules answer. */
static bool errno_is_of_connect(int error)
{
	static const int known[] = {
		EACCES,      EPERM,        EADDRINUSE,      EADDRNOTAVAIL, EAFNOSUPPORT, EAGAIN,
		EALREADY,    EBADF,        ECONNREFUSED,    ECONNRESET,    ECONNABORTED, EFAULT,
		EHOSTDOWN,   EHOSTUNREACH, EINPROGRESS,     EINTR,         EINVAL,       EISCONN,
		ENETDOWN,    ENETRESET,    ENETUNREACH,     ENOBUFS,       ENOMEM,       ENONET,
		ENOPROTOOPT, ENOTSOCK,     EPROTONOSUPPORT, EPROTOTYPE,    EPIPE,        ETIMEDOUT,
		EIO,         EPROTO,       EOPNOTSUPP,
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] == error)
			return true;
	return false;
}

/* 0 when @text describes none. */
static int errno_of_text(const char *text)
{
	for (int error = 1; error <= ERRNO_MAX; error++) {
		const char *description = strerrordesc_np(error);

		if (description && !strcmp(description, text))
			return error;
	}
	return 0;
}

bool connect_fault_is_false(const char *said)
{
	// A failure that came later has "Failed to connect to remote host" before its errno, and
	// that one is right.
	static const char before[] = "last error: UNKNOWN: ipv";
	const char *address = strstr(said, before), *reason;
	int error;

	if (!address)
		return false;
	reason = strstr(address + strlen(before), ": ");
	if (!reason)
		return false;
	error = errno_of_text(reason + strlen(": "));
	return error && !errno_is_of_connect(error);
}

// SPDX-License-Identifier: Apache-2.0
#include "http_head.h"

#include "base/base.h"

#include <stdio.h>
#include <time.h>

const char *http_status_reason(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{ 200, "OK" },
		{ 204, "No Content" },
		{ 301, "Moved Permanently" },
		{ 302, "Found" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 408, "Request Timeout" },
		{ 413, "Content Too Large" },
		{ 414, "URI Too Long" },
		{ 415, "Unsupported Media Type" },
		{ 421, "Misdirected Request" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "";
}

void http_date_print(char to[static HTTP_DATE_SIZE])
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	time_t now = (time_t)(clock_realtime_ns() / 1000000000u);
	struct tm parts = { 0 };

	gmtime_r(&now, &parts);
	snprintf(to, HTTP_DATE_SIZE, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[parts.tm_wday % 7],
		 parts.tm_mday, months[parts.tm_mon % 12], parts.tm_year + 1900, parts.tm_hour,
		 parts.tm_min, parts.tm_sec);
}

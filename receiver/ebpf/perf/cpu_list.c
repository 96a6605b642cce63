// SPDX-License-Identifier: Apache-2.0
#include "cpu_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>

/* A decimal number below CPU_LIST_MAX at *@text, which moves behind it. */
static bool take_number(const char **text, uint32_t *ret)
{
	const char *at = *text;
	uint32_t number = 0;

	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		number = number * 10 + (uint32_t)(*at - '0');
		if (number >= CPU_LIST_MAX)
			return false;
	}
	*text = at;
	*ret = number;
	return true;
}

/* "5" or "8-11", all of it above @least. */
static int take_range(struct cpu_list *list, const char **text, uint32_t least)
{
	uint32_t first, last;

	if (!take_number(text, &first) || first < least)
		return -EINVAL;
	last = first;
	if (**text == '-') {
		++*text;
		if (!take_number(text, &last) || last < first)
			return -EINVAL;
	}
	for (uint32_t cpu = first; cpu <= last; cpu++)
		if (!VECTOR_PUSH(&list->cpus, cpu))
			return -ENOMEM;
	return 0;
}

int cpu_list_parse(struct cpu_list *list, const char *text)
{
	uint32_t least = 0;

	list->cpus.count = 0;
	if (!*text || *text == '\n')
		return 0;
	for (;;) {
		int status = take_range(list, &text, least);

		if (status)
			return status;
		least = list->cpus.items[list->cpus.count - 1] + 1;
		if (*text != ',')
			break;
		text++;
	}
	return !*text || (text[0] == '\n' && !text[1]) ? 0 : -EINVAL;
}

int cpu_list_read(struct cpu_list *list, const char *path)
{
	enum { MAX_BYTES = 1 << 20 };
	CLEANUP_FREE char *text = NULL;
	int status = file_read(AT_FDCWD, path, MAX_BYTES, &text, NULL);

	return status ? status : cpu_list_parse(list, text);
}

void cpu_list_deinit(struct cpu_list *list)
{
	VECTOR_DEINIT(&list->cpus);
}

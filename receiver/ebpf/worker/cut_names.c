// SPDX-License-Identifier: Apache-2.0
#include "cut_names.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

void cut_name_mark(char *name, size_t length, const char *whole, size_t whole_bytes)
{
	char mark[CUT_NAME_MARK + 1];

	snprintf(mark, sizeof(mark), "...#%08x", (unsigned int)intern_hash(whole, whole_bytes));
	memcpy(name + length - CUT_NAME_MARK, mark, CUT_NAME_MARK);
}

// SPDX-License-Identifier: Apache-2.0
#include "opener.h"
#include "processes.h"

int processes_recall_file(int fd, struct stat *ret)
{
	return opener_recall(fd, ret);
}

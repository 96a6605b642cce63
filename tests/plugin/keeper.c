// SPDX-License-Identifier: Apache-2.0
/* Opens a file as soon as it is loaded, as a library with a state of its own may do. */
#include <profcol/plugin.h>

#include <fcntl.h>

static int kept = -1;

__attribute__((constructor)) static void keep_at_load(void)
{
	kept = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Returns how many descriptors are open that nobody has use for; 100 if the file is not. */
static int keeper_helper(int socket)
{
	int strangers = 0;

	if (fcntl(kept, F_GETFD) < 0)
		return 100;
	for (int fd = 3; fd < 1024; fd++)
		strangers += fd != socket && fd != kept && fcntl(fd, F_GETFD) >= 0;
	return strangers;
}

static const struct profcol_option options[] = { PROFCOL_OPTION_END };

static struct profcol_error *keeper_create(const struct profcol_host *host, const void *config,
					   void **ret)
{
	(void)host;
	(void)config;
	*ret = NULL;
	return NULL;
}

static const struct profcol_component component = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXTENSION,
	.type = "keeper",
	.summary = "keeps a file open",
	.options = options,
	.config_size = 1,
	.create = keeper_create,
	.helper = keeper_helper,
};

PROFCOL_PLUGIN(&component);

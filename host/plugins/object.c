// SPDX-License-Identifier: Apache-2.0
#include "object.h"

#include "note.h"

#include "base/base.h"

#include <profcol_build.h>

#include <dlfcn.h>
#include <string.h>

const char *object_build(void)
{
	return PROFCOL_BUILD;
}

/* What the loader says, without the path that only we know the meaning of. */
static const char *loader_message(const char *path)
{
	const char *message = dlerror();
	size_t length = strlen(path);

	if (!message)
		return "the loader gives no reason";
	if (strncmp(message, path, length) == 0 && strncmp(message + length, ": ", 2) == 0)
		return message + length + 2;
	return message;
}

static struct profcol_error *check_note(int fd, struct profcol_plugin_abi *ret)
{
	struct profcol_error *error = note_read(fd, ret);

	return error ? error : note_check(ret, object_build());
}

struct profcol_error *object_load(int fd, const struct profcol_plugin **ret)
{
	CLEANUP_FD int file = fd;
	const struct profcol_plugin *plugin;
	struct profcol_plugin_abi abi;
	struct profcol_error *error;
	char path[32];
	void *handle;

	error = check_note(file, &abi);
	if (error)
		return error;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return profcol_error_create(PROFCOL_UNSUPPORTED, "it cannot be loaded: %s",
					    loader_message(path));
	(void)TAKE_FD(file);
	plugin = dlsym(handle, "profcol_plugin");
	if (!plugin)
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "it does not export 'profcol_plugin', as "
					    "PROFCOL_PLUGIN() of <profcol/plugin.h> does");
	if (memcmp(&plugin->abi, &abi, sizeof(abi)) != 0)
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "its note and its 'profcol_plugin' say different "
					    "things; one PROFCOL_PLUGIN() is the rule");
	*ret = plugin;
	return NULL;
}

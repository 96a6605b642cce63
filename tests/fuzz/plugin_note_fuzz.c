// SPDX-License-Identifier: Apache-2.0
/* A file that says it is a plugin, up to where it would be loaded. */
#include "host/plugins/note.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static int file = -1;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct profcol_plugin_abi abi;

	if (file < 0)
		file = memfd_create("plugin", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, bytes, size, 0) != (ssize_t)size)
		abort();
	error = note_read(file, &abi);
	if (!error)
		error = note_check(&abi, "0123456789abcdef0123456789abcdef");
	// What fits is of our sizes, and its build is a text.
	if (!error && (abi.component_size > sizeof(struct profcol_component) ||
		       strnlen(abi.build, sizeof(abi.build)) == sizeof(abi.build)))
		abort();
	return 0;
}

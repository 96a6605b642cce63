/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel modules as /proc/modules and /sys/module tell of them. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { KERNEL_MODULE_NAME = 64 /* with NUL; the kernel has 56 */, KERNEL_BUILD_ID_HEX = 129 };

struct kernel_module_place {
	char name[KERNEL_MODULE_NAME];
	uint64_t start; /* of its text; 0 when the kernel hides it */
	uint64_t size;  /* bytes, of all its parts */
};

/* Call @each for every module loaded. 0 or a negative errno; -ENOENT: a kernel without modules. */
int kernel_modules_list(const char *root,
			void (*each)(void *context, const struct kernel_module_place *place),
			void *context);

/* A number that differs when modules have come, gone or moved. */
uint64_t kernel_modules_fingerprint(const char *root);

/* The GNU build id of module @name, or of the kernel for NULL, as lower-case hex; "" if unknown. */
void kernel_modules_build_id(const char *root, const char *name, char ret[KERNEL_BUILD_ID_HEX]);

/*
 * What stands for the hash of its file, which need not be anywhere on this machine: FNV-1a of 128
 * bits over the digits of the build id, as the OpenTelemetry eBPF profiler has it, so that both
 * name a kernel alike. "" for a build id too short to tell kernels apart.
 */
enum { KERNEL_HTLHASH_HEX = 33 };
void kernel_modules_htlhash(const char *build_id, char ret[KERNEL_HTLHASH_HEX]);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin: components in a shared object of their own, which the program loads from a
 * directory of `service.plugins` (docs/plugins.md). One of its sources says
 *
 *   PROFCOL_PLUGIN(&my_processor, &my_exporter);
 *
 * It is compiled against these headers alone and linked against nothing of profcol's: what
 * <profcol/errors.h> and <profcol/batch.h> declare, the program provides when it loads it.
 *
 * Before any of its code runs, the program reads from a note in the file what it was built for,
 * and refuses what does not fit. Within one PROFCOL_ABI, the structures that <profcol/component.h>
 * lists there may grow at their ends, all others stay as they are: a plugin that was built with
 * older headers fits, one built with newer ones does not.
 */
#pragma once

#include <profcol/component.h>

#include <stdint.h>

#define PROFCOL_PLUGIN_NOTE      1 /* type of the note; its name is "profcol" */
#define PROFCOL_PLUGIN_BUILD_MAX 36

/* What a plugin was built for, in the byte order of the machine; the contents of the note. */
struct profcol_plugin_abi {
	uint32_t abi;            /* PROFCOL_ABI */
	uint32_t size;           /* sizeof(struct profcol_plugin) */
	uint32_t component_size; /* sizeof(struct profcol_component) */
	uint32_t host_size;      /* sizeof(struct profcol_host) */
	uint32_t option_size;    /* sizeof(struct profcol_option); tables are arrays: has to be
				  * the program's */
	/*
	 * "", or the build of profcol that it shares private code with: such a plugin fits the
	 * program of the same build only. NUL-terminated.
	 */
	char build[PROFCOL_PLUGIN_BUILD_MAX];
};

/* The symbol `profcol_plugin` of a plugin. Constant; borrowed until the process ends. */
struct profcol_plugin {
	struct profcol_plugin_abi abi; /* as in the note */
	uint32_t count;
	const struct profcol_component *const *components;
};

struct profcol_plugin_note {
	uint32_t name_size, description_size, type;
	char name[sizeof("profcol")]; /* 8 bytes: what follows needs no padding */
	struct profcol_plugin_abi abi;
};

#ifndef PROFCOL_PLUGIN_BUILD
#define PROFCOL_PLUGIN_BUILD ""
#endif

#define PROFCOL_PLUGIN_ABI                                                                         \
	{ .abi = PROFCOL_ABI,                                                                      \
	  .size = sizeof(struct profcol_plugin),                                                   \
	  .component_size = sizeof(struct profcol_component),                                      \
	  .host_size = sizeof(struct profcol_host),                                                \
	  .option_size = sizeof(struct profcol_option),                                            \
	  .build = PROFCOL_PLUGIN_BUILD }

#ifdef __clang__
#define PROFCOL_PLUGIN_UNPADDED no_sanitize("address"), /* which would pad a note */
#else
#define PROFCOL_PLUGIN_UNPADDED
#endif

#define PROFCOL_PLUGIN(...)                                                                        \
	static const struct profcol_component *const profcol_plugin_components[] = {               \
		__VA_ARGS__                                                                        \
	};                                                                                         \
	extern const struct profcol_plugin profcol_plugin;                                         \
	__attribute__((visibility("default"))) const struct profcol_plugin profcol_plugin = {      \
		.abi = PROFCOL_PLUGIN_ABI,                                                         \
		.count = sizeof(profcol_plugin_components) / sizeof(void *),                       \
		.components = profcol_plugin_components,                                           \
	};                                                                                         \
	static const struct profcol_plugin_note profcol_plugin_note __attribute__((                \
		PROFCOL_PLUGIN_UNPADDED used, aligned(4), section(".note.profcol"))) = {           \
		.name_size = sizeof("profcol"),                                                    \
		.description_size = sizeof(struct profcol_plugin_abi),                             \
		.type = PROFCOL_PLUGIN_NOTE,                                                       \
		.name = "profcol",                                                                 \
		.abi = PROFCOL_PLUGIN_ABI,                                                         \
	}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the heaps of a JVM's code cache lie (JDK, src/hotspot/share/code/codeCache.hpp), read from
 * its memory: what the kernel side needs to find the frames of code in them (struct
 * unwind_hotspot). The addresses are fixed as soon as the JVM has started; what is in the heaps
 * comes and goes, and is not read here. No word is believed. Any thread.
 */
#pragma once

#include "worker/worker.h"

#include "sample.h"

enum {
	JVM_HEAPS = 16,      /* there are one or three */
	JVM_WORDS_MOST = 64, /* read at once */
};

struct jvm_heap {
	uint64_t start, limit; /* address; what is reserved */
	struct unwind_hotspot code;
};

struct jvm_heaps {
	struct jvm_heap items[JVM_HEAPS]; /* by address, without overlap */
	size_t count;
	uint32_t interpreter_bytes; /* made so far of its code; 0: it is not known yet */
};

/* The 8 bytes at each of @count addresses of the JVM, at most JVM_WORDS_MOST; false when one cannot
 * be read. */
typedef bool (*jvm_read_function)(void *context, const uint64_t *addresses, size_t count,
				  uint64_t *words);

/* Read the heaps of a JVM whose libjvm.so has the @layout and its ELF address 0 at @base. False:
 * there are none (yet). */
bool jvm_heaps_read(const struct worker_hotspot *layout, uint64_t base, jvm_read_function read,
		    void *context, struct jvm_heaps *ret);

/*
 * The heap that begins at @start; NULL when none does. That, or that there is none, is so up to
 * *@until, which is lowered for it: memory from @start on, which ends there.
 */
const struct jvm_heap *jvm_heaps_at(const struct jvm_heaps *heaps, uint64_t start, uint64_t *until);

/* Does one of them hold @address? */
bool jvm_heaps_hold(const struct jvm_heaps *heaps, uint64_t address);

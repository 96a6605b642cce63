/* SPDX-License-Identifier: Apache-2.0 */
/* Where the heaps of a JVM's code lie, as the memory of its process says now. Any thread. */
#pragma once

#include "jvms.h"

/*
 * Read the heaps of @jvm. With none, or when its memory does not answer, the count is 0. It may
 * wait: for the quarter of a second that one is let, and for the read that is under way then.
 */
void jvm_memory_read(struct processes *processes, const struct jvm *jvm, struct jvm_heaps *ret);

/* SPDX-License-Identifier: Apache-2.0 */
/* Linker names of C++20 and later, which libiberty of binutils 2.40 does not read. Any thread. */
#pragma once

#include "worker.h"

/*
 * As demangle_symbol(), of the @length bytes at @symbol, NUL-terminated, that begin with "_Z". What
 * does not fit is cut, and *@cut true; marking it is the caller's. Also false when the name needs
 * more memory than names of programs do, expands a dozen parameter packs or has 2 KiB.
 */
bool demangle_newer(const char *symbol, size_t length, char to[WORKER_MAX_NAME], bool *cut);

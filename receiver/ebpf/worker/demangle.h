/* SPDX-License-Identifier: Apache-2.0 */
/* Linker names to readable ones. Any thread. */
#pragma once

#include "worker.h"

/*
 * The readable form of @symbol (C++ Itanium ABI, Rust legacy and v0) into @to, NUL-terminated:
 * scopes and template arguments, without parameters and return types. A form of WORKER_MAX_NAME
 * bytes or more is cut, and ends with a hash of @symbol (cut_names.h). Bytes are as they come, not
 * checked for UTF-8. Returns false, with @to empty, when @symbol is no mangled name.
 */
bool demangle_symbol(const char *symbol, char to[WORKER_MAX_NAME]);

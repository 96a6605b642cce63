/* SPDX-License-Identifier: Apache-2.0 */
/* The names that cmake/cxa_demangle.cmake gives libc++abi's demangler and what it calls. */
#pragma once

#include <stddef.h>

/* Its __cxa_demangle (Itanium C++ ABI, 3.4). */
char *newer_demangle(const char *symbol, char *buffer, size_t *bytes, int *status);

void *newer_malloc(size_t bytes);
void *newer_realloc(void *old, size_t bytes);
void newer_free(void *old);
_Noreturn void newer_abort(void);
_Noreturn void newer_abort_message(const char *format, ...);
_Noreturn void newer_terminate(void);
_Noreturn void newer_catch(void);
_Noreturn void newer_resume(void);
_Noreturn void newer_personality(void);
_Noreturn void newer_delete(void);
extern const void *const newer_class_info[4];
extern const void *const newer_si_class_info[4];

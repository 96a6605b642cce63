/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed parts of files, in memory. What comes out is bounded before anything is unpacked. One
 * thread at a time; nothing is kept.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Unpack @from, of ELF's @type (ELFCOMPRESS_ZLIB or _ZSTD; gABI "Section Compression"), into @to,
 * which has room for exactly the @size bytes that have to come out. 0, -EINVAL when it is broken,
 * -ENOTSUP for another type, or -ENOMEM.
 */
int inflate_section(uint32_t type, const void *from, size_t length, void *to, size_t size);

/*
 * Unpack the .xz file @from (the only form that .gnu_debugdata has) into memory that the caller
 * frees. 0, -EINVAL when it is broken, -EFBIG when more than @max_bytes come out or its dictionary
 * is larger than 64 MiB, or -ENOMEM.
 */
int inflate_xz(const void *from, size_t length, size_t max_bytes, void **ret, size_t *bytes_ret);

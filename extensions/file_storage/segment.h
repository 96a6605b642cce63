/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file of a queue: records one behind the other, appended and never moved. Format
 * version 1; numbers are little-endian, checksums are XXH64.
 *
 *   file    24 bytes  magic "PROFCOLQ", version u32, 0 u32, checksum of these 16 bytes u64
 *   record  48 bytes  magic "RECORD 1", length u32, 0 u32, samples u64, checksum of the
 *                     body u64, checksum of these 32 bytes u64, finished u64
 *           body      `length` bytes, then zeros up to a multiple of 8
 *
 * Every later version begins with these 24 bytes, so that this one can tell it.
 *
 * The file is called SEQUENCE-SALT.seg, both as 16 hexadecimal digits. The sequence gives
 * the order of the files. The salt is random and a record's checksum depends on it and on
 * the record's offset: when the reader looks for the next record behind a damaged one, a
 * body whose sender made it look like records does not pass for one.
 *
 * `finished` is 0 and becomes the complement of the record's checksum; that eight aligned
 * bytes are overwritten, rather than a log of their own appended to, lets records be
 * finished on a full disk. Anything else found there is damage, and the record unfinished.
 *
 * No state and no locks here: any thread, but one at a time on one vector.
 */
#pragma once

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SEGMENT_VERSION = 1,
	SEGMENT_HEADER_BYTES = 24,
	SEGMENT_RECORD_HEADER_BYTES = 48,
	SEGMENT_NAME_BYTES = 38, /* with the NUL */

	/* Longer ones are neither written nor believed. */
	SEGMENT_BODY_MAX_BYTES = 64 << 20,
	/* What lies beyond in a file is not read: no file of ours is as long. */
	SEGMENT_MAX_BYTES = 80 << 20,
};

struct segment_name {
	uint64_t sequence; /* below 2^63 */
	uint64_t salt;
};

void segment_name_format(const struct segment_name *name, char to[SEGMENT_NAME_BYTES]);

/* False when @text is not the name of a segment. */
bool segment_name_parse(const char *text, struct segment_name *ret);

enum segment_state {
	SEGMENT_READY,    /* nobody has it */
	SEGMENT_TAKEN,    /* until it is finished or put back; not on disk */
	SEGMENT_FINISHED, /* delivered or given up */
};

/* The index: all that is kept in memory of a record. */
struct segment_record {
	uint32_t offset; /* of its header in the file */
	uint32_t length : 30, state : 2;
	uint64_t samples;
};

struct segment_records {
	VECTOR(struct segment_record) list; /* by offset */
	uint64_t damaged;                   /* stretches of the file that hold no whole record */
	uint64_t damaged_samples;           /* of these, where a header still says so */
	uint64_t torn_at;                   /* where a record that is cut off begins; 0 = none is */
};

/* Bytes of a record of @length bytes in the file. */
static inline uint64_t segment_record_bytes(uint64_t length)
{
	return SEGMENT_RECORD_HEADER_BYTES + ((length + 7) & ~UINT64_C(7));
}

void segment_encode_header(uint8_t to[SEGMENT_HEADER_BYTES]);

/* @body_checksum as from segment_body_checksum(). */
void segment_encode_record(uint8_t to[SEGMENT_RECORD_HEADER_BYTES], uint64_t salt,
			   const struct segment_record *record, uint64_t body_checksum);
uint64_t segment_body_checksum(const uint8_t *bytes, size_t length);

/*
 * The version that the file at @fd claims: 0 when its header is damaged, in which case its
 * records may still be sound. Returns 0 or a negative errno of reading.
 */
int segment_read_version(int fd, uint32_t *ret);

/*
 * Find the records of the file at @fd, from headers only. A record that is cut off at the end
 * counts as damaged: whether its append had returned cannot be told. The bytes of the file as
 * far as it was read are in *@size_ret. Returns 0 or a negative errno: what a device does not
 * give may be sound, and is not taken for damage.
 */
int segment_scan(int fd, uint64_t salt, struct segment_records *records, uint64_t *size_ret);

/*
 * The body of @record, in memory that the caller frees; never NULL on success. -EBADMSG when
 * the record is damaged, or another negative errno.
 */
int segment_read_record(int fd, uint64_t salt, const struct segment_record *record, uint8_t **ret);

/* Note in the file that @record is finished. Returns 0 or a negative errno. */
int segment_write_finished(int fd, uint64_t salt, const struct segment_record *record);

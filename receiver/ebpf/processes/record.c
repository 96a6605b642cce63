// SPDX-License-Identifier: Apache-2.0
#include "record.h"

#include "base/base.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/sysmacros.h>

_Static_assert((unsigned int)RECORD_SAMPLE_TYPE ==
		       ((unsigned int)PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU),
	       "the tail of a record");

enum { KERNEL_CODE_NAME_AT = 24 }; /* header; u64 addr; u32 len; u16 ksym_type, flags; name */

static void take_text(struct reader *reader, struct record *ret)
{
	ret->text = reader_cstring(reader);
	ret->text_length = ret->text ? strlen(ret->text) : 0;
}

/* u32 pid, ppid, tid, ptid; u64 time */
static void take_task(struct reader *reader, struct record *ret)
{
	ret->pid = reader_u32(reader);
	ret->parent = reader_u32(reader);
	ret->tid = reader_u32(reader);
	reader_u32(reader);
}

/* u32 pid, tid; char comm[] */
static void take_comm(struct reader *reader, struct record *ret)
{
	ret->pid = reader_u32(reader);
	ret->tid = reader_u32(reader);
	take_text(reader, ret);
}

/* u32 pid, tid; u64 addr, len, pgoff; u32 maj, min; u64 ino, ino_generation; u32 prot, flags;
 * char filename[] */
static bool take_mmap2(struct reader *reader, uint16_t misc, struct record *ret)
{
	uint32_t device_major, device_minor;

	ret->pid = reader_u32(reader);
	ret->tid = reader_u32(reader);
	ret->start = reader_u64(reader);
	ret->length = reader_u64(reader);
	ret->file_offset = reader_u64(reader);
	device_major = reader_u32(reader);
	device_minor = reader_u32(reader);
	ret->inode = reader_u64(reader);
	ret->device = makedev(device_major, device_minor);
	reader_u64(reader);
	reader_u64(reader);
	take_text(reader, ret);
	// A build id in place of the inode comes only when asked for.
	return !(misc & PERF_RECORD_MISC_MMAP_BUILD_ID) && ret->length &&
	       ret->length <= UINT64_MAX - ret->start;
}

/* u64 addr; u32 len; u16 ksym_type, flags; char name[] */
static bool take_kernel_code(struct reader *reader, struct record *ret)
{
	uint16_t type, flags;

	ret->start = reader_u64(reader);
	ret->length = reader_u32(reader);
	type = reader_u16(reader);
	flags = reader_u16(reader);
	ret->ends = flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	take_text(reader, ret);
	// Pages of kprobes are told of, too.
	if (type == PERF_RECORD_KSYMBOL_TYPE_BPF)
		ret->kind = RECORD_KERNEL_CODE;
	return ret->length <= UINT64_MAX - ret->start;
}

size_t record_tail(const void *bytes, size_t length)
{
	size_t end = length - RECORD_TAIL_BYTES, at = KERNEL_CODE_NAME_AT;
	const struct perf_event_header *header = bytes;

	if (header->type != PERF_RECORD_KSYMBOL || end <= at)
		return end;
	at += strnlen((const char *)bytes + at, end - at) + 1;
	at = (at + 7) & ~(size_t)7;
	return at < end ? at : end;
}

bool record_decode(const void *bytes, size_t length, struct record *ret)
{
	struct reader reader, tail;
	uint32_t type;
	uint16_t misc;

	*ret = (struct record){ 0 };
	if (length < RECORD_HEADER_BYTES + RECORD_TAIL_BYTES)
		return false;
	reader = reader_over(bytes, record_tail(bytes, length));
	tail = reader_over(reader.end, RECORD_TAIL_BYTES);
	type = reader_u32(&reader);
	misc = reader_u16(&reader);
	reader_u16(&reader);
	ret->pid = reader_u32(&tail);
	ret->tid = reader_u32(&tail);
	ret->time_ns = reader_u64(&tail);
	switch (type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		ret->kind = type == PERF_RECORD_FORK ? RECORD_FORK : RECORD_EXIT;
		take_task(&reader, ret);
		break;
	case PERF_RECORD_COMM:
		ret->kind = misc & PERF_RECORD_MISC_COMM_EXEC ? RECORD_EXEC : RECORD_COMM;
		take_comm(&reader, ret);
		break;
	case PERF_RECORD_MMAP2:
		ret->kind = RECORD_MMAP;
		if (!take_mmap2(&reader, misc, ret))
			return false;
		break;
	case PERF_RECORD_LOST:
		ret->kind = RECORD_LOST;
		reader_u64(&reader);
		ret->lost = reader_u64(&reader);
		break;
	case PERF_RECORD_KSYMBOL:
		if (!take_kernel_code(&reader, ret))
			return false;
		break;
	default:
		break;
	}
	return !reader.failed;
}

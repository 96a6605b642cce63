// SPDX-License-Identifier: GPL-2.0
/*
 * Tells of executable memory that processes unmap, protect or cover, of which the side-band of perf
 * events does not tell: it has records of what becomes executable only. Of a process that user
 * space has named it compares one number whenever the lock of its map of memory is released.
 * Writable code is data to the kernel, and is not in that number.
 */
#include "code_end_record.h"
#include "kernel.bpf.h"
#include "pid_namespace.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* include/linux/mm_types.h; since 6.4 (5e31275cc997 "mm: add per-VMA lock and helper functions to
 * control it"). */
struct vm_area_struct {
	unsigned int vm_lock_seq;
} __attribute__((preserve_access_index));

/* Pages of code that each process had when it was looked at last; 0: never. User space adds and
 * removes them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32); /* pid */
	__type(value, __u64);
} code_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} code_ends SEC(".maps");

enum { WAKEUP_BYTES = 16 * 1024 };

__u64 lost = 0; /* records there was no room for */

/* System calls, by their numbers here, and bits of their arguments (include/uapi). */
enum {
#if defined(__TARGET_ARCH_x86)
	NR_MMAP = 9,
	NR_MPROTECT = 10,
	NR_MUNMAP = 11,
	NR_MREMAP = 25,
	NR_PKEY_MPROTECT = 329,
#else
	NR_MUNMAP = 215,
	NR_MREMAP = 216,
	NR_MMAP = 222,
	NR_MPROTECT = 226,
	NR_PKEY_MPROTECT = 288,
#endif
	MAY_EXECUTE = 4,   /* PROT_EXEC */
	AT_ADDRESS = 0x10, /* MAP_FIXED */
	PAGE_LEAST = 4096,
};

struct call {
	__s64 number; /* negative: none, or one of another table */
	__u64 address, length, third, fourth;
};

static __always_inline void read_call(struct call *ret)
{
	const struct pt_regs___kernel *user = kernel_user_registers();

#if defined(__TARGET_ARCH_x86)
	ret->number = (__s64)BPF_CORE_READ(user, orig_ax);
	ret->address = BPF_CORE_READ(user, di);
	ret->length = BPF_CORE_READ(user, si);
	ret->third = BPF_CORE_READ(user, dx);
	ret->fourth = BPF_CORE_READ(user, r10);
	if (BPF_CORE_READ(user, cs) == KERNEL_USER32_CS)
		ret->number = -1;
#else
	ret->number = BPF_CORE_READ(user, syscallno);
	ret->address = BPF_CORE_READ(user, regs[0]);
	ret->length = BPF_CORE_READ(user, regs[1]);
	ret->third = BPF_CORE_READ(user, regs[2]);
	ret->fourth = BPF_CORE_READ(user, regs[3]);
	if (BPF_CORE_READ(user, pstate) & KERNEL_PSTATE_MODE32)
		ret->number = -1;
#endif
}

/* Does @call take code away from where it says, whatever else it does? */
static __always_inline bool is_of_place(const struct call *call)
{
	if (call->number == NR_MUNMAP)
		return true;
	// The side-band has a record of what these make executable.
	if (call->third & MAY_EXECUTE)
		return false;
	return call->number == NR_MPROTECT || call->number == NR_PKEY_MPROTECT ||
	       (call->number == NR_MMAP && call->fourth & AT_ADDRESS);
}

/* The pages of code have become @fewer, or more, by @call: where? False: none has ended. */
static __always_inline bool find_end(const struct call *call, bool fewer,
				     struct code_end_record *record)
{
	__u64 limit = call->address + call->length + PAGE_LEAST - 1;

	if (!is_of_place(call) || limit < call->address)
		return fewer || call->number == NR_MREMAP;
	record->start = call->address;
	record->limit = limit & ~(PAGE_LEAST - 1ull);
	return true;
}

/* Somebody lets go of the lock of a map of memory (include/linux/mmap_lock.h). */
SEC("raw_tracepoint/mmap_lock_released")
int note_code_end(struct bpf_raw_tracepoint_args *context)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 pid = (__u32)(pid_namespace_current() >> 32);
	struct mm_struct *mm = (void *)context->args[0];
	struct code_end_record record = { .pid = pid };
	__u64 *known = bpf_map_lookup_elem(&code_pages, &pid), before, pages;
	struct call call;

	if (!known || BPF_CORE_READ(task, mm) != mm)
		return 0;
	before = *known;
	pages = BPF_CORE_READ(mm, exec_vm);
	if (pages == before)
		return 0;
	*known = pages;
	read_call(&call);
	if (!find_end(&call, pages < before, &record))
		return 0;
	record.time_ns = bpf_ktime_get_ns();
	if (bpf_ringbuf_output(&code_ends, &record, sizeof(record),
			       bpf_ringbuf_query(&code_ends, BPF_RB_AVAIL_DATA) < WAKEUP_BYTES
				       ? BPF_RB_NO_WAKEUP
				       : BPF_RB_FORCE_WAKEUP))
		__sync_fetch_and_add(&lost, 1);
	return 0;
}

/*
 * Run once by BPF_PROG_TEST_RUN, never attached: are areas of memory locked one by one? Without
 * that every page fault takes the lock that is told of above.
 */
SEC("raw_tracepoint/mmap_lock_released")
int has_area_locks(void *context)
{
	(void)context;
	return bpf_core_field_exists(((struct vm_area_struct *)0)->vm_lock_seq);
}

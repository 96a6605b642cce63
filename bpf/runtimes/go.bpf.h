/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where stacks of goroutines end, and which labels a goroutine has. Go changes stacks all the time;
 * a register leads to the current goroutine, since Go 1.17 (cmd/compile/abi-internal.md).
 */
#pragma once

#include "go.h"
#include "kernel.bpf.h"
#include "sample.h"
#include "unwind_registers.bpf.h"
#include "unwind_state.bpf.h"

enum { GO_GOROUTINE_REGISTER = 14 }; /* its DWARF number */

/* The first fields of a goroutine's g (runtime/runtime2.go). */
struct go_goroutine {
	__u64 stack_low, stack_high;
	__u64 stack_guard;
	__u64 system_stack_guard; /* all ones but for those that the runtime itself works on */
};

/*
 * Where the stack of the current goroutine ends, by the registers in @deferred; 0 when that is not
 * the stack that the thread is on, or one of the runtime's (g0's, a signal's), from which a walk
 * goes on on another one.
 */
static __always_inline __u64 go_stack_top(const struct unwind_walk *walk,
					  const struct sample_deferred *deferred)
{
	struct go_goroutine at;

	if (bpf_probe_read_user(&at, sizeof(at),
				(void *)deferred->registers[GO_GOROUTINE_REGISTER]) ||
	    walk->at.sp < at.stack_low || walk->at.sp >= at.stack_high || at.stack_high & 7 ||
	    ~at.system_stack_guard)
		return 0;
	return at.stack_high;
}

/* ---- labels ---- */

enum {
	GO_CURRENT_REGISTER =
		28,      /* arm64: of the g that runs; C code may have something else there */
	GO_BUCKETS = 16, /* of a map, at most, with those that others have overflown to */
	GO_BUCKET_SLOTS = 8,
	GO_SLOT_TAKEN = 5, /* marks of free and moved slots are less */
};

/* The first fields of a map, and a bucket of one from string to string (runtime/map.go). */
struct go_map {
	__u64 count;
	__u8 flags, buckets_shift;
	__u16 overflown;
	__u32 seed;
	__u64 buckets;
};

struct go_bucket {
	__u8 marks[GO_BUCKET_SLOTS];
	struct go_text {
		__u64 start, bytes;
	} keys[GO_BUCKET_SLOTS], values[GO_BUCKET_SLOTS];
	__u64 overflow;
};

_Static_assert(sizeof(struct go_bucket) <= sizeof(((struct unwind_walk *)0)->window), "it fits");
_Static_assert(GO_GOROUTINE_BYTES <= sizeof(((struct unwind_walk *)0)->scratch), "it fits");

/* Reads the g at @address, up to its labels. */
static __always_inline bool go_read(struct unwind_walk *walk, const struct go_data *data,
				    __u64 address)
{
	__u64 bytes = data->goroutine_labels + sizeof(__u64);

	return bytes <= GO_GOROUTINE_BYTES &&
	       !bpf_probe_read_user(walk->scratch, bytes, (void *)address);
}

/* The word at @offset of the g that was read. */
static __always_inline __u64 go_word(const struct unwind_walk *walk, __u32 offset)
{
	offset /= sizeof(__u64);
	return offset < GO_GOROUTINE_BYTES / sizeof(__u64) ? walk->scratch[offset] : 0;
}

/* The address of the g that the current thread runs on, which may be one of the runtime's own, or,
 * in C code, anything; 0: none. */
static __always_inline __u64 go_current(const struct unwind_walk *walk, const struct go_data *data)
{
#if defined(__TARGET_ARCH_x86)
	__u64 thread = kernel_thread_pointer(), offset = (__u64)data->current, current;

	(void)walk;
	if (data->current_at &&
	    bpf_probe_read_user(&offset, sizeof(offset), (void *)data->current_at))
		return 0;
	if (!thread || bpf_probe_read_user(&current, sizeof(current), (void *)(thread + offset)))
		return 0;
	return current;
#else
	(void)data;
	return unwind_register(NULL, walk, GO_CURRENT_REGISTER);
#endif
}

/* Where the labels are of the goroutine that the current thread runs, or for which the runtime
 * works on it; 0: it has none, or there is no goroutine. */
static __always_inline __u64 go_labels(struct unwind_walk *walk, const struct go_data *data)
{
	__u64 current = go_current(walk, data), thread, goroutine;

	if (!current || !go_read(walk, data, current))
		return 0;
	thread = go_word(walk, data->goroutine_thread);
	if (!thread || bpf_probe_read_user(&goroutine, sizeof(goroutine),
					   (void *)(thread + data->thread_goroutine)))
		return 0;
	if (goroutine != current && (!goroutine || !go_read(walk, data, goroutine)))
		return 0;
	// Of anything that is none it is not so.
	if (go_word(walk, data->goroutine_thread) != thread)
		return 0;
	return go_word(walk, data->goroutine_labels);
}

/* Finds those of a slice. */
static __always_inline void go_find_in_slice(struct unwind_walk *walk, __u64 labels)
{
	struct {
		__u64 start, count;
	} list;
	__u64 count;

	if (bpf_probe_read_user(&list, sizeof(list), (void *)labels)) {
		walk->label_flags |= SAMPLE_LABELS_UNREADABLE;
		return;
	}
	count = list.count;
	if (count > SAMPLE_LABELS) {
		count = SAMPLE_LABELS;
		walk->label_flags |= SAMPLE_LABELS_LEFT_OUT;
	}
	// The compiler knows the bound; this tells it to the verifier.
	asm volatile("" : "+r"(count));
	if (count > SAMPLE_LABELS ||
	    bpf_probe_read_user(walk->scratch, count * sizeof(struct label_place),
				(void *)list.start)) {
		walk->label_flags |= SAMPLE_LABELS_UNREADABLE;
		return;
	}
	walk->label_count = (__u32)count;
}

/* Finds those of the bucket in the window. */
static __always_inline void go_find_in_bucket(struct unwind_walk *walk)
{
	const struct go_bucket *bucket = (const void *)walk->window;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < GO_BUCKET_SLOTS; i++) {
		struct label_place *places = (void *)walk->scratch;
		__u64 count = walk->label_count;

		if (bucket->marks[i] < GO_SLOT_TAKEN)
			continue;
		asm volatile("" : "+r"(count));
		if (count >= SAMPLE_LABELS)
			break;
		places[count].key = bucket->keys[i].start;
		places[count].key_bytes = bucket->keys[i].bytes;
		places[count].value = bucket->values[i].start;
		places[count].value_bytes = bucket->values[i].bytes;
		walk->label_count = (__u32)count + 1;
	}
}

/* Finds the labels of a map. A map of more than 26 that is growing still has some in its old
 * buckets: they are left out. Where it stands is in of_runtime: the verifier follows less of what
 * it does not know. */
static __noinline void go_find_in_map(struct unwind_walk *walk, __u64 labels)
{
	__u64 *at = &walk->of_runtime[0], *next = &walk->of_runtime[1], address;
	__u64 limit;
	struct go_map map;

	if (bpf_probe_read_user(&address, sizeof(address), (void *)labels) ||
	    (address && bpf_probe_read_user(&map, sizeof(map), (void *)address))) {
		walk->label_flags |= SAMPLE_LABELS_UNREADABLE;
		return;
	}
	if (!address)
		return;
	*at = 0;
	*next = map.buckets;
	limit = map.buckets_shift < 5 ? sizeof(struct go_bucket) << map.buckets_shift
				      : sizeof(struct go_bucket) * GO_BUCKETS;
#pragma clang loop unroll(disable)
	for (int i = 0; i < GO_BUCKETS; i++) {
		if (!*at) {
			if (*next - map.buckets >= limit)
				break;
			*at = *next;
			*next += sizeof(struct go_bucket);
		}
		if (bpf_probe_read_user(walk->window, sizeof(struct go_bucket), (void *)*at)) {
			walk->label_flags |= SAMPLE_LABELS_UNREADABLE;
			break;
		}
		go_find_in_bucket(walk);
		*at = ((const struct go_bucket *)walk->window)->overflow;
	}
	if (walk->label_count < map.count)
		walk->label_flags |= SAMPLE_LABELS_LEFT_OUT;
}

static __always_inline void go_find_labels(struct unwind_walk *walk, const struct go_data *data)
{
	__u64 labels = go_labels(walk, data);

	if (!labels)
		return;
	if (data->flags & GO_LABELS_ARE_A_MAP)
		go_find_in_map(walk, labels);
	else
		go_find_in_slice(walk, labels);
}

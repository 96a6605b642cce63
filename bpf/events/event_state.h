/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * The program of an event shares an array with the receiver (receiver/ebpf/events/). Both map it,
 * and it has an element for each CPU.
 */
#pragma once

#include "event_budget.h"
#include "off_cpu_detail.h"

enum event_counter {
	EVENT_COUNTER_SEEN,    /* events of processes, kept or not */
	EVENT_COUNTER_AMOUNT,  /* of these, all in all: the true sum */
	EVENT_COUNTER_KEPT,    /* that were to become samples */
	EVENT_COUNTER_BUSY,    /* of these, lost: another walk had the slot */
	EVENT_COUNTER_UNKNOWN, /* events whose amount nobody knows, which are not `seen` */
	EVENT_COUNTER_COUNT,
};

/* Of one CPU: two cache lines of its own. */
struct event_state {
	struct event_budget budget;
	__u64 counters[EVENT_COUNTER_COUNT];
	/* An event that has been decided about, and is to be sampled when its thread runs. */
	__u64 pending_value; /* 0: there is none */
	__u64 pending_ns;    /* CLOCK_MONOTONIC */
	__u32 pending_tid;   /* in the machine's own PID namespace */
	__u16 pending_detail;
	__u16 reserved;
	struct wait_partner partner; /* of that one, or of the thread that is sampled */
	__u64 address;               /* for a program that asks where it runs */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct event_budget) == 32, "layout of a budget");
_Static_assert(sizeof(struct event_state) == 128, "layout of an event's state");

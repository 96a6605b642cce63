/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a thread has waited, as far as its state and its system call say. Any thread.
 */
#pragma once

#include <stdint.h>

#define WAIT_REASON_KEY "profcol.wait.reason" /* attribute of a sample */

/* @detail: of a sample of SAMPLE_OFF_CPU (bpf/events/off_cpu_detail.h), whatever it is. A word,
 * never NULL. */
const char *wait_reason(uint16_t detail);

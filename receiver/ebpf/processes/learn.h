/* SPDX-License-Identifier: Apache-2.0 */
/* How the table of processes learns: from records of the kernel, and from /proc. */
#pragma once

#include "proc_read.h"
#include "record.h"
#include "sample.h"
#include "table.h"

/* Take in what the kernel has told. */
void learn_record(struct table *table, const struct record *record);

/* The same of code that a process has given up. */
void learn_code_end(struct table *table, const struct code_end_record *record);

/*
 * Take in what /proc says; @facts' maps are written to. -EAGAIN when the process has exec'd
 * meanwhile, which makes what was read worthless; -ENOMEM.
 */
int learn_facts(struct table *table, struct proc_facts *facts);

// SPDX-License-Identifier: Apache-2.0
#include "read_faults.h"

#include <profcol/options.h>

#include <errno.h>
#include <stdbool.h>

/* A device may come back; but what is behind a record that it never gives shall not wait for
 * ever. */
static const uint64_t patience_ns = PROFCOL_MINUTE;

/* The content is wrong, or the file is gone or something else. */
static bool is_damage(int status)
{
	return status == -EBADMSG || status == -ENOENT || status == -EINVAL || status == -ELOOP;
}

/* Of the process or the machine, and no fault of the device. */
static bool is_shortage(int status)
{
	return status == -ENOMEM || status == -EMFILE || status == -ENFILE;
}

static bool is_patience_over(struct read_faults *faults, uint64_t id, int status, uint64_t now_ns)
{
	// Others that are tried at the same time come after it.
	if (faults->id && id > faults->id)
		return false;
	if (id != faults->id || is_shortage(status))
		faults->since_ns = now_ns;
	faults->id = id;
	return now_ns - faults->since_ns >= patience_ns;
}

enum read_verdict read_faults_judge(struct read_faults *faults, uint64_t id, int status,
				    uint64_t now_ns)
{
	bool passes = status && !is_damage(status);

	if (passes && !is_patience_over(faults, id, status, now_ns))
		return READ_LATER;
	if (id == faults->id)
		faults->id = 0;
	if (!status)
		return READ_SOUND;
	return passes ? READ_FAULTY : READ_DAMAGED;
}

// SPDX-License-Identifier: Apache-2.0
#include "tls.h"

#include "base/base.h"

#include <string.h>
#include <sys/stat.h>

struct tls_stamp tls_stamp_files(const char *const paths[static TLS_STAMP_FILES])
{
	struct tls_stamp stamp = { 0 };
	struct stat status;

	for (size_t i = 0; i < TLS_STAMP_FILES; i++) {
		if (!paths[i][0] || stat(paths[i], &status))
			continue;
		stamp.files[i].device = status.st_dev;
		stamp.files[i].inode = status.st_ino;
		stamp.files[i].bytes = (uint64_t)status.st_size;
		stamp.files[i].modified = status.st_mtim;
		stamp.files[i].changed = status.st_ctim;
	}
	return stamp;
}

bool tls_stamp_equal(const struct tls_stamp *first, const struct tls_stamp *second)
{
	return !memcmp(first, second, sizeof(*first));
}

bool tls_complaint_is_new(struct tls_complaint *complaint, const struct tls_stamp *stamp,
			  const char *text)
{
	const struct tls_complaint now = { .stamp = *stamp,
					   .text = intern_hash(text, strlen(text)),
					   .made = true };
	bool same = complaint->made && complaint->text == now.text &&
		    tls_stamp_equal(&complaint->stamp, stamp);

	*complaint = now;
	return !same;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References to container images: [HOST[:PORT]/]PATH[:TAG][@ALGORITHM:DIGEST], as
 * github.com/distribution/reference has them. Pure. Private.
 */
#pragma once

#include <profcol/batch.h>

#include <stdbool.h>
#include <stddef.h>

enum { IMAGE_MAX = 1 << 10 }; /* bytes of a reference, with what completes it and a NUL */

/* Parts of the text that was parsed; of those that are missing the length is 0. */
struct image {
	struct profcol_text repository, tag, digest;
};

/* False when it is none. */
bool image_parse(const char *text, struct image *ret);

/* "1.27", "sha256:...", or "1.27@sha256:..."; "" without tag and digest. */
void image_version(const struct image *image, char to[IMAGE_MAX]);

/* The whole name of an image id with a digest: "docker.io/library/nginx@sha256:..." of "nginx@...".
 * False when it has none. */
bool image_canonical(const char *image_id, char to[IMAGE_MAX]);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of containers, and of Kubernetes pods, from the text of /proc/PID/cgroup (cgroups(7)), cgroup
 * v1 and v2.
 *
 * Only paths as the host sees them carry an id: a reader in a cgroup namespace of
 * its own sees paths relative to it. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { CONTAINER_ID_SIZE = 65 }; /* 64 hexadecimal digits and the NUL */
enum { POD_UID_SIZE = 37 };      /* a UUID as text, and the NUL */

/*
 * The id of the innermost container that @text (@length bytes, not trusted) names:
 * 64 hexadecimal digits as docker, containerd, CRI-O and podman have them, or the
 * 32 digits, '-' and a number of Amazon ECS. The v2 path counts before v1 paths.
 * False, and "" in @ret, when in none.
 */
bool container_id_parse(const char *text, size_t length, char ret[CONTAINER_ID_SIZE]);

/*
 * The uid of the pod in whose cgroup the process is, as the API server has it: of the outermost
 * `pod<UUID>` that @text names. Static pods, whose cgroups have another kind of uid, are in none.
 * False, and "" in @ret, when in none.
 */
bool pod_uid_parse(const char *text, size_t length, char ret[POD_UID_SIZE]);

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
 * The id of the container that @text (@length bytes, not trusted) names:
 * 64 hexadecimal digits as docker, containerd, CRI-O and podman have them, the
 * 32 digits, '-' and a number of Amazon ECS, or the id of Cloud Foundry's garden. The v2 path
 * counts before v1 paths. Of containers in each other it is the outermost one, since a process may
 * make cgroups below its own and call them as it likes; but of an engine that runs in a container
 * outside of pods (docker or podman in docker, kind, minikube) that which the engine has started.
 * False, and "" in @ret, when in none.
 */
bool container_id_parse(const char *text, size_t length, char ret[CONTAINER_ID_SIZE]);

/*
 * The uid of the pod in whose cgroup the process is, as the API server has it: of the outermost
 * `pod<UUID>` around the container that @text names, or else anywhere. Static pods, whose cgroups
 * have another kind of uid, are in none. False, and "" in @ret, when in none.
 */
bool pod_uid_parse(const char *text, size_t length, char ret[POD_UID_SIZE]);

// SPDX-License-Identifier: Apache-2.0
/* The pure parsers: cgroup paths, maps, stat, CPU lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perf/cpu_list.h"
#include "processes/proc_text.h"

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define ID     "b4a3a3a53d1e4a9c8f6f2f9f6a6c7e6c5d4b3a291807f6e5d4c3b2a190807060"
#define OUTER  "1111111111111111111111111111111111111111111111111111111111111111"
#define POD    "pod2c48913c_b29f_11e7_9350_020968147796"
#define DASHED "pod2c48913c-b29f-11e7-9350-020968147796"
#define TASK   "0123456789abcdef0123456789abcdef"

static const struct {
	const char *what, *text, *id;
} cgroups[] = {
	{ "docker, v1", "12:pids:/docker/" ID "\n11:memory:/docker/" ID "\n", ID },
	{ "docker, v2, systemd", "0::/system.slice/docker-" ID ".scope\n", ID },
	{ "docker, v2, cgroupfs", "0::/docker/" ID, ID },
	{ "docker with systemd inside", "0::/system.slice/docker-" ID ".scope/init.scope\n", ID },
	{ "docker, a service inside",
	  "0::/system.slice/docker-" ID ".scope/system.slice/nginx.service\n", ID },
	{ "docker in docker", "0::/docker/" OUTER "/docker/" ID "\n", ID },
	{ "kind", "0::/docker/" OUTER "/kubelet/kubepods/burstable/" POD "/" ID "\n", ID },
	{ "docker in docker, systemd inside",
	  "0::/docker/" OUTER "/system.slice/docker-" ID ".scope\n", ID },
	{ "podman in docker",
	  "0::/system.slice/docker-" OUTER ".scope/libpod_parent/libpod-" ID "\n", ID },
	{ "kind, systemd inside",
	  "0::/system.slice/docker-" OUTER
	  ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-" POD
	  ".slice/cri-containerd-" ID ".scope\n",
	  ID },
	{ "a cgroup that a container has made", "0::/docker/" ID "/" OUTER "\n", ID },
	{ "the same deeper", "0::/docker/" ID "/a/docker-" OUTER ".scope\n", ID },
	{ "a container of a pod as another one's", "0::/kubepods/" POD "/" ID "/" OUTER "\n", ID },
	{ "docker in a pod", "0::/kubepods/" DASHED "/" ID "/docker/" OUTER "\n", ID },
	{ "the same as another pod",
	  "0::/kubepods/" DASHED "/" ID "/kubepods/" DASHED "/" OUTER "\n", ID },
	{ "garden", "2:cpu:/system.slice/garden/e746ad53-f64f-4ae0-b541-928a\n",
	  "e746ad53-f64f-4ae0-b541-928a" },
	{ "like garden's", "0::/x/e746ad53-f64f-4ae0-b541-928a\n", "" },
	{ "not quite garden's", "0::/garden/e746ad53-f64f-4ae0-b541-928g\n", "" },
	{ "kata's overhead", "0::/kata_overhead/" ID "\n", "" },
	{ "Kubernetes, v1, cgroupfs", "4:cpu,cpuacct:/kubepods/besteffort/" POD "/" ID "\n", ID },
	{ "Kubernetes, containerd, systemd",
	  "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" POD
	  ".slice/cri-containerd-" ID ".scope\n",
	  ID },
	{ "Kubernetes, containerd, delegated by name",
	  "9:cpu:/system.slice/containerd.service/kubepods-burstable-" POD
	  ".slice:cri-containerd:" ID "\n",
	  ID },
	{ "Kubernetes, CRI-O", "0::/kubepods.slice/kubepods-" POD ".slice/crio-" ID ".scope\n",
	  ID },
	{ "CRI-O, container inside its scope",
	  "0::/kubepods.slice/kubepods-" POD ".slice/crio-" ID ".scope/container\n", ID },
	{ "CRI-O's conmon", "0::/kubepods.slice/kubepods-" POD ".slice/crio-conmon-" ID ".scope\n",
	  "" },
	{ "podman", "0::/machine.slice/libpod-" ID ".scope/container\n", ID },
	{ "podman, rootless",
	  "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
	  ".scope/container\n",
	  ID },
	{ "podman, cgroupfs", "3:cpu:/libpod_parent/libpod-" ID "\n", ID },
	{ "podman's conmon", "0::/machine.slice/libpod-conmon-" ID ".scope\n", "" },
	{ "ECS on EC2", "9:perf_event:/ecs/my-cluster/" TASK "/" ID "\n", ID },
	{ "ECS on Fargate", "11:blkio:/ecs/" TASK "/" TASK "-2574839563\n", TASK "-2574839563" },
	{ "ECS, v2", "0::/ecstasks.slice/ecstasks-" TASK ".slice/docker-" ID ".scope\n", ID },
	{ "v2 goes before v1", "2:cpu:/docker/" OUTER "\n0::/docker/" ID "\n", ID },
	{ "v1 alone in a hybrid tree", "2:cpu:/docker/" ID "\n0::/\n", ID },
	{ "a controller's name with a colon", "1:name=x:/docker/" ID "\n", ID },
	{ "a desktop", "0::/user.slice/user-1000.slice/session-2.scope\n", "" },
	{ "a service", "0::/system.slice/ssh.service\n", "" },
	{ "the root", "0::/\n", "" },
	{ "systemd-nspawn", "0::/machine.slice/machine-web.scope/payload\n", "" },
	{ "a bare uuid", "0::/" TASK "\n", "" },
	{ "65 digits", "0::/docker/a" ID "\n", "" },
	{ "63 digits", "0::/docker/" TASK "0123456789abcdef0123456789abcde\n", "" },
	{ "no digits", "0::/docker/g" TASK "0123456789abcdef0123456789abcde\n", "" },
	{ "an endless task number", "0::/ecs/" TASK "-123456789012345678901\n", "" },
	{ "nothing", "", "" },
	{ "no colons", "docker/" ID "\n", "" },
	{ "one colon", "0:/docker/" ID "\n", "" },
	{ "only slashes", "0::////////\n", "" },
	{ "only newlines", "\n\n\n", "" },
};

static void containers_are_told_from_cgroup_paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cgroups) / sizeof(cgroups[0]); i++) {
		char id[CONTAINER_ID_SIZE] = "x";
		bool found = container_id_parse(cgroups[i].text, strlen(cgroups[i].text), id);

		if (strcmp(id, cgroups[i].id) || found != (cgroups[i].id[0] != '\0'))
			fail_msg("%s: got '%s', not '%s'", cgroups[i].what, id, cgroups[i].id);
	}
}

#define UUID      "0c1d2e3f-4a5b-4c6d-8e9f-0123456789ab"
#define UNDERLINE "0c1d2e3f_4a5b_4c6d_8e9f_0123456789ab"

static void pods_are_told_from_cgroup_paths(void **state)
{
	static const struct {
		const char *what, *text, *uid;
	} rows[] = {
		{ "cgroupfs, v2", "0::/kubepods/burstable/pod" UUID "/" ID "\n", UUID },
		{ "cgroupfs, v1", "3:cpu:/kubepods/pod" UUID "/" ID "\n0::/\n", UUID },
		{ "systemd",
		  "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UNDERLINE
		  ".slice/cri-containerd-" ID ".scope\n",
		  UUID },
		{ "systemd, v1",
		  "2:cpu:/system.slice/containerd.service/kubepods-pod" UNDERLINE
		  ".slice:cri-containerd:" ID "\n",
		  UUID },
		{ "kind",
		  "0::/docker/" ID
		  "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UNDERLINE
		  ".slice/cri-containerd-" OUTER ".scope\n",
		  UUID },
		{ "at the end", "0::/kubepods/pod" UUID "\n", UUID },
		{ "who makes a cgroup inside of a pod does not leave it",
		  "0::/kubepods/pod" UUID "/" ID "/pod11111111-1111-1111-1111-111111111111\n",
		  UUID },
		{ "who makes a cgroup inside of a container is in no pod",
		  "0::/docker/" ID "/pod" UUID "/" OUTER "\n", "" },
		{ "nor in another one",
		  "0::/kubepods/pod" TASK "/" ID "/kubepods/pod" UUID "/" OUTER "\n", "" },
		{ "nor by another hierarchy",
		  "2:cpu:/kubepods/pod" UUID "/" OUTER "\n0::/docker/" ID "\n", "" },
		{ "kind, a container", "0::/docker/" OUTER "/kubelet/kubepods/pod" UUID "/" ID "\n",
		  UUID },
		{ "a static pod", "0::/kubepods/pod" TASK "/" ID "\n", "" },
		{ "podman", "0::/machine.slice/libpod-" ID ".scope\n", "" },
		{ "another word", "0::/tripod" UUID "\n", "" },
		{ "more digits", "0::/pod" UUID "0\n", "" },
		{ "too short", "0::/pod0c1d2e3f-4a5b\n", "" },
		{ "no digits", "0::/podxc1d2e3f-4a5b-4c6d-8e9f-0123456789ab\n", "" },
		{ "at the beginning", "pod" UUID "\n", "" },
		{ "nothing", "", "" },
		{ "only newlines", "\n\n", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char uid[POD_UID_SIZE] = "x";
		bool found = pod_uid_parse(rows[i].text, strlen(rows[i].text), uid);

		if (strcmp(uid, rows[i].uid) != 0 || found != (rows[i].uid[0] != '\0'))
			fail_msg("%s: got '%s', not '%s'", rows[i].what, uid, rows[i].uid);
	}
}

/* The parser writes to its input: give it memory of exactly that size. */
static char *copy_text(const char *text, size_t length)
{
	char *copy = malloc(length + 1);

	assert_non_null(copy);
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

static size_t parse_maps(const char *text, struct proc_mapping *found, size_t room, char **copy)
{
	size_t length = strlen(text), count = 0;
	char *at = *copy = copy_text(text, length);

	while (proc_maps_next(&at, *copy + length, &found[count]))
		assert_true(++count < room);
	return count;
}

static void maps_are_read(void **state)
{
	struct proc_mapping found[8];
	char *copy;

	(void)state;
	assert_int_equal(
		parse_maps("55d0c0000000-55d0c0001000 r--p 00000000 fe:01 1234   /usr/bin/a b\n"
			   "55d0c0001000-55d0c0005000 r-xp 00001000 fe:01 1234   /usr/bin/a b\n"
			   "7f0000000000-7f0000002000 rwxp 00000000 00:00 0 \n"
			   "7f0000002000-7f0000003000 r-xs 0000f000 103:05 99   /x (deleted)\n"
			   "7fff00000000-7fff00002000 r-xp 00000000 00:00 0   [vdso]",
			   found, 8, &copy),
		5);
	assert_false(found[0].executable);
	assert_true(found[1].executable);
	assert_int_equal(found[1].start, 0x55d0c0001000);
	assert_int_equal(found[1].limit, 0x55d0c0005000);
	assert_int_equal(found[1].file_offset, 0x1000);
	assert_int_equal(found[1].device, makedev(0xfe, 1));
	assert_int_equal(found[1].inode, 1234);
	assert_string_equal(found[1].path, "/usr/bin/a b");
	assert_string_equal(found[2].path, "//anon");
	assert_int_equal(found[2].inode, 0);
	assert_int_equal(found[3].device, makedev(0x103, 5));
	assert_string_equal(found[3].path, "/x (deleted)");
	assert_int_equal(proc_path_length(found[3].path, found[3].path_length), 2);
	assert_string_equal(found[4].path, "[vdso]");
	free(copy);
}

static void hostile_maps_do_no_harm(void **state)
{
	static const char good[] = "1000-2000 r-xp 00000000 08:01 7   /tmp/a\\012b\\0123\\01\n";
	struct proc_mapping found[8];
	char *copy;

	(void)state;
	// A newline in a path is escaped, so a path cannot fake a line.
	assert_int_equal(parse_maps(good, found, 8, &copy), 1);
	assert_string_equal(found[0].path, "/tmp/a\nb\n3\\01");
	assert_int_equal(found[0].path_length, strlen(found[0].path));
	free(copy);
	// Lines that are none are passed over, the ones after them are not.
	assert_int_equal(parse_maps("\n\nx\n1000-\n1000-2000\n1000-2000 r-xp\n"
				    "2000-1000 r-xp 0 08:01 7 /backwards\n"
				    "1000-1000 r-xp 0 08:01 7 /empty\n"
				    "11112222333344445-1 r-xp 0 08:01 7 /overflow\n"
				    "1000-2000 r-xp 0 08:01 99999999999999999999999 /overflow\n"
				    "1000-2000 r-xp 0 fffffffff:01 7 /device\n"
				    "1000-2000 r-xp 0 08:01 8\n"
				    "3000-4000 r-xp 0 08:01 9 /last",
				    found, 8, &copy),
			 2);
	assert_int_equal(found[0].inode, 8);
	assert_string_equal(found[1].path, "/last");
	free(copy);
	// Cut off anywhere, it ends there.
	for (size_t length = 0; length < sizeof(good); length++) {
		char *at = copy = copy_text(good, length), *end = copy + length;

		while (proc_maps_next(&at, end, &found[0]))
			assert_int_equal(strlen(found[0].path), found[0].path_length);
		free(copy);
	}
}

static void stat_is_read(void **state)
{
	static const char usual[] =
		"42 (a) b (c)) S 7 42 42 34816 -1 4194304 1 2 3 4 5 6 7 8 20 -5 3 0 123456 0 0\n";
	static const char escaped[] =
		"42 (a\\nb\\\\c) R 7 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 9 0\n";
	static const char kworker[] = "9 (kworker/u16:1-events_unbound) I 2 0 0 0 -1 69238880 0 0 "
				      "0 0 0 0 0 0 20 0 1 0 77 0\n";
	struct proc_stat stat;

	(void)state;
	assert_true(proc_stat_parse(usual, strlen(usual), &stat));
	assert_string_equal(stat.comm, "a) b (c)");
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent, 7);
	assert_int_equal(stat.threads, 3);
	assert_int_equal(stat.start_ticks, 123456);
	assert_true(proc_stat_parse(escaped, strlen(escaped), &stat));
	assert_string_equal(stat.comm, "a\nb\\c");
	assert_int_equal(stat.start_ticks, 9);
	assert_true(proc_stat_parse(kworker, strlen(kworker), &stat));
	assert_string_equal(stat.comm, "kworker/u16:1-e");
	for (size_t length = 0; length < strlen(usual) - 5; length++) {
		char *copy = copy_text(usual, length);

		assert_false(proc_stat_parse(copy, length, &stat));
		free(copy);
	}
	assert_false(proc_stat_parse(") S (", 5, &stat));
	assert_false(proc_stat_parse("1 (x)", 5, &stat));
}

static void cpu_lists_are_read(void **state)
{
	static const char *const broken[] = {
		"x",     "0-",  "-3", "3-1",   "0,0",  "1,0",    "0,,1",
		"0-1-2", "0 1", "0,", "5,3-9", "0\n1", "999999", "0-99999999999999999999"
	};
	struct cpu_list list = { 0 };

	(void)state;
	assert_int_equal(cpu_list_parse(&list, "0-2,5,8-9\n"), 0);
	assert_int_equal(list.cpus.count, 6);
	assert_int_equal(list.cpus.items[2], 2);
	assert_int_equal(list.cpus.items[3], 5);
	assert_int_equal(list.cpus.items[5], 9);
	assert_int_equal(cpu_list_parse(&list, "0"), 0);
	assert_int_equal(list.cpus.count, 1);
	assert_int_equal(cpu_list_parse(&list, "\n"), 0);
	assert_int_equal(list.cpus.count, 0);
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		if (cpu_list_parse(&list, broken[i]) != -EINVAL)
			fail_msg("'%s' was taken for a list of CPUs", broken[i]);
	cpu_list_deinit(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers_are_told_from_cgroup_paths),
		cmocka_unit_test(pods_are_told_from_cgroup_paths),
		cmocka_unit_test(maps_are_read),
		cmocka_unit_test(hostile_maps_do_no_harm),
		cmocka_unit_test(stat_is_read),
		cmocka_unit_test(cpu_lists_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
/* The processor `memory_limiter`: what it counts, when it refuses, and that it recovers. */
#include "processor_fixture.h"
#include "shop_batch.h"

#include "processors/memory_limiter/usage.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

extern const struct profcol_component profcol_processor_memory_limiter;

#define PROCESSOR (&profcol_processor_memory_limiter)
#define MIB       UINT64_C(1048576)
#define SECOND    UINT64_C(1000000000)

/* ---- a tree of files ---- */

struct tree {
	char path[64];
	int fd;
};

static void tree_init(struct tree *tree)
{
	strcpy(tree->path, "/tmp/profcol-limiter-XXXXXX");
	assert_non_null(mkdtemp(tree->path));
	tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY);
	assert_true(tree->fd >= 0);
}

static void tree_deinit(struct tree *tree)
{
	char command[128];

	close(tree->fd);
	snprintf(command, sizeof(command), "rm -r '%s'", tree->path);
	assert_int_equal(system(command), 0);
}

/* A file, with the directories above it. */
static void tree_write(const struct tree *tree, const char *path, const char *text)
{
	char directory[256];
	FILE *file;
	int fd;

	for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
		snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path), path);
		mkdirat(tree->fd, directory, 0755);
	}
	fd = openat(tree->fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	file = fdopen(fd, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* ---- what is counted ---- */

static void pages_in_memory_and_maps_are_counted(void **state)
{
	struct tree tree;
	struct usage usage;
	uint64_t bytes;

	(void)state;
	tree_init(&tree);
	tree_write(&tree, "status",
		   "Name:\tx\nVmRSS:\t 9000 kB\nRssAnon:\t 2000 kB\nRssFile:\t 6000 kB\n"
		   "RssShmem:\t 1000 kB\n");
	usage_init(&usage, dup(tree.fd));
	assert_int_equal(usage_read(&usage, 1 * SECOND, &bytes), 0);
	assert_int_equal(bytes, 3000 * 1024);

	tree_write(&tree, "fdinfo/3", "pos:\t0\nmap_type:\t1\nmemlock:\t4096\nmap_id:\t7\n");
	tree_write(&tree, "fdinfo/4", "pos:\t0\nmap_type:\t1\nmemlock:\t4096\nmap_id:\t7\n");
	tree_write(&tree, "fdinfo/5", "pos:\t0\nmap_type:\t27\nmemlock:\t1048576\nmap_id:\t8\n");
	tree_write(&tree, "fdinfo/6", "pos:\t0\nprog_type:\t2\nmemlock:\t12288\nprog_id:\t9\n");
	tree_write(&tree, "fdinfo/7", "pos:\t0\nmemlock:\t77777\nmap_id:\t10\n");
	mkdirat(tree.fd, "fd", 0755);
	assert_int_equal(symlinkat("anon_inode:bpf-map", tree.fd, "fd/3"), 0);
	assert_int_equal(symlinkat("anon_inode:bpf-map", tree.fd, "fd/4"), 0);
	assert_int_equal(symlinkat("anon_inode:bpf-map", tree.fd, "fd/5"), 0);
	assert_int_equal(symlinkat("anon_inode:bpf-prog", tree.fd, "fd/6"), 0);
	assert_int_equal(symlinkat("/tmp/anon_inode:bpf-map", tree.fd, "fd/7"), 0);
	assert_int_equal(symlinkat("anon_inode:bpf-map", tree.fd, "fd/8"), 0);
	// Not before ten seconds.
	assert_int_equal(usage_read(&usage, 2 * SECOND, &bytes), 0);
	assert_int_equal(bytes, 3000 * 1024);
	assert_int_equal(usage_read(&usage, 12 * SECOND, &bytes), 0);
	assert_int_equal(bytes, 3000 * 1024 + 4096 + 1048576);

	tree_write(&tree, "status", "Name:\tx\n");
	assert_true(usage_read(&usage, 13 * SECOND, &bytes) < 0);
	usage_deinit(&usage);
	tree_deinit(&tree);
}

static void the_narrowest_limit_holds_for_the_own_cgroup(void **state)
{
	struct tree tree;
	struct cgroup cgroup;
	uint64_t bytes;

	(void)state;
	tree_init(&tree);
	tree_write(&tree, "cgroup", "0::/kubepods/pod1/container\n");
	tree_write(&tree, "mountinfo",
		   "24 1 0:22 / / rw - ext4 /dev/x rw\n"
		   "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/memory.max", "1073741824\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/memory.current", "1000000000\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/memory.stat", "file 0\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/pod1/memory.max", "536870912\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/pod1/memory.current", "500000000\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/pod1/memory.stat", "file 0\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/pod1/container/memory.max", "max\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/pod1/container/memory.current", "400000000\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/pod1/container/memory.stat",
		   "anon 1\nfile 100000000\nshmem 30000000\nfile_mapped 9\n"
		   "slab_reclaimable 50000000\nslab_unreclaimable 7000000\nslab 57000000\n");
	assert_int_equal(cgroup_init(&cgroup, tree.fd, tree.fd), 0);
	assert_true(cgroup.fd >= 0 && cgroup.is_second);
	assert_int_equal(cgroup.limit_bytes, 536870912);
	// Neighbours in the pod use the rest of the 500 MB; what the kernel can take back is free.
	assert_int_equal(cgroup_read(&cgroup, &bytes), 0);
	assert_int_equal(bytes, 400000000 - 70000000 - 50000000);
	cgroup_deinit(&cgroup);

	// Where the controller is not passed on, the kernel counts for the next one above.
	tree_write(&tree, "cgroup", "0::/kubepods/pod1/container/init\n");
	mkdirat(tree.fd, "sys/fs/cgroup/kubepods/pod1/container/init", 0755);
	assert_int_equal(cgroup_init(&cgroup, tree.fd, tree.fd), 0);
	assert_int_equal(cgroup.limit_bytes, 536870912);
	assert_int_equal(cgroup_read(&cgroup, &bytes), 0);
	assert_int_equal(bytes, 400000000 - 70000000 - 50000000);
	cgroup_deinit(&cgroup);

	// Figures that have changed between two files leave nothing below zero.
	tree_write(&tree, "sys/fs/cgroup/kubepods/pod1/container/memory.current", "4096\n");
	assert_int_equal(cgroup_init(&cgroup, tree.fd, tree.fd), 0);
	assert_int_equal(cgroup_read(&cgroup, &bytes), 0);
	assert_int_equal(bytes, 0);
	cgroup_deinit(&cgroup);
	tree_deinit(&tree);
}

static void a_part_of_the_hierarchy_is_enough(void **state)
{
	struct tree tree;
	struct cgroup cgroup;
	uint64_t bytes;

	(void)state;
	tree_init(&tree);
	tree_write(&tree, "cgroup", "0::/kubepods/pod1/container\n");
	tree_write(&tree, "mountinfo",
		   "30 24 0:26 /kubepods/pod1 /sys/fs/cgroup/kubepods rw - cgroup2 none rw\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/memory.max", "1073741824\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/memory.current", "800000\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/memory.stat", "file 100000\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/container/memory.max", "999424\n");
	tree_write(&tree, "sys/fs/cgroup/kubepods/container/memory.current", "700000\n");
	assert_int_equal(cgroup_init(&cgroup, tree.fd, tree.fd), 0);
	assert_int_equal(cgroup.limit_bytes, 999424);
	cgroup_deinit(&cgroup);
	// A namespace of its own, entered from outside.
	tree_write(&tree, "cgroup", "0::/../other\n");
	assert_int_equal(cgroup_init(&cgroup, tree.fd, tree.fd), 0);
	assert_int_equal(cgroup.limit_bytes, 1073741824);
	assert_int_equal(cgroup_read(&cgroup, &bytes), 0);
	assert_int_equal(bytes, 700000);
	cgroup_deinit(&cgroup);
	// Nobody has a limit: the process's own figure counts.
	tree_write(&tree, "sys/fs/cgroup/kubepods/memory.max", "max\n");
	assert_int_equal(cgroup_init(&cgroup, tree.fd, tree.fd), 0);
	assert_int_equal(cgroup.fd, -1);
	cgroup_deinit(&cgroup);
	tree_deinit(&tree);
}

static void the_first_version_is_known_too(void **state)
{
	struct tree tree;
	struct cgroup cgroup;
	uint64_t bytes;

	(void)state;
	tree_init(&tree);
	tree_write(&tree, "cgroup", "5:cpu,cpuacct:/a\n4:memory:/docker/x\n0::/y\n");
	tree_write(&tree, "mountinfo",
		   "30 24 0:26 / /cg/unified rw - cgroup2 none rw\n"
		   "31 24 0:27 / /cg/cpu rw - cgroup none rw,cpu,cpuacct\n"
		   "32 24 0:28 / /cg/memory rw - cgroup none rw,memory\n");
	tree_write(&tree, "cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
	tree_write(&tree, "cg/memory/docker/memory.limit_in_bytes", "268435456\n");
	tree_write(&tree, "cg/memory/docker/memory.usage_in_bytes", "260000000\n");
	tree_write(&tree, "cg/memory/docker/memory.stat", "total_rss 260000000\n");
	tree_write(&tree, "cg/memory/docker/x/memory.limit_in_bytes", "9223372036854771712\n");
	// Its kernel memory is not told apart: what of it can be taken back is in the usage.
	tree_write(&tree, "cg/memory/docker/x/memory.usage_in_bytes", "200000000\n");
	tree_write(&tree, "cg/memory/docker/x/memory.stat",
		   "cache 1\nrss 1\nshmem 1\ntotal_cache 50000000\ntotal_rss 90000000\n"
		   "total_rss_huge 5\ntotal_shmem 10000000\n");
	assert_int_equal(cgroup_init(&cgroup, tree.fd, tree.fd), 0);
	assert_true(cgroup.fd >= 0 && !cgroup.is_second);
	assert_int_equal(cgroup.limit_bytes, 268435456);
	assert_int_equal(cgroup_read(&cgroup, &bytes), 0);
	assert_int_equal(bytes, 100000000);
	tree_write(&tree, "cg/memory/docker/x/memory.stat", "cache 1\n");
	assert_true(cgroup_read(&cgroup, &bytes) < 0);
	cgroup_deinit(&cgroup);
	tree_write(&tree, "cg/memory/docker/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(cgroup_init(&cgroup, tree.fd, tree.fd), 0);
	assert_int_equal(cgroup.fd, -1);
	cgroup_deinit(&cgroup);
	tree_deinit(&tree);
}

static void without_cgroups_the_machine_counts(void **state)
{
	struct tree tree;
	struct cgroup cgroup;
	uint64_t bytes;

	(void)state;
	tree_init(&tree);
	tree_write(&tree, "cgroup", "2:cpu:/\n");
	assert_int_equal(cgroup_init(&cgroup, tree.fd, tree.fd), 0);
	assert_int_equal(cgroup.fd, -1);
	tree_write(&tree, "meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
	assert_int_equal(cgroup_read_machine(tree.fd, &bytes), 0);
	assert_int_equal(bytes, 16 * MIB);
	tree_write(&tree, "meminfo", "MemFree: 1 kB\n");
	assert_true(cgroup_read_machine(tree.fd, &bytes) < 0);
	tree_deinit(&tree);
}

/* ---- when it refuses ---- */

static void wait_for_status(struct processor *processor, enum profcol_status status)
{
	for (int i = 0; atomic_load(&processor->fake.status) != (int)status; i++) {
		if (i == 2000)
			fail_msg("the status stays %d", atomic_load(&processor->fake.status));
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
}

static uint64_t memory_now(void)
{
	struct usage usage;
	uint64_t bytes;

	usage_init(&usage, open("/proc/self", O_RDONLY | O_DIRECTORY));
	assert_int_equal(usage_read(&usage, 1, &bytes), 0);
	usage_deinit(&usage);
	return bytes;
}

static void above_the_limit_batches_are_refused_until_memory_is_free(void **state)
{
	const size_t much = 96 * MIB;
	struct processor processor;
	struct profcol_error *error;
	char yaml[128], *memory;

	(void)state;
	snprintf(yaml, sizeof(yaml), "{check_interval: 5ms, limit_mib: %llu, spike_limit_mib: 16}",
		 (unsigned long long)(memory_now() / MIB + 64));
	processor_start(&processor, PROCESSOR, yaml);
	assert_non_null(processor_consume(&processor, shop_batch_create()));
	assert_int_equal(fake_host_metric(&processor.fake, "memory_limiter_refused_samples"), 0);

	memory = mmap(NULL, much, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	memset(memory, 1, much);
	wait_for_status(&processor, PROFCOL_STATUS_RECOVERABLE_ERROR);
	error = PROCESSOR->consume(processor.fake.instance, shop_batch_create());
	assert_non_null(error);
	assert_string_equal(profcol_error_message(error), "data refused due to high memory usage");
	assert_int_equal(profcol_error_code(error), PROFCOL_UNAVAILABLE);
	assert_false(profcol_error_is_counted(error));
	profcol_error_destroy(error);
	assert_int_equal(processor.passed_count, 1);
	assert_int_equal(fake_host_metric(&processor.fake, "memory_limiter_refused_samples"),
			 SHOP_EVENTS + CRON_EVENTS);
	// It may have been seen before all of the memory was written.
	assert_true(fake_host_metric(&processor.fake, "memory_limiter_used_bytes") >=
		    fake_host_metric(&processor.fake, "memory_limiter_soft_limit_bytes"));
	assert_int_equal(fake_host_log_count(&processor.fake,
					     "Memory usage is above soft limit. Refusing data."),
			 1);

	munmap(memory, much);
	wait_for_status(&processor, PROFCOL_STATUS_OK);
	assert_non_null(processor_consume(&processor, shop_batch_create()));
	assert_int_equal(fake_host_log_count(&processor.fake, "Resuming normal operation."), 1);
	processor_deinit(&processor);
}

static void who_asks_for_room_gets_what_is_below_the_soft_limit(void **state)
{
	struct processor processor;
	char yaml[128];

	(void)state;
	snprintf(yaml, sizeof(yaml), "{check_interval: 1h, limit_mib: %llu, spike_limit_mib: 16}",
		 (unsigned long long)(memory_now() / MIB + 128));
	processor_start(&processor, PROCESSOR, yaml);
	assert_true(PROCESSOR->has_room(processor.fake.instance, 16 * MIB));
	assert_false(PROCESSOR->has_room(processor.fake.instance, 128 * MIB));
	assert_true(PROCESSOR->has_room(processor.fake.instance, 16 * MIB));
	processor_deinit(&processor);
	// Who refuses batches lets nothing in.
	processor_start(&processor, PROCESSOR,
			"{check_interval: 1h, limit_mib: 2, spike_limit_mib: 1}");
	assert_false(PROCESSOR->has_room(processor.fake.instance, 1));
	processor_deinit(&processor);
}

static void the_first_batch_is_refused_too(void **state)
{
	struct processor processor;
	struct profcol_error *error;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"{check_interval: 1h, limit_mib: 2, spike_limit_mib: 1}");
	error = PROCESSOR->consume(processor.fake.instance, shop_batch_create());
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_UNAVAILABLE);
	profcol_error_destroy(error);
	assert_int_equal(processor.passed_count, 0);
	processor_deinit(&processor);
}

static void a_share_of_the_memory_is_a_limit_too(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"{check_interval: 1h, limit_percentage: 80, spike_limit_percentage: 20}");
	assert_int_equal(fake_host_log_count(&processor.fake, "Using percentage memory limiter"),
			 1);
	// Whether a batch passes is up to the machine.
	assert_true(fake_host_metric(&processor.fake, "memory_limiter_soft_limit_bytes") > 0);
	assert_int_equal(fake_host_log_count(&processor.fake, "Memory limiter configured"), 1);
	processor_deinit(&processor);
	// The fixed one goes first, and a fifth of it is the default.
	processor_start(&processor, PROCESSOR,
			"{check_interval: 1h, limit_percentage: 80, limit_mib: 100000}");
	assert_int_equal(fake_host_metric(&processor.fake, "memory_limiter_soft_limit_bytes"),
			 80000 * MIB);
	processor_deinit(&processor);
}

static void keys_of_a_garbage_collector_get_one_line(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(
		&processor, PROCESSOR,
		"{check_interval: 1s, limit_mib: 100000, min_gc_interval_when_soft_limited: "
		"20s}");
	assert_int_equal(fake_host_log_count(&processor.fake, "have no effect"), 1);
	processor_deinit(&processor);
	processor_start(&processor, PROCESSOR, "{check_interval: 1s, limit_mib: 100000}");
	assert_int_equal(fake_host_log_count(&processor.fake, "have no effect"), 0);
	processor_deinit(&processor);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *yaml, *text;
	} rows[] = {
		{ "{}", "'check_interval' must be greater than zero" },
		{ "check_interval: 1s",
		  "'limit_mib' or 'limit_percentage' must be greater than zero" },
		{ "{check_interval: 1s, limit_percentage: 101}",
		  "'limit_percentage' and 'spike_limit_percentage' must be greater than zero and "
		  "less than or equal to hundred" },
		{ "{check_interval: 1s, limit_percentage: 50, spike_limit_percentage: 500}",
		  "less than or equal to hundred" },
		{ "{check_interval: 1s, limit_mib: 10, spike_limit_mib: 10}",
		  "'spike_limit_mib' must be smaller than 'limit_mib'" },
		{ "{check_interval: 1s, limit_percentage: 50, spike_limit_percentage: 50}",
		  "'spike_limit_percentage' must be smaller than 'limit_percentage'" },
		{ "{check_interval: 1s, limit_mib: 9, min_gc_interval_when_hard_limited: 11s}",
		  "'min_gc_interval_when_soft_limited' should be larger than "
		  "'min_gc_interval_when_hard_limited'" },
		{ "{check_interval: 1s, limit_mib: 9, max_gc_interval_when_soft_limited: 9s}",
		  "'max_gc_interval_when_soft_limited' must be greater than or equal to "
		  "'min_gc_interval_when_soft_limited'" },
		{ "{check_interval: 1s, limit_mib: 9, max_gc_interval_when_soft_limited: 20s}",
		  "'max_gc_interval_when_soft_limited' should be larger than or equal to "
		  "'max_gc_interval_when_hard_limited' (when both are set)" },
		{ "{check_interval: 1s, limit_mib: -1}", "limit_mib" },
		{ "{check_interval: 1s, limit: 5}", "invalid keys: limit" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_refused(PROCESSOR, rows[i].yaml, rows[i].text);
}

/* More than the lowest limits of these tests: without a sanitizer a process is smaller than that.
 */
static char held[8 * MIB];

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_in_memory_and_maps_are_counted),
		cmocka_unit_test(the_narrowest_limit_holds_for_the_own_cgroup),
		cmocka_unit_test(a_part_of_the_hierarchy_is_enough),
		cmocka_unit_test(the_first_version_is_known_too),
		cmocka_unit_test(without_cgroups_the_machine_counts),
		cmocka_unit_test(above_the_limit_batches_are_refused_until_memory_is_free),
		cmocka_unit_test(who_asks_for_room_gets_what_is_below_the_soft_limit),
		cmocka_unit_test(the_first_batch_is_refused_too),
		cmocka_unit_test(a_share_of_the_memory_is_a_limit_too),
		cmocka_unit_test(keys_of_a_garbage_collector_get_one_line),
		cmocka_unit_test(what_makes_no_sense_is_refused),
	};

	memset(held, 1, sizeof(held));
	return cmocka_run_group_tests(tests, NULL, NULL);
}

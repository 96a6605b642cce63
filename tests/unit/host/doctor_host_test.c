// SPDX-License-Identifier: Apache-2.0
/* A machine with limits, played by a directory with its /proc and /sys. */
#include "host/commands/doctor_host.h"
#include "host/commands/doctor_http.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

static struct {
	struct profcol_findings base;
	char text[4096]; /* "subject=verdict:detail|" of each */
} seen;

static char root[64];

static void see(struct profcol_findings *findings, const struct profcol_finding *finding)
{
	static const char *const verdicts[] = { "fine", "lacking", "missing" };
	size_t used = strlen(seen.text);

	(void)findings;
	snprintf(seen.text + used, sizeof(seen.text) - used, "%s=%s:%s|", finding->subject,
		 verdicts[finding->verdict], finding->detail);
}

static struct profcol_error *try_http(struct profcol_findings *findings,
				      const struct profcol_http_settings *settings)
{
	CLEANUP(doctor_http_deinit) struct doctor_http http = { 0 };

	(void)findings;
	return doctor_http_try(&http, settings);
}

static void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *slash = path + strlen(root); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/profcol-machine-XXXXXX");
	assert_non_null(mkdtemp(root));
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static void diagnose(const struct config_service *service)
{
	static const struct config_service nothing;

	memset(&seen, 0, sizeof(seen));
	seen.base = (struct profcol_findings){ .add = see, .try_http = try_http };
	doctor_host_diagnose(root, service ? service : &nothing, &seen.base);
}

static void expect(const char *text)
{
	if (!strstr(seen.text, text))
		fail_msg("no '%s' in: %s", text, seen.text);
}

static void without_limits_all_is_fine(void **state)
{
	(void)state;
	diagnose(NULL);
	expect("system=fine:");
	expect("memory=fine:no limit|");
	expect("no limit on their use|");
	assert_null(strstr(seen.text, "lacking"));
}

static void the_tightest_limit_on_the_way_up_counts(void **state)
{
	(void)state;
	write_file("/proc/self/cgroup", "0::/pods/pod1/main\n");
	write_file("/sys/fs/cgroup/pods/pod1/main/cpu.max", "max 100000\n");
	write_file("/sys/fs/cgroup/pods/pod1/cpu.max", "5000 100000\n");
	write_file("/sys/fs/cgroup/pods/cpu.max", "200000 100000\n");
	write_file("/sys/fs/cgroup/pods/pod1/main/memory.max", "max\n");
	write_file("/sys/fs/cgroup/pods/memory.max", "67108864\n");
	diagnose(NULL);
	expect("of which profcol may use 0.05|");
	expect("CPUs=lacking:");
	expect("memory=lacking:limit 64 MiB|");
	write_file("/sys/fs/cgroup/pods/pod1/cpu.max", "50000 100000\n");
	write_file("/sys/fs/cgroup/pods/memory.max", "268435456\n");
	diagnose(NULL);
	expect("CPUs=fine:");
	expect("memory=fine:limit 256 MiB|");
}

static void a_machine_with_both_versions_of_groups_is_read(void **state)
{
	(void)state;
	write_file("/proc/self/cgroup", "1:name=systemd:/x\n0::/\n");
	write_file("/sys/fs/cgroup/memory.max", "1048576\n");
	diagnose(NULL);
	expect("memory=lacking:limit 1 MiB|");
}

static void limits_of_the_first_version_of_groups_are_read(void **state)
{
	(void)state;
	write_file("/proc/self/cgroup", "12:memory:/docker/a\n4:cpu,cpuacct:/docker/a\n0::/x\n");
	write_file("/sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes", "67108864\n");
	write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	write_file("/sys/fs/cgroup/cpu/docker/a/cpu.cfs_quota_us", "-1\n");
	write_file("/sys/fs/cgroup/cpu/docker/a/cpu.cfs_period_us", "100000\n");
	write_file("/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "5000\n");
	write_file("/sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000\n");
	diagnose(NULL);
	expect("memory=lacking:limit 64 MiB|");
	expect("of which profcol may use 0.05|");
	write_file("/sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes", "9223372036854771712\n");
	write_file("/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "-1\n");
	diagnose(NULL);
	expect("memory=fine:no limit|");
	expect("no limit on their use|");
}

static void a_limit_that_is_not_to_be_seen_is_unknown(void **state)
{
	(void)state;
	write_file("/proc/self/cgroup", "12:memory:/a\n4:cpu,cpuacct:/a\n");
	diagnose(NULL);
	expect("memory=fine:unknown limit: control groups are version 1");
	expect("CPUs=fine:unknown limit: control groups are version 1");
}

static void cpus_that_are_out_of_reach_are_told(void **state)
{
	cpu_set_t before, one;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (CPU_COUNT(&before) < 2) {
		print_message("needs two CPUs\n");
		skip();
	}
	CPU_ZERO(&one);
	for (int i = 0; !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	diagnose(NULL);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	expect("profcol may run on 1 of them");
}

static void a_port_in_use_is_missing(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	CLEANUP_FD int fd = socket(AF_INET, SOCK_STREAM, 0);
	char endpoint[32];
	struct config_metrics_reader reader = { .endpoint = endpoint };
	const struct config_service service = {
		.metrics = { .level = CONFIG_METRICS_NORMAL,
			     .readers = &reader,
			     .reader_count = 1 },
	};

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
	snprintf(endpoint, sizeof(endpoint), "127.0.0.1:%u", ntohs(address.sin_port));
	diagnose(&service);
	expect("metrics=missing:");
	expect(endpoint);
	close(TAKE_FD(fd));
	diagnose(&service);
	expect("metrics=fine:");
}

static void a_log_that_cannot_be_written_is_missing(void **state)
{
	char path[128];
	const char *paths[] = { "stderr", path };
	const struct config_service service = {
		.logs = { .output_paths = { .items = paths, .count = 2 } },
	};

	(void)state;
	snprintf(path, sizeof(path), "%s/no/such/log", root);
	diagnose(&service);
	expect("log=missing:cannot write to '");
	snprintf(path, sizeof(path), "%s/log", root);
	diagnose(&service);
	expect("log=fine:");
	assert_int_equal(access(path, F_OK), -1); // it only looked
}

/* Whether the service could log to @path, as either key. */
static bool can_log_to(const char *path)
{
	const struct profcol_list paths = { .items = &path, .count = 1 };
	const struct config_service lines = { .logs = { .output_paths = paths } };
	const struct config_service faults = { .logs = { .error_output_paths = paths } };
	bool fine;

	diagnose(&lines);
	fine = strstr(seen.text, "log=fine:");
	if (!fine)
		expect("log=missing:");
	diagnose(&faults);
	expect(fine ? "log=fine:" : "log=missing:");
	return fine;
}

static void what_is_no_file_cannot_be_logged_to(void **state)
{
	char path[128];

	(void)state;
	assert_false(can_log_to(root));
	assert_false(can_log_to(""));
	assert_false(can_log_to("http://localhost/log"));
	snprintf(path, sizeof(path), "%s/new/", root);
	assert_false(can_log_to(path));
	snprintf(path, sizeof(path), "file://%s/new", root);
	assert_true(can_log_to(path));
	assert_true(can_log_to("/dev/null"));
}

#define WITH_MACHINE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MACHINE(without_limits_all_is_fine),
		WITH_MACHINE(the_tightest_limit_on_the_way_up_counts),
		WITH_MACHINE(a_machine_with_both_versions_of_groups_is_read),
		WITH_MACHINE(limits_of_the_first_version_of_groups_are_read),
		WITH_MACHINE(a_limit_that_is_not_to_be_seen_is_unknown),
		WITH_MACHINE(cpus_that_are_out_of_reach_are_told),
		WITH_MACHINE(a_port_in_use_is_missing),
		WITH_MACHINE(a_log_that_cannot_be_written_is_missing),
		WITH_MACHINE(what_is_no_file_cannot_be_logged_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

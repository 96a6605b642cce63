// SPDX-License-Identifier: Apache-2.0
/*
 * Machines that are not at hand, played by a directory with their /proc and /sys.
 */
#include "requirements.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct machine {
	struct requirements_environment environment;
	char root[64];
	int missing[8];      /* capabilities, ends with -1 */
	const uint8_t *code; /* of copy_from_user_nofault */
	size_t code_length;
	char warnings[1024];
	struct profcol_logger logger;
};

static struct machine machine;

static bool has_capability(void *context, int capability)
{
	(void)context;
	for (const int *missing = machine.missing; *missing >= 0; missing++)
		if (*missing == capability)
			return false;
	return true;
}

static struct profcol_error *read_kernel_text(void *context, uint64_t address, uint8_t *code,
					      size_t length)
{
	(void)context;
	(void)address;
	if (!machine.code)
		return profcol_error_create(PROFCOL_SYSTEM, "not allowed");
	memset(code, 0x90, length);
	memcpy(code, machine.code, machine.code_length);
	return NULL;
}

static void keep_warning(const struct profcol_logger *logger, enum profcol_level level,
			 const char *format, va_list arguments)
{
	size_t used = strlen(machine.warnings);

	(void)logger;
	(void)level;
	vsnprintf(machine.warnings + used, sizeof(machine.warnings) - used, format, arguments);
}

static void write_file(const char *name, const char *text)
{
	char path[256], *slash;
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", machine.root, name);
	for (slash = strchr(path + strlen(machine.root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void set_release(const char *release)
{
	snprintf(machine.environment.kernel_release, sizeof(machine.environment.kernel_release),
		 "%s", release);
}

/* The pid namespace that the machine's /proc shows for this process. */
static void set_pid_namespace(const char *link)
{
	char path[128];

	write_file("/proc/self/ns/placeholder", "");
	snprintf(path, sizeof(path), "%s/proc/self/ns/pid", machine.root);
	unlink(path);
	assert_int_equal(symlink(link, path), 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(&machine, 0, sizeof(machine));
	strcpy(machine.root, "/tmp/profcol-machine-XXXXXX");
	assert_non_null(mkdtemp(machine.root));
	machine.missing[0] = -1;
	machine.logger =
		(struct profcol_logger){ sizeof(machine.logger), PROFCOL_DEBUG, keep_warning };
	machine.environment = (struct requirements_environment){
		.root = machine.root,
		.kernel_release = "6.8.0-45-generic",
		.machine = REQUIREMENTS_AMD64,
		.memlock_bytes = 64 << 10,
		.has_capability = has_capability,
		.read_kernel_text = read_kernel_text,
	};
	write_file("/sys/kernel/btf/vmlinux", "BTF");
	write_file("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	write_file("/proc/sys/kernel/perf_event_paranoid", "2\n");
	write_file("/proc/1/status", "Name:\tinit\n");
	set_pid_namespace("pid:[4026531836]");
	write_file("/proc/kallsyms", "ffffffff81086000 T nmi_uaccess_okay\n"
				     "ffffffff81283de0 T copy_from_user_nofault\n");
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", machine.root);
	return system(command);
}

/* The error must begin with @cause and name @remedy. */
static void expect_refusal(const char *cause, const char *remedy)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		requirements_check(&machine.environment, false, &machine.logger);

	assert_non_null(error);
	if (strncmp(profcol_error_message(error), cause, strlen(cause)) ||
	    !strstr(profcol_error_message(error), remedy))
		fail_msg("unexpected: %s", profcol_error_message(error));
}

static void expect_acceptance(void)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		requirements_check(&machine.environment, false, &machine.logger);

	if (error)
		fail_msg("unexpected: %s", profcol_error_message(error));
}

static void a_usual_machine_is_accepted_silently(void **state)
{
	(void)state;
	expect_acceptance();
	assert_string_equal(machine.warnings, "");
}

static void a_missing_capability_is_named_first(void **state)
{
	(void)state;
	machine.missing[0] = CAP_PERFMON;
	machine.missing[1] = CAP_SYS_ADMIN;
	machine.missing[2] = -1;
	expect_refusal("missing capability CAP_PERFMON", "grant it");
	machine.missing[0] = CAP_BPF;
	expect_refusal("missing capability CAP_BPF", "grant it");
}

static void sys_admin_stands_in_for_newer_capabilities(void **state)
{
	(void)state;
	machine.missing[0] = CAP_PERFMON;
	machine.missing[1] = CAP_BPF;
	machine.missing[2] = -1;
	expect_acceptance();
}

static void a_capability_that_only_narrows_the_result_is_a_warning(void **state)
{
	(void)state;
	machine.missing[0] = CAP_SYS_PTRACE;
	machine.missing[1] = -1;
	expect_acceptance();
	assert_non_null(strstr(machine.warnings, "CAP_SYS_PTRACE"));
}

static void lockdown_in_confidentiality_mode_is_refused(void **state)
{
	(void)state;
	write_file("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	expect_refusal("kernel lockdown is in confidentiality mode", "lockdown=integrity");
	write_file("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	expect_acceptance();
}

static void a_kernel_without_type_information_is_refused(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", machine.root);
	unlink(path);
	expect_refusal("the kernel's type information is not readable at "
		       "'/sys/kernel/btf/vmlinux'",
		       "CONFIG_DEBUG_INFO_BTF");
}

static void a_pid_namespace_of_its_own_is_accepted(void **state)
{
	(void)state;
	set_pid_namespace("pid:[4026532201]");
	expect_acceptance();
}

static void a_kernel_too_old_is_refused_unless_the_check_is_off(void **state)
{
	(void)state;
	set_release("5.4.0-150-generic");
	expect_refusal("kernel 5.4.0-150-generic is too old", "5.10");
	assert_null(requirements_check(&machine.environment, true, &machine.logger));
	set_release("5.10.0");
	expect_acceptance();
	set_release("wombat");
	expect_refusal("kernel release 'wombat' is not a version", "no_kernel_version_check");
}

/* call nmi_uaccess_okay: e8, displacement from the end of the call at offset 8. */
static const uint8_t *mended_code(void)
{
	static uint8_t code[16] = { 0x55, 0x48, 0x89, 0xe5, 0xe8 };
	int32_t displacement = (int32_t)(0xffffffff81086000 - (0xffffffff81283de0 + 9));

	memcpy(code + 5, &displacement, sizeof(displacement));
	return code;
}

static void the_hanging_user_copy_is_recognised_in_the_code_not_by_version(void **state)
{
	static const uint8_t faulty[16] = { 0x55, 0x48, 0x89, 0xe5, 0xe8, 1, 2, 3, 4 };

	(void)state;
	machine.code_length = 16;
	set_release("6.1.0-18-amd64");
	machine.code = faulty;
	expect_refusal("kernel 6.1.0-18-amd64 lacks the fix", "6.1.36");
	machine.code = mended_code();
	expect_acceptance();
	// Outside the range the code is not even looked at.
	machine.code = faulty;
	set_release("6.4.0");
	expect_acceptance();
	set_release("5.18.9");
	expect_acceptance();
	set_release("5.19.0");
	expect_refusal("kernel 5.19.0 lacks the fix", "no_kernel_version_check");
}

static void code_that_cannot_be_judged_is_refused_with_the_reason(void **state)
{
	(void)state;
	set_release("6.2.0");
	expect_refusal("cannot tell whether kernel 6.2.0 has the fix", "not allowed");
	write_file("/proc/kallsyms", "0000000000000000 T nmi_uaccess_okay\n"
				     "0000000000000000 T copy_from_user_nofault\n");
	expect_refusal("cannot tell whether kernel 6.2.0 has the fix", "CAP_SYSLOG");
}

static void on_arm64_the_test_for_kernel_threads_tells(void **state)
{
	// tbnz w1, #21, +8 among nops; tbnz w1, #26 is another flag.
	static const uint32_t faulty[] = { 0xd503201f, 0x37a80041, 0xd503201f };
	static const uint32_t mended[] = { 0xd503201f, 0x37d00041, 0xd503201f };

	(void)state;
	assert_false(requirements_user_copy_is_mended(REQUIREMENTS_ARM64, (const uint8_t *)faulty,
						      sizeof(faulty), 0, 0));
	assert_true(requirements_user_copy_is_mended(REQUIREMENTS_ARM64, (const uint8_t *)mended,
						     sizeof(mended), 0, 0));
}

static void the_code_of_the_next_function_is_not_judged(void **state)
{
	static uint8_t code[48];

	(void)state;
	// The call that mends stands behind the end of the function.
	memset(code, 0x90, sizeof(code));
	memcpy(code + 32, mended_code(), 9);
	for (int i = 0; i < 4; i++)
		code[37 + i] = (uint8_t)((0xffffffff81086000 - (0xffffffff81283de0 + 41)) >> 8 * i);
	machine.code = code;
	machine.code_length = sizeof(code);
	set_release("6.1.0");
	expect_acceptance();
	write_file("/proc/kallsyms", "ffffffff81086000 T nmi_uaccess_okay\n"
				     "ffffffff81283de0 T copy_from_user_nofault\n"
				     "ffffffff81283e00 T copy_to_user_nofault\n");
	expect_refusal("kernel 6.1.0 lacks the fix", "6.1.36");
}

static void refused_perf_events_name_the_paranoia(void **state)
{
	struct profcol_error *error;

	(void)state;
	write_file("/proc/sys/kernel/perf_event_paranoid", "4\n");
	error = requirements_explain_perf(&machine.environment,
					  profcol_error_create(PROFCOL_REJECTED, "EACCES"));
	assert_memory_equal(profcol_error_message(error), "kernel.perf_event_paranoid is 4", 31);
	assert_non_null(strstr(profcol_error_message(error), "EACCES; set it to 2"));
	profcol_error_destroy(error);
	// The way out follows all that is wrong, and comes once.
	error = profcol_error_join(
		profcol_error_create(PROFCOL_REJECTED, "CPU 0: EACCES; run as root"),
		profcol_error_create(PROFCOL_REJECTED, "CPU 1: EACCES; run as root"));
	error = requirements_explain_perf(&machine.environment, error);
	assert_non_null(strstr(profcol_error_message(error),
			       "CPU 0: EACCES; set it to 2 (sysctl "
			       "kernel.perf_event_paranoid=2) or grant CAP_SYS_ADMIN\n"
			       "CPU 1: EACCES; run as root"));
	profcol_error_destroy(error);
	assert_null(requirements_explain_perf(&machine.environment, NULL));
	// Paranoia explains a refusal, nothing else.
	error = requirements_explain_perf(&machine.environment,
					  profcol_error_create(PROFCOL_SYSTEM, "EMFILE"));
	assert_string_equal(profcol_error_message(error), "EMFILE");
	profcol_error_destroy(error);
}

/* Reads the code of the kernel that runs this test; any that is new enough has the fix. */
static void the_running_kernel_is_recognised_as_mended(void **state)
{
	struct requirements_environment here = requirements_this_machine();
	unsigned int major = 0, minor = 0;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	(void)state;
	sscanf(here.kernel_release, "%u.%u", &major, &minor);
	if (geteuid() || !(major > 6 || (major == 6 && minor >= 4))) {
		print_message("needs root and a kernel of 6.4 or later\n");
		skip();
	}
	strcpy(here.kernel_release, "6.2.0");
	error = requirements_check(&here, false, &machine.logger);
	if (error)
		fail_msg("unexpected: %s", profcol_error_message(error));
}

/* ---- what `profcol doctor` shows of the same list ---- */

static struct {
	struct profcol_findings base;
	char text[4096]; /* "subject=verdict|" of each */
	char details[4096], remedies[2048];
} seen;

static void see(struct profcol_findings *findings, const struct profcol_finding *finding)
{
	static const char *const verdicts[] = { "fine", "lacking", "missing" };
	size_t used = strlen(seen.text), remedies = strlen(seen.remedies);
	size_t details = strlen(seen.details);

	(void)findings;
	snprintf(seen.text + used, sizeof(seen.text) - used, "%s=%s|", finding->subject,
		 verdicts[finding->verdict]);
	snprintf(seen.remedies + remedies, sizeof(seen.remedies) - remedies, "%s\n",
		 finding->remedy);
	snprintf(seen.details + details, sizeof(seen.details) - details, "%s\n", finding->detail);
	if (finding->verdict == PROFCOL_FINE)
		assert_string_equal(finding->remedy, "");
	else
		assert_true(finding->effect[0] && finding->remedy[0]);
}

static void visit(void)
{
	memset(&seen, 0, sizeof(seen));
	seen.base.add = see;
	requirements_visit(&machine.environment, false, &seen.base);
}

static void expect_finding(const char *text)
{
	if (!strstr(seen.text, text))
		fail_msg("no '%s' in: %s", text, seen.text);
}

static void a_usual_machine_is_fine_throughout(void **state)
{
	(void)state;
	visit();
	assert_null(strstr(seen.text, "lacking"));
	assert_null(strstr(seen.text, "missing"));
	expect_finding("capability BPF=fine|");
	expect_finding("kernel version=fine|");
}

static void each_missing_capability_is_named_with_its_line(void **state)
{
	static const int all[] = { CAP_BPF,
				   CAP_PERFMON,
				   CAP_SYS_PTRACE,
				   CAP_DAC_READ_SEARCH,
				   CAP_CHECKPOINT_RESTORE,
				   CAP_SYS_ADMIN,
				   -1 };

	(void)state;
	memcpy(machine.missing, all, sizeof(all));
	visit();
	expect_finding("capability BPF=missing|");
	expect_finding("capability PERFMON=missing|");
	expect_finding("capability SYS_PTRACE=lacking|");
	expect_finding("capability DAC_READ_SEARCH=lacking|");
	expect_finding("capability CHECKPOINT_RESTORE=lacking|");
	expect_finding("capability SYS_RESOURCE=fine|");
	assert_non_null(strstr(seen.remedies, "securityContext: {capabilities: {add: [BPF]}}"));
	assert_non_null(strstr(seen.remedies, "AmbientCapabilities=CAP_SYS_PTRACE"));
}

static void it_says_whom_workers_become(void **state)
{
	(void)state;
	visit();
	assert_non_null(strstr(seen.details, "they are user 'worker_uid'"));
	machine.missing[0] = CAP_KILL;
	machine.missing[1] = -1;
	visit();
	expect_finding("workers=fine|");
	assert_non_null(
		strstr(seen.details, "to be one of their own takes CAP_SETUID, CAP_SETGID"));
}

static void syslog_is_asked_for_only_where_addresses_are_hidden(void **state)
{
	(void)state;
	machine.missing[0] = CAP_SYSLOG;
	machine.missing[1] = CAP_SYS_ADMIN;
	machine.missing[2] = -1;
	visit();
	expect_finding("capability SYSLOG=fine|");
	write_file("/proc/kallsyms", "0000000000000000 T nmi_uaccess_okay\n");
	visit();
	expect_finding("capability SYSLOG=lacking|");
	assert_null(strstr(seen.text, "kernel symbols"));
	machine.missing[0] = -1;
	visit();
	expect_finding("capability SYSLOG=fine|");
	expect_finding("kernel symbols=lacking|");
	assert_non_null(strstr(seen.remedies, "kernel.kptr_restrict=1"));
}

static void sys_resource_is_asked_for_only_where_memlock_is_low(void **state)
{
	(void)state;
	machine.missing[0] = CAP_SYS_RESOURCE;
	machine.missing[1] = -1;
	visit();
	expect_finding("capability SYS_RESOURCE=fine|");
	set_release("5.10.0-28-amd64");
	visit();
	expect_finding("capability SYS_RESOURCE=missing|");
	expect_refusal("missing capability CAP_SYS_RESOURCE", "grant it");
	machine.environment.memlock_bytes = UINT64_MAX;
	visit();
	expect_finding("capability SYS_RESOURCE=fine|");
}

static void hidden_processes_and_paranoia_are_lacks(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/proc/1/status", machine.root);
	unlink(path);
	write_file("/proc/sys/kernel/perf_event_paranoid", "3\n");
	machine.missing[0] = CAP_SYS_ADMIN;
	machine.missing[1] = -1;
	visit();
	expect_finding("/proc=lacking|");
	expect_finding("perf_event_paranoid=lacking|");
	assert_non_null(strstr(seen.remedies, "hidepid=0"));
	assert_non_null(strstr(seen.remedies, "sysctl kernel.perf_event_paranoid=2"));
	expect_acceptance();
}

static void all_that_is_missing_is_found_not_only_the_first(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", machine.root);
	unlink(path);
	write_file("/sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	set_pid_namespace("pid:[4026532201]");
	set_release("5.4.0");
	visit();
	expect_finding("kernel lockdown=missing|");
	expect_finding("kernel types (BTF)=missing|");
	expect_finding("pid namespace=lacking|");
	expect_finding("kernel version=missing|");
}

#define WITH_MACHINE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MACHINE(a_usual_machine_is_accepted_silently),
		WITH_MACHINE(a_missing_capability_is_named_first),
		WITH_MACHINE(sys_admin_stands_in_for_newer_capabilities),
		WITH_MACHINE(a_capability_that_only_narrows_the_result_is_a_warning),
		WITH_MACHINE(lockdown_in_confidentiality_mode_is_refused),
		WITH_MACHINE(a_kernel_without_type_information_is_refused),
		WITH_MACHINE(a_pid_namespace_of_its_own_is_accepted),
		WITH_MACHINE(a_kernel_too_old_is_refused_unless_the_check_is_off),
		WITH_MACHINE(the_hanging_user_copy_is_recognised_in_the_code_not_by_version),
		WITH_MACHINE(code_that_cannot_be_judged_is_refused_with_the_reason),
		WITH_MACHINE(on_arm64_the_test_for_kernel_threads_tells),
		WITH_MACHINE(the_code_of_the_next_function_is_not_judged),
		WITH_MACHINE(refused_perf_events_name_the_paranoia),
		WITH_MACHINE(the_running_kernel_is_recognised_as_mended),
		WITH_MACHINE(a_usual_machine_is_fine_throughout),
		WITH_MACHINE(each_missing_capability_is_named_with_its_line),
		WITH_MACHINE(it_says_whom_workers_become),
		WITH_MACHINE(syslog_is_asked_for_only_where_addresses_are_hidden),
		WITH_MACHINE(sys_resource_is_asked_for_only_where_memlock_is_low),
		WITH_MACHINE(hidden_processes_and_paranoia_are_lacks),
		WITH_MACHINE(all_that_is_missing_is_found_not_only_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

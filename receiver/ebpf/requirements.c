// SPDX-License-Identifier: Apache-2.0
#include "requirements.h"

#include "kernel_text.skel.h"
#include "libbpf_messages.h"

#include "base/base.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { KERNEL_TEXT_BYTES = 256 };

/* ---- this machine ---- */

static bool has_capability(void *context, int capability)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t set = cap_get_proc();

	(void)context;
	if (!set)
		return false;
	cap_get_flag(set, capability, CAP_EFFECTIVE, &value);
	cap_free(set);
	return value == CAP_SET;
}

static struct profcol_error *read_kernel_text(void *context, uint64_t address, uint8_t *code,
					      size_t length)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	struct profcol_error *error = NULL;
	struct kernel_text_bpf *program;

	(void)context;
	libbpf_messages_capture();
	program = kernel_text_bpf__open();
	if (!program)
		return libbpf_messages_error(errno, "open the program that reads kernel code");
	program->rodata->address = address;
	if (kernel_text_bpf__load(program) ||
	    bpf_prog_test_run_opts(bpf_program__fd(program->progs.read_kernel_text), &options))
		error = libbpf_messages_error(errno, "run the program that reads kernel code");
	else if (!program->bss->was_read)
		error = profcol_error_create(PROFCOL_SYSTEM, "the kernel did not let its code be "
							     "read");
	else
		memcpy(code, program->bss->code,
		       length < KERNEL_TEXT_BYTES ? length : KERNEL_TEXT_BYTES);
	kernel_text_bpf__destroy(program);
	return error;
}

struct requirements_environment requirements_this_machine(void)
{
	struct requirements_environment here = {
		.root = "",
		.has_capability = has_capability,
		.read_kernel_text = read_kernel_text,
	};
	struct utsname name = { 0 };

	uname(&name);
	snprintf(here.kernel_release, sizeof(here.kernel_release), "%s", name.release);
	here.machine = strcmp(name.machine, "aarch64") ? REQUIREMENTS_AMD64 : REQUIREMENTS_ARM64;
	return here;
}

/* ---- the kernel's version and its known fault ---- */

static bool parse_release(const char *release, unsigned int *major, unsigned int *minor)
{
	return sscanf(release, "%u.%u", major, minor) == 2;
}

static bool at_least(unsigned int major, unsigned int minor, unsigned int wanted_major,
		     unsigned int wanted_minor)
{
	return major > wanted_major || (major == wanted_major && minor >= wanted_minor);
}

static bool calls(const uint8_t *code, size_t length, uint64_t code_address, uint64_t target)
{
	enum { CALL = 0xe8, JUMP = 0xe9, SIZE = 5 };

	// A scan at every byte: an accidental match of 32 bits is as good as impossible.
	for (size_t at = 0; at + SIZE <= length; at++) {
		int32_t displacement;

		if (code[at] != CALL && code[at] != JUMP)
			continue;
		memcpy(&displacement, code + at + 1, sizeof(displacement));
		if (code_address + at + SIZE + (uint64_t)(int64_t)displacement == target)
			return true;
	}
	return false;
}

static bool tests_kernel_thread_flag(const uint8_t *code, size_t length)
{
	enum { PF_KTHREAD_BIT = 21 };

	for (size_t at = 0; at + 4 <= length; at += 4) {
		uint32_t instruction;

		memcpy(&instruction, code + at, sizeof(instruction));
		// TBZ and TBNZ on a 32-bit register: b5 = 0, bit number in b40 (bits 19 to 23).
		if ((instruction & 0xfe000000u) == 0x36000000u &&
		    (instruction >> 19 & 0x1f) == PF_KTHREAD_BIT)
			return true;
	}
	return false;
}

bool requirements_user_copy_is_mended(enum requirements_machine machine, const uint8_t *code,
				      size_t length, uint64_t code_address,
				      uint64_t nmi_uaccess_okay)
{
	if (machine == REQUIREMENTS_ARM64)
		return !tests_kernel_thread_flag(code, length);
	return nmi_uaccess_okay && calls(code, length, code_address, nmi_uaccess_okay);
}

struct functions {
	uint64_t copy_from_user_nofault; /* 0: not there, or hidden */
	uint64_t copy_end;               /* where the next function begins */
	uint64_t nmi_uaccess_okay;
};

/* kallsyms lists the kernel's own functions by address: what ends a function comes after it. */
static void note_function(struct functions *functions, uint64_t address, const char *name)
{
	if (!strcmp(name, "copy_from_user_nofault"))
		functions->copy_from_user_nofault = address;
	else if (!strcmp(name, "nmi_uaccess_okay"))
		functions->nmi_uaccess_okay = address;
	else if (functions->copy_from_user_nofault && address > functions->copy_from_user_nofault &&
		 address < functions->copy_end)
		functions->copy_end = address;
}

static struct profcol_error *find_functions(const struct requirements_environment *environment,
					    struct functions *functions)
{
	CLEANUP_FREE char *line = NULL;
	CLEANUP_FILE FILE *file = NULL;
	char path[512], name[128];
	unsigned long long address;
	size_t size = 0;

	snprintf(path, sizeof(path), "%s/proc/kallsyms", environment->root);
	file = fopen(path, "re");
	if (!file)
		return profcol_error_create(PROFCOL_SYSTEM, "open '%s': %m; is /proc mounted?",
					    path);
	*functions = (struct functions){ .copy_end = UINT64_MAX };
	while (getline(&line, &size, file) > 0)
		if (sscanf(line, "%llx %*c %127s", &address, name) == 2)
			note_function(functions, address, name);
	return NULL;
}

static struct profcol_error *check_user_copy(const struct requirements_environment *environment)
{
	struct functions functions = { 0 };
	uint8_t code[KERNEL_TEXT_BYTES] = { 0 };
	size_t length = sizeof(code);
	struct profcol_error *error = find_functions(environment, &functions);
	uint64_t copy = functions.copy_from_user_nofault;

	if (!error && !copy)
		error = profcol_error_create(
			PROFCOL_UNSUPPORTED,
			"the address of copy_from_user_nofault is hidden; grant "
			"CAP_SYSLOG or set kernel.kptr_restrict to 0 or 1");
	if (!error)
		error = environment->read_kernel_text(environment->context, copy, code,
						      sizeof(code));
	if (error)
		return profcol_error_prefix(
			error, "cannot tell whether kernel %s has the fix for hanging user copies",
			environment->kernel_release);
	// What follows is another function, with tests of its own.
	if (functions.copy_end - copy < length)
		length = functions.copy_end - copy;
	if (requirements_user_copy_is_mended(environment->machine, code, length, copy,
					     functions.nmi_uaccess_okay))
		return NULL;
	return profcol_error_create(
		PROFCOL_UNSUPPORTED,
		"kernel %s lacks the fix \"mm: Fix copy_from_user_nofault()\" and can hang when "
		"user "
		"memory is read from a timer; update to 6.1.36, 6.3.10, 6.4 or later (or set "
		"no_kernel_version_check: true at your own risk)",
		environment->kernel_release);
}

static struct profcol_error *check_kernel(const struct requirements_environment *environment)
{
	unsigned int major, minor;

	if (!parse_release(environment->kernel_release, &major, &minor))
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "kernel release '%s' is not a version; set "
					    "no_kernel_version_check: true if it is 5.10 or later",
					    environment->kernel_release);
	if (!at_least(major, minor, 5, 10))
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "kernel %s is too old; profcol needs 5.10 or later",
					    environment->kernel_release);
	if (at_least(major, minor, 5, 19) && !at_least(major, minor, 6, 4))
		return check_user_copy(environment);
	return NULL;
}

/* ---- privileges and facilities ---- */

struct needed_capability {
	int number;
	const char *name;
	const char *loss; /* what is missing without it; NULL: nothing works */
};

static const struct needed_capability needed_capabilities[] = {
	{ CAP_BPF, "CAP_BPF", NULL },
	{ CAP_PERFMON, "CAP_PERFMON", NULL },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
	  "executables and mappings of other users' processes stay unknown" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
	  "files that only other users may read stay without names" },
	{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE",
	  "deleted and replaced program files stay without names" },
	{ CAP_SYSLOG, "CAP_SYSLOG", "kernel functions stay without names" },
};

static struct profcol_error *check_capabilities(const struct requirements_environment *environment,
						const struct profcol_logger *logger)
{
	// The all-embracing one counts for every other here, as it does in the kernel for most.
	bool admin = environment->has_capability(environment->context, CAP_SYS_ADMIN);

	for (size_t i = 0; i < sizeof(needed_capabilities) / sizeof(needed_capabilities[0]); i++) {
		const struct needed_capability *needed = &needed_capabilities[i];
		bool replaceable = needed->number == CAP_BPF || needed->number == CAP_PERFMON ||
				   needed->number == CAP_SYSLOG ||
				   needed->number == CAP_CHECKPOINT_RESTORE;

		if (environment->has_capability(environment->context, needed->number) ||
		    (admin && replaceable))
			continue;
		if (!needed->loss)
			return profcol_error_create(
				PROFCOL_SYSTEM,
				"missing capability %s; run as root or grant it "
				"(setcap, securityContext.capabilities.add, "
				"AmbientCapabilities)",
				needed->name);
		profcol_log_warn(logger, "missing capability %s, %s", needed->name, needed->loss);
	}
	return NULL;
}

static struct profcol_error *check_lockdown(const struct requirements_environment *environment)
{
	CLEANUP_FREE char *text = NULL;
	char path[512];

	snprintf(path, sizeof(path), "%s/sys/kernel/security/lockdown", environment->root);
	if (file_read(AT_FDCWD, path, 4096, &text, NULL) || !strstr(text, "[confidentiality]"))
		return NULL;
	return profcol_error_create(PROFCOL_UNSUPPORTED,
				    "kernel lockdown is in confidentiality mode, which forbids "
				    "profiling; boot with lockdown=integrity or without lockdown=");
}

static struct profcol_error *check_btf(const struct requirements_environment *environment)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", environment->root);
	if (!access(path, R_OK))
		return NULL;
	return profcol_error_create(
		PROFCOL_UNSUPPORTED,
		"the kernel's type information is not readable at "
		"'/sys/kernel/btf/vmlinux': %m; mount sysfs there, or run a kernel "
		"built with CONFIG_DEBUG_INFO_BTF=y");
}

/* The kernel knows processes by their number in the initial namespace, /proc by that in ours. */
static struct profcol_error *check_pid_namespace(const struct requirements_environment *environment)
{
	static const char initial[] = "pid:[4026531836]"; /* PROC_PID_INIT_INO */
	char path[512], link[64] = { 0 };

	snprintf(path, sizeof(path), "%s/proc/self/ns/pid", environment->root);
	if (readlink(path, link, sizeof(link) - 1) < 0 || !strcmp(link, initial))
		return NULL;
	return profcol_error_create(PROFCOL_UNSUPPORTED,
				    "profcol runs in a pid namespace of its own and cannot tell "
				    "processes apart; run it in the host's (hostPID: true, "
				    "--pid=host)");
}

struct profcol_error *requirements_check(const struct requirements_environment *environment,
					 bool skip_version, const struct profcol_logger *logger)
{
	struct profcol_error *error = check_capabilities(environment, logger);

	if (!error)
		error = check_lockdown(environment);
	if (!error)
		error = check_btf(environment);
	if (!error)
		error = check_pid_namespace(environment);
	if (!error && !skip_version)
		error = check_kernel(environment);
	return error;
}

struct profcol_error *requirements_explain_perf(const struct requirements_environment *environment,
						struct profcol_error *error)
{
	CLEANUP_FREE char *text = NULL;
	char path[512];

	if (!error || profcol_error_code(error) != PROFCOL_REJECTED)
		return error;
	snprintf(path, sizeof(path), "%s/proc/sys/kernel/perf_event_paranoid", environment->root);
	if (file_read(AT_FDCWD, path, 64, &text, NULL) || strtol(text, NULL, 10) <= 2)
		return error;
	text[strcspn(text, "\n")] = '\0';
	return profcol_error_prefix(
		error,
		"kernel.perf_event_paranoid is %s, which may close perf events to "
		"all but CAP_SYS_ADMIN; set it to 2 (sysctl "
		"kernel.perf_event_paranoid=2) or grant CAP_SYS_ADMIN",
		text);
}

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
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { KERNEL_TEXT_BYTES = 256 };

static const char nothing_works[] = "nothing can be sampled";

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
	struct rlimit limit;

	here.memlock_bytes = getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_max == RLIM_INFINITY
				     ? UINT64_MAX
				     : limit.rlim_max;
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

static void visit_kernel(const struct requirements_environment *environment,
			 struct profcol_findings *findings)
{
	const char *release = environment->kernel_release;
	struct profcol_error *error = NULL;
	unsigned int major = 0, minor = 0;

	if (!parse_release(release, &major, &minor))
		error = profcol_error_create(PROFCOL_UNSUPPORTED,
					     "kernel release '%s' is not a version; set "
					     "no_kernel_version_check: true if it is 5.10 or later",
					     release);
	else if (!at_least(major, minor, 5, 10))
		error = profcol_error_create(PROFCOL_UNSUPPORTED,
					     "kernel %s is too old; profcol needs 5.10 or later",
					     release);
	else if (at_least(major, minor, 5, 19) && !at_least(major, minor, 6, 4))
		error = check_user_copy(environment);
	if (error)
		findings_add_error(findings, "kernel version", PROFCOL_MISSING, nothing_works,
				   error);
	else
		findings_add_fine(findings, "kernel version", "%s", release);
}

/* ---- privileges ---- */

struct needed_capability {
	int number;
	const char *name;
	bool in_admin; /* the kernel takes CAP_SYS_ADMIN for it as well */
	enum profcol_verdict verdict;
	const char *effect; /* of its absence */
};

static const struct needed_capability needed_capabilities[] = {
	{ CAP_BPF, "BPF", true, PROFCOL_MISSING, nothing_works },
	{ CAP_PERFMON, "PERFMON", true, PROFCOL_MISSING, nothing_works },
	{ CAP_SYS_PTRACE, "SYS_PTRACE", false, PROFCOL_LACKING,
	  "executables and mappings of other users' processes stay unknown" },
	{ CAP_DAC_READ_SEARCH, "DAC_READ_SEARCH", false, PROFCOL_LACKING,
	  "files that only other users may read stay without names" },
	{ CAP_CHECKPOINT_RESTORE, "CHECKPOINT_RESTORE", true, PROFCOL_LACKING,
	  "deleted and replaced program files stay without names" },
	{ CAP_SYSLOG, "SYSLOG", true, PROFCOL_LACKING, "kernel functions stay without names" },
};

static void add_missing_capability(struct profcol_findings *findings, const char *name,
				   enum profcol_verdict verdict, const char *effect)
{
	char subject[64], detail[64], remedy[256];

	snprintf(subject, sizeof(subject), "capability %s", name);
	snprintf(detail, sizeof(detail), "missing capability CAP_%s", name);
	snprintf(remedy, sizeof(remedy),
		 "run as root or grant it (Kubernetes: securityContext: {capabilities: {add: "
		 "[%s]}}; systemd: AmbientCapabilities=CAP_%s; Docker: --cap-add=%s)",
		 name, name, name);
	findings->add(findings, &(struct profcol_finding){
					.subject = subject,
					.verdict = verdict,
					.detail = detail,
					.effect = effect,
					.remedy = remedy,
				});
}

/*
 * Are addresses in kallsyms shown to us? Those at the beginning may be offsets in per-CPU memory,
 * 0 too, but not many of them.
 */
static bool kernel_addresses_are_shown(const struct requirements_environment *environment)
{
	enum { LINES = 64 };
	CLEANUP_FILE FILE *file = NULL;
	char path[512], line[512];

	snprintf(path, sizeof(path), "%s/proc/kallsyms", environment->root);
	file = fopen(path, "re");
	for (int i = 0; file && i < LINES && fgets(line, sizeof(line), file); i++)
		if (strtoull(line, NULL, 16))
			return true;
	return false;
}

static void visit_capability(const struct requirements_environment *environment,
			     const struct needed_capability *needed,
			     struct profcol_findings *findings)
{
	// The all-embracing one counts for others here where it does in the kernel.
	bool admin = needed->in_admin &&
		     environment->has_capability(environment->context, CAP_SYS_ADMIN);
	char subject[64];

	snprintf(subject, sizeof(subject), "capability %s", needed->name);
	if (environment->has_capability(environment->context, needed->number))
		findings_add_fine(findings, subject, "held");
	else if (admin)
		findings_add_fine(findings, subject, "not held, CAP_SYS_ADMIN stands in for it");
	else if (needed->number == CAP_SYSLOG && kernel_addresses_are_shown(environment))
		findings_add_fine(findings, subject,
				  "not held, not needed: this kernel shows its addresses to all");
	else
		add_missing_capability(findings, needed->name, needed->verdict, needed->effect);
}

/* BPF maps count against the limit on locked memory before 5.11, and libbpf lifts it if it may. */
static void visit_memlock(const struct requirements_environment *environment,
			  struct profcol_findings *findings)
{
	static const char subject[] = "capability SYS_RESOURCE";
	const uint64_t enough = UINT64_C(64) << 20;
	unsigned int major, minor;

	if (environment->has_capability(environment->context, CAP_SYS_RESOURCE))
		findings_add_fine(findings, subject, "held");
	else if (!parse_release(environment->kernel_release, &major, &minor) ||
		 at_least(major, minor, 5, 11))
		findings_add_fine(
			findings, subject,
			"not held, not needed: since 5.11 BPF memory is not locked memory");
	else if (environment->memlock_bytes >= enough)
		findings_add_fine(
			findings, subject,
			"not held, not needed: the limit on locked memory is high enough");
	else
		add_missing_capability(findings, "SYS_RESOURCE", PROFCOL_MISSING,
				       "BPF maps do not fit into the limit on locked memory, so "
				       "nothing can be sampled");
}

/* Workers read files and memory of programs: say which user they are. */
static void visit_workers(const struct requirements_environment *environment,
			  struct profcol_findings *findings)
{
	static const int needed[] = { CAP_SETUID, CAP_SETGID, CAP_KILL };
	bool all = true;

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		all &= environment->has_capability(environment->context, needed[i]);
	if (all)
		findings_add_fine(findings, "workers",
				  "they are user 'worker_uid', whom nobody "
				  "else is");
	else
		findings_add_fine(findings, "workers",
				  "they are the user that profcol is, without its capabilities; to "
				  "be one of their own takes CAP_SETUID, CAP_SETGID and CAP_KILL");
}

static void visit_capabilities(const struct requirements_environment *environment,
			       struct profcol_findings *findings)
{
	for (size_t i = 0; i < sizeof(needed_capabilities) / sizeof(needed_capabilities[0]); i++)
		visit_capability(environment, &needed_capabilities[i], findings);
	visit_memlock(environment, findings);
	visit_workers(environment, findings);
}

/* ---- facilities ---- */

static void visit_lockdown(const struct requirements_environment *environment,
			   struct profcol_findings *findings)
{
	CLEANUP_FREE char *text = NULL;
	char path[512];

	snprintf(path, sizeof(path), "%s/sys/kernel/security/lockdown", environment->root);
	if (file_read(AT_FDCWD, path, 4096, &text, NULL) || !strstr(text, "[confidentiality]")) {
		findings_add_fine(findings, "kernel lockdown", "does not forbid profiling");
		return;
	}
	findings->add(findings,
		      &(struct profcol_finding){
			      .subject = "kernel lockdown",
			      .verdict = PROFCOL_MISSING,
			      .detail = "kernel lockdown is in confidentiality mode, which forbids "
					"profiling",
			      .effect = nothing_works,
			      .remedy = "boot with lockdown=integrity or without lockdown=",
		      });
}

static void visit_btf(const struct requirements_environment *environment,
		      struct profcol_findings *findings)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", environment->root);
	if (!access(path, R_OK))
		findings_add_fine(findings, "kernel types (BTF)", "/sys/kernel/btf/vmlinux");
	else
		findings_add_error(
			findings, "kernel types (BTF)", PROFCOL_MISSING, nothing_works,
			profcol_error_create(
				PROFCOL_UNSUPPORTED,
				"the kernel's type information is not readable at "
				"'/sys/kernel/btf/vmlinux': %m; mount sysfs there, or run a kernel "
				"built with CONFIG_DEBUG_INFO_BTF=y"));
}

/* The kernel knows processes by their number in the initial namespace, /proc by that in ours. */
static void visit_pid_namespace(const struct requirements_environment *environment,
				struct profcol_findings *findings)
{
	static const char initial[] = "pid:[4026531836]"; /* PROC_PID_INIT_INO */
	char path[512], link[64] = { 0 };

	snprintf(path, sizeof(path), "%s/proc/self/ns/pid", environment->root);
	if (readlink(path, link, sizeof(link) - 1) < 0 || !strcmp(link, initial)) {
		findings_add_fine(findings, "pid namespace", "the machine's own");
		return;
	}
	findings->add(findings,
		      &(struct profcol_finding){
			      .subject = "pid namespace",
			      .verdict = PROFCOL_LACKING,
			      .detail = "profcol runs in a PID namespace that is not the machine's",
			      .effect = "processes outside of it are not profiled",
			      .remedy =
				      "run it in the host's (Kubernetes: hostPID: true; Docker: "
				      "--pid=host); where the node is a container itself there is "
				      "nothing to do",
		      });
}

/* Where the others are hidden, so is the first of all. */
static void visit_proc(const struct requirements_environment *environment,
		       struct profcol_findings *findings)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/proc/1/status", environment->root);
	if (!access(path, R_OK)) {
		findings_add_fine(findings, "/proc", "shows all processes");
		return;
	}
	findings->add(findings,
		      &(struct profcol_finding){
			      .subject = "/proc",
			      .verdict = PROFCOL_LACKING,
			      .detail = "/proc does not show the processes of others (hidepid)",
			      .effect = "their programs and mappings stay unknown",
			      .remedy = "mount -o remount,hidepid=0 /proc, or grant SYS_PTRACE",
		      });
}

static void visit_kernel_symbols(const struct requirements_environment *environment,
				 struct profcol_findings *findings)
{
	if (kernel_addresses_are_shown(environment)) {
		findings_add_fine(findings, "kernel symbols", "/proc/kallsyms has addresses");
		return;
	}
	// Without the capability it is its absence that hides them, which has been said.
	if (!environment->has_capability(environment->context, CAP_SYSLOG) &&
	    !environment->has_capability(environment->context, CAP_SYS_ADMIN))
		return;
	findings->add(findings,
		      &(struct profcol_finding){
			      .subject = "kernel symbols",
			      .verdict = PROFCOL_LACKING,
			      .detail =
				      "/proc/kallsyms is hidden from all (kernel.kptr_restrict is "
				      "2)",
			      .effect = "kernel functions stay without names",
			      .remedy = "sysctl kernel.kptr_restrict=1",
		      });
}

/* False when the kernel takes it for what upstream means: CAP_PERFMON is enough. */
static bool is_paranoid(const struct requirements_environment *environment, long *level)
{
	CLEANUP_FREE char *text = NULL;
	char path[512];

	*level = 0;
	snprintf(path, sizeof(path), "%s/proc/sys/kernel/perf_event_paranoid", environment->root);
	if (file_read(AT_FDCWD, path, 64, &text, NULL))
		return false;
	*level = strtol(text, NULL, 10);
	return *level > 2;
}

/* Whether it stands in the way is known once an event has been opened. */
static void visit_paranoia(const struct requirements_environment *environment,
			   struct profcol_findings *findings)
{
	static const char subject[] = "perf_event_paranoid";
	char detail[64];
	long level;

	if (!is_paranoid(environment, &level) ||
	    environment->has_capability(environment->context, CAP_SYS_ADMIN)) {
		findings_add_fine(findings, subject, "kernel.perf_event_paranoid is %ld", level);
		return;
	}
	snprintf(detail, sizeof(detail), "kernel.perf_event_paranoid is %ld", level);
	findings->add(findings, &(struct profcol_finding){
					.subject = subject,
					.verdict = PROFCOL_LACKING,
					.detail = detail,
					.effect = "kernels of some distributions then refuse perf "
						  "events to all but CAP_SYS_ADMIN",
					.remedy = "sysctl kernel.perf_event_paranoid=2, or grant "
						  "SYS_ADMIN",
				});
}

/* ---- all of them ---- */

typedef void (*requirement)(const struct requirements_environment *environment,
			    struct profcol_findings *findings);

/* In the order in which a start would fail; the kernel's version is last, and may be left out. */
static const requirement requirements[] = {
	visit_capabilities, visit_lockdown,       visit_btf,      visit_pid_namespace,
	visit_proc,         visit_kernel_symbols, visit_paranoia, visit_kernel,
};

static size_t requirements_count(bool skip_version)
{
	return sizeof(requirements) / sizeof(requirements[0]) - skip_version;
}

void requirements_visit(const struct requirements_environment *environment, bool skip_version,
			struct profcol_findings *findings)
{
	for (size_t i = 0; i < requirements_count(skip_version); i++)
		requirements[i](environment, findings);
}

struct check {
	struct profcol_findings base; /* first */
	const struct profcol_logger *logger;
	struct profcol_error *error; /* of the first that is missing */
};

static void check_add(struct profcol_findings *findings, const struct profcol_finding *finding)
{
	struct check *check = (struct check *)findings;

	if (check->error)
		return;
	if (finding->verdict == PROFCOL_MISSING)
		check->error =
			profcol_error_create(PROFCOL_UNSUPPORTED, "%s%s%s", finding->detail,
					     finding->remedy[0] ? "; " : "", finding->remedy);
	else if (finding->verdict == PROFCOL_LACKING)
		profcol_log_warn(check->logger, "%s, %s", finding->detail, finding->effect);
}

struct profcol_error *requirements_check(const struct requirements_environment *environment,
					 bool skip_version, const struct profcol_logger *logger)
{
	struct check check = { .base.add = check_add, .logger = logger };

	for (size_t i = 0; i < requirements_count(skip_version) && !check.error; i++)
		requirements[i](environment, &check.base);
	return check.error;
}

struct profcol_error *requirements_explain_perf(const struct requirements_environment *environment,
						struct profcol_error *error)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *owned = NULL;
	const char *text;
	size_t length;
	long level;

	if (!error || profcol_error_code(error) != PROFCOL_REJECTED ||
	    !is_paranoid(environment, &level))
		return error;
	owned = error;
	text = profcol_error_message(owned);
	length = strcspn(text, "\n"); // more follow when other events failed as well
	// What it says to do comes first after the last thing that is said.
	if (memmem(text, length, "; ", 2))
		length = (size_t)((const char *)memmem(text, length, "; ", 2) - text);
	return profcol_error_create(PROFCOL_REJECTED,
				    "kernel.perf_event_paranoid is %ld, which may close perf "
				    "events to all but CAP_SYS_ADMIN: %.*s; set it to 2 (sysctl "
				    "kernel.perf_event_paranoid=2) or grant CAP_SYS_ADMIN%s",
				    level, (int)length, text, text + strcspn(text, "\n"));
}

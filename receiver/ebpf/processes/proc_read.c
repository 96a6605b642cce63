// SPDX-License-Identifier: Apache-2.0
#include "proc_read.h"

#include "proc_thread.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	/* 65530 mappings (vm.max_map_count) of the usual 100 bytes are 6.5 MB. */
	MAPS_MAX_BYTES = 16 << 20,
	/* Seven variables for each of a thousand services, as Kubernetes sets them. */
	ENVIRON_MAX_BYTES = 512 << 10,
};

/* Beside a process's number: what of the process waits for its exec alone. */
static const uint64_t BASICS = 1ull << 32;

/* One process being read. */
struct reading {
	struct timed_call call; /* first */
	uint32_t pid;
	unsigned int parts;
	int status; /* of all: 0 or a negative errno */
	struct proc_facts facts;
	char *environ; /* owned: the text */
	size_t environ_length;
	int environ_status;
	bool by_thread; /* the leader has ended, and another one was read */
};

struct timed_call_key proc_basics_key(uint32_t pid, struct owner owner)
{
	return (struct timed_call_key){ TIMED_CALL_PROCESS, pid | BASICS, owner };
}

int proc_open(uint32_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? (errno == ENOENT ? -ESRCH : -errno) : fd;
}

int proc_presume_uid(uint32_t pid, uint32_t *ret)
{
	CLEANUP_FD int process = proc_open(pid);

	if (process < 0)
		return process;
	*ret = owner_presumed_uid(process);
	return 0;
}

bool proc_basics_go_on(struct timed_call *call, uint32_t pid, int process, struct owner owner)
{
	uint32_t uid = owner_is(owner, OWNER_UNKNOWN) ? owner_presumed_uid(process) : 0;

	// Of root it is not known in which container, if any.
	if (uid)
		owner.uid = uid;
	return timed_call_goes_on(call, proc_basics_key(pid, owner));
}

/* A leader that has ended while its threads go on is a zombie too. */
static bool is_lone_zombie(const struct proc_stat *stat)
{
	return (stat->state == 'Z' || stat->state == 'X') && stat->threads <= 1;
}

int proc_read_stat(int process, struct proc_stat *ret)
{
	int status = proc_stat_of(process, ret);

	if (status)
		return status == -ENOENT ? -ESRCH : status;
	return is_lone_zombie(ret) ? -ESRCH : 0;
}

static void read_executable(int process, struct proc_facts *ret)
{
	ret->executable_read = proc_executable(process, ret->executable) >= 0;
}

/* The container by the @text of a cgroup file, unless @status of reading that is an error. */
static int find_container(int status, const char *text, size_t length,
			  char id_ret[CONTAINER_ID_SIZE], char pod_uid_ret[POD_UID_SIZE])
{
	if (status)
		return status == -ENOENT ? -ESRCH : status;
	container_id_parse(text, length, id_ret);
	pod_uid_parse(text, length, pod_uid_ret);
	return 0;
}

int proc_container_of(int process, char id_ret[CONTAINER_ID_SIZE], char pod_uid_ret[POD_UID_SIZE])
{
	CLEANUP_FREE char *text = NULL;
	size_t length = 0;
	int status = file_read(process, "cgroup", PROC_CGROUP_MAX_BYTES, &text, &length);

	return find_container(status, text, length, id_ret, pod_uid_ret);
}

static int read_container(int process, struct proc_facts *ret)
{
	int status = proc_container_of(process, ret->container_id, ret->pod_uid);

	ret->container_read = !status;
	return status;
}

/* What takes the locks of the process itself. -ESRCH, -ENOMEM, or 0: all that is not ours to read
 * stays empty. */
static int read_memory(int process, struct reading *reading)
{
	struct proc_facts *facts = &reading->facts;
	int status = 0;

	if (reading->parts & PROC_ENVIRONMENT)
		status = file_read(process, "environ", ENVIRON_MAX_BYTES, &reading->environ,
				   &reading->environ_length);
	reading->environ_status = status;
	if ((reading->parts & PROC_MAPS) && status != -ESRCH && status != -ENOENT &&
	    status != -ENOMEM)
		status = file_read(process, "maps", MAPS_MAX_BYTES, &facts->maps,
				   &facts->maps_length);
	facts->maps_too_long = (reading->parts & PROC_MAPS) && status == -EFBIG;
	if (status == -ENOENT)
		return -ESRCH;
	return status == -ESRCH || status == -ENOMEM ? status : 0;
}

static struct owner owner_of(const struct proc_facts *facts)
{
	return (struct owner){ facts->uid, owner_container(facts->container_id) };
}

/* Read the cgroup of a process whose directory is @process, if that can be asked for. -ESRCH,
 * -ENOMEM, or 0: what is not ours to read stays empty. */
static int read_container_in_turn(struct reading *reading, int process)
{
	int status = timed_call_goes_on(&reading->call, PROC_ALL_CGROUPS)
			     ? read_container(process, &reading->facts)
			     : 0;

	return status == -ESRCH || status == -ENOMEM ? status : 0;
}

/*
 * The owner comes first, as far as it can be told without waiting: from then on it is he who pays
 * for what waits. A leader that ended before its threads shows none of what the others still have:
 * @thread_ret is one of these then, or -1.
 */
static int read_basics(struct reading *reading, int process, int *thread_ret)
{
	struct proc_facts *facts = &reading->facts;
	int status = read_container_in_turn(reading, process);

	if (status)
		return status;
	facts->uid = owner_presumed_uid(process);
	if (!timed_call_goes_on(&reading->call, proc_basics_key(reading->pid, owner_of(facts))))
		return -EBUSY;
	facts->uid = owner_uid(process);
	if (!timed_call_goes_on(&reading->call, proc_basics_key(reading->pid, owner_of(facts))))
		return -EBUSY;
	status = proc_read_stat(process, &facts->stat);
	if (status || facts->stat.state != 'Z')
		return status;
	*thread_ret = proc_open_thread(reading->pid);
	reading->by_thread = *thread_ret >= 0;
	return reading->by_thread ? read_container_in_turn(reading, *thread_ret) : 0;
}

static int read_process(struct reading *reading)
{
	struct proc_facts *facts = &reading->facts;
	CLEANUP_FD int process = proc_open(reading->pid);
	CLEANUP_FD int thread = -1;
	struct timed_call_key key = { TIMED_CALL_PROCESS, reading->pid, OWNER_UNKNOWN };
	int status = process < 0 ? process : read_basics(reading, process, &thread);

	if (status)
		return status;
	if (facts->stat.state == 'Z' && !reading->by_thread)
		return 0;
	read_executable(thread < 0 ? process : thread, facts);
	key.owner = owner_of(facts);
	facts->hangs = reading->parts && !timed_call_goes_on(&reading->call, key);
	return reading->parts && !facts->hangs ? read_memory(thread < 0 ? process : thread, reading)
					       : 0;
}

static void run_read(struct timed_call *call)
{
	struct reading *reading = (struct reading *)call;

	reading->status = read_process(reading);
}

static void reading_destroy(struct timed_call *call)
{
	struct reading *reading = (struct reading *)call;

	proc_facts_deinit(&reading->facts);
	free(reading->environ);
	free(reading);
}

static struct reading *reading_create(uint32_t pid, unsigned int parts)
{
	struct reading *reading = calloc(1, sizeof(*reading));

	if (!reading)
		return NULL;
	// Whose it is shows when it has begun: then it goes on to what that one may have asked.
	reading->call = (struct timed_call){
		.run = run_read,
		.destroy = reading_destroy,
		.key = proc_basics_key(pid, OWNER_SHARED),
	};
	reading->pid = pid;
	reading->parts = parts;
	reading->facts = (struct proc_facts){ .pid = pid, .begin_ns = clock_monotonic_ns() };
	return reading;
}

/*
 * Left NULL while there is nothing to read yet: an exec under way has not written its variables.
 * What others may not read, and what is larger than is sane, counts as an empty one.
 */
static int take_environment(const struct reading *reading, const struct profcol_list *variables,
			    struct proc_facts *ret)
{
	bool kernel_thread = ret->executable_read && !ret->executable[0];
	size_t length = reading->environ_status ? 0 : reading->environ_length;

	if (!(reading->parts & PROC_ENVIRONMENT) || ret->hangs ||
	    (ret->stat.state == 'Z' && !reading->by_thread))
		return 0;
	if (!reading->environ_status && !length && !kernel_thread)
		return 0;
	ret->environment = malloc(sizeof(*ret->environment));
	if (!ret->environment)
		return -ENOMEM;
	environment_parse(reading->environ, length, variables, ret->environment);
	return 0;
}

int proc_read(struct timed_calls *calls, uint32_t pid, unsigned int parts,
	      const struct profcol_list *variables, struct proc_facts *ret)
{
	struct reading *reading = reading_create(pid, parts);
	bool hangs = false;
	int status;

	if (reading && parts && !timed_calls_make(calls, &reading->call, PROC_LIMIT_NS)) {
		// What else there is of it does not have to wait.
		hangs = true;
		parts = 0;
		reading = reading_create(pid, parts);
	}
	if (!reading)
		return -ENOMEM;
	if (!parts && !timed_calls_make(calls, &reading->call, PROC_LIMIT_NS))
		return -ETIMEDOUT;
	status = reading->status;
	*ret = reading->facts;
	reading->facts.maps = NULL;
	ret->hangs |= hangs;
	if (!status)
		status = take_environment(reading, variables, ret);
	reading_destroy(&reading->call);
	if (status)
		proc_facts_deinit(ret);
	return status;
}

void proc_facts_deinit(struct proc_facts *facts)
{
	free(TAKE(facts->maps));
	free(TAKE(facts->environment));
}

int proc_read_container(struct timed_calls *calls, uint32_t pid, char ret[CONTAINER_ID_SIZE],
			char pod_uid_ret[POD_UID_SIZE])
{
	CLEANUP_FD int process = proc_open(pid);
	CLEANUP_FREE char *text = NULL;
	size_t length = 0;
	int status;

	ret[0] = pod_uid_ret[0] = '\0';
	status = process < 0 ? process : proc_read_cgroups(calls, process, &text, &length);
	return find_container(status, text, length, ret, pod_uid_ret);
}

int proc_walk(int (*visit)(void *context, uint32_t pid), void *context)
{
	CLEANUP_DIRECTORY DIR *directory = opendir("/proc");
	struct dirent *entry;
	int status = 0;

	if (!directory)
		return -errno;
	while (!status && (entry = readdir(directory))) {
		unsigned long pid;
		char *end;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		pid = strtoul(entry->d_name, &end, 10);
		if (!*end && pid <= INT32_MAX)
			status = visit(context, (uint32_t)pid);
	}
	return status;
}

bool proc_is_alive(uint32_t pid)
{
	CLEANUP_FD int process = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd ended = { .fd = process, .events = POLLIN };

	// Where it cannot be asked (descriptors have run out), nobody is taken for dead.
	if (process < 0)
		return errno != ESRCH;
	return poll(&ended, 1, 0) != 1 || !(ended.revents & POLLIN);
}

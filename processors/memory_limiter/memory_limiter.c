// SPDX-License-Identifier: Apache-2.0
/*
 * The `memory_limiter` processor: refuses batches while profcol has more memory than it should.
 */
#include "usage.h"

#include "base/base.h"

#include <profcol/batch.h>
#include <profcol/component.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MIB UINT64_C(1048576)

/* Giving freed memory back walks the whole heap. */
#define TRIM_INTERVAL_NS UINT64_C(10000000000)

/* A burst of requests makes memory in less time than check_interval. */
#define LOOK_INTERVAL_NS UINT64_C(20000000)

#define DATA_REFUSED "data refused due to high memory usage"

struct memory_limiter_config {
	uint64_t check_interval_ns;
	int64_t limit_mib, spike_limit_mib;
	int64_t limit_percentage, spike_limit_percentage;
	uint64_t min_gc_soft_ns, min_gc_hard_ns, max_gc_soft_ns, max_gc_hard_ns; /* no effect */
};

#define CONFIG                  struct memory_limiter_config
#define NOT_HERE                "no effect: of Go's garbage collector"
#define UINT32(key, field, doc) PROFCOL_OPTION_INT(key, CONFIG, field, "0", 0, UINT32_MAX, doc)

static const struct profcol_option memory_limiter_options[] = {
	PROFCOL_OPTION_DURATION("check_interval", CONFIG, check_interval_ns, "0s", 0, 0,
				"time between two looks at the memory; has to be given, 1s is "
				"a good choice"),
	UINT32("limit_mib", limit_mib,
	       "most memory that profcol should have, in MiB; goes before limit_percentage"),
	UINT32("spike_limit_mib", spike_limit_mib,
	       "data is refused from so many MiB below the limit on; 0 = a fifth of the limit"),
	UINT32("limit_percentage", limit_percentage,
	       "the same, as a share of what its cgroup may have, else of the machine's memory"),
	UINT32("spike_limit_percentage", spike_limit_percentage,
	       "of the same as limit_percentage; 0 = a fifth of the limit"),
	PROFCOL_OPTION_DURATION("min_gc_interval_when_soft_limited", CONFIG, min_gc_soft_ns, "10s",
				0, 0, NOT_HERE),
	PROFCOL_OPTION_DURATION("min_gc_interval_when_hard_limited", CONFIG, min_gc_hard_ns, "0s",
				0, 0, NOT_HERE),
	PROFCOL_OPTION_DURATION("max_gc_interval_when_soft_limited", CONFIG, max_gc_soft_ns, "30s",
				0, 0, NOT_HERE),
	PROFCOL_OPTION_DURATION("max_gc_interval_when_hard_limited", CONFIG, max_gc_hard_ns, "30s",
				0, 0, NOT_HERE),
	PROFCOL_OPTION_END,
};

#undef UINT32
#undef NOT_HERE
#undef CONFIG

struct memory_limiter {
	const struct profcol_host *host; /* borrowed, as the next */
	const struct memory_limiter_config *config;
	struct usage usage;
	struct cgroup cgroup; /* fd -1: the process's own figure counts */
	uint64_t limit_bytes, soft_limit_bytes;
	uint64_t trim_after_ns; /* CLOCK_MONOTONIC; the thread's */
	bool failing;           /* memory cannot be read; the thread's */
	atomic_bool refuses;
	struct profcol_metric *used, *limit, *refused;

	/* Protects usage and cgroup, and what has_room goes by: younger than what the thread saw.
	 */
	pthread_mutex_t room_lock;
	uint64_t seen_bytes;     /* when it was read last */
	uint64_t seen_ns;        /* CLOCK_MONOTONIC: then */
	uint64_t promised_bytes; /* since then: not all of it has been touched yet */
	atomic_bool is_short;    /* has_room has said no: what is free in the heap would help */

	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock; /* protects the rest */
	pthread_cond_t changed;
	bool stopping;
};

/* ---- configuration ---- */

/* The texts of the Collector. */
static const char *find_gc_fault(const struct memory_limiter_config *config)
{
	if (config->min_gc_soft_ns < config->min_gc_hard_ns)
		return "min_gc_interval_when_soft_limited: "
		       "'min_gc_interval_when_soft_limited' should be larger than "
		       "'min_gc_interval_when_hard_limited'";
	if (config->max_gc_soft_ns && config->max_gc_soft_ns < config->min_gc_soft_ns)
		return "max_gc_interval_when_soft_limited: "
		       "'max_gc_interval_when_soft_limited' must be greater than or equal to "
		       "'min_gc_interval_when_soft_limited' (or 0 to disable)";
	if (config->max_gc_hard_ns && config->max_gc_hard_ns < config->min_gc_hard_ns)
		return "max_gc_interval_when_hard_limited: "
		       "'max_gc_interval_when_hard_limited' must be greater than or equal to "
		       "'min_gc_interval_when_hard_limited' (or 0 to disable)";
	if (config->max_gc_soft_ns && config->max_gc_hard_ns &&
	    config->max_gc_soft_ns < config->max_gc_hard_ns)
		return "max_gc_interval_when_soft_limited: "
		       "'max_gc_interval_when_soft_limited' should be larger than or equal to "
		       "'max_gc_interval_when_hard_limited' (when both are set)";
	return NULL;
}

static const char *find_limit_fault(const struct memory_limiter_config *config)
{
	if (!config->limit_mib && !config->limit_percentage)
		return "limit_mib: 'limit_mib' or 'limit_percentage' must be greater than zero";
	if (config->limit_percentage > 100)
		return "limit_percentage: 'limit_percentage' and 'spike_limit_percentage' must be "
		       "greater than zero and less than or equal to hundred";
	if (config->spike_limit_percentage > 100)
		return "spike_limit_percentage: 'limit_percentage' and 'spike_limit_percentage' "
		       "must be greater than zero and less than or equal to hundred";
	if (config->limit_mib && config->limit_mib <= config->spike_limit_mib)
		return "spike_limit_mib: 'spike_limit_mib' must be smaller than 'limit_mib'";
	if (config->limit_percentage && config->limit_percentage <= config->spike_limit_percentage)
		return "spike_limit_percentage: 'spike_limit_percentage' must be smaller than "
		       "'limit_percentage'";
	return NULL;
}

static struct profcol_error *memory_limiter_validate(const void *options)
{
	const struct memory_limiter_config *config = options;
	const char *fault = NULL;

	if (!config->check_interval_ns)
		fault = "check_interval: 'check_interval' must be greater than zero";
	if (!fault)
		fault = find_gc_fault(config);
	if (!fault)
		fault = find_limit_fault(config);
	return fault ? profcol_error_create(PROFCOL_CONFIG, "%s", fault) : NULL;
}

static void log_ineffective(const struct memory_limiter *limiter)
{
	const struct memory_limiter_config *config = limiter->config;

	if (config->min_gc_soft_ns == 10 * PROFCOL_SECOND && !config->min_gc_hard_ns &&
	    config->max_gc_soft_ns == 30 * PROFCOL_SECOND &&
	    config->max_gc_hard_ns == 30 * PROFCOL_SECOND)
		return;
	profcol_log_info(limiter->host->logger,
			 "min_gc_interval_... and max_gc_interval_... have no effect: there is no "
			 "garbage collector; above the limit, memory that is free goes back to the "
			 "system");
}

/* ---- the limit ---- */

static struct profcol_error *open_proc(const char *path, int *ret)
{
	*ret = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret < 0 ? profcol_error_errno(errno, "open '%s'", path) : NULL;
}

/* Of what limit_percentage is a share, and how that is measured. */
static struct profcol_error *find_total(struct memory_limiter *limiter, uint64_t *ret)
{
	CLEANUP_FD int root_fd = -1, system_fd = -1;
	struct profcol_error *error = open_proc("/", &root_fd);
	int status;

	if (!error)
		error = open_proc("/proc", &system_fd);
	if (error)
		return error;
	status = cgroup_init(&limiter->cgroup, limiter->usage.process_fd, root_fd);
	*ret = limiter->cgroup.limit_bytes;
	if (!status && limiter->cgroup.fd < 0)
		status = cgroup_read_machine(system_fd, ret);
	return status ? profcol_error_errno(-status,
					    "failed to get total memory, use fixed memory settings "
					    "(limit_mib)")
		      : NULL;
}

static void set_limits(struct memory_limiter *limiter, uint64_t limit, uint64_t spike)
{
	if (!spike)
		spike = limit / 5;
	limiter->limit_bytes = limit;
	limiter->soft_limit_bytes = limit - spike;
	profcol_metric_set(limiter->limit, (int64_t)limiter->soft_limit_bytes);
	profcol_log_info(limiter->host->logger,
			 "Memory limiter configured: limit_mib %" PRIu64
			 ", spike_limit_mib %" PRIu64 ", measured by %s",
			 limit / MIB, spike / MIB,
			 limiter->cgroup.fd < 0 ? "the memory of this process and its BPF maps"
						: "the memory of its cgroup");
}

static struct profcol_error *find_limits(struct memory_limiter *limiter)
{
	const struct memory_limiter_config *config = limiter->config;
	struct profcol_error *error;
	uint64_t total;

	if (config->limit_mib) {
		set_limits(limiter, (uint64_t)config->limit_mib * MIB,
			   (uint64_t)config->spike_limit_mib * MIB);
		return NULL;
	}
	error = find_total(limiter, &total);
	if (error)
		return error;
	profcol_log_info(limiter->host->logger,
			 "Using percentage memory limiter: total_memory_mib %" PRIu64
			 ", limit_percentage %" PRId64 ", spike_limit_percentage %" PRId64,
			 total / MIB, config->limit_percentage, config->spike_limit_percentage);
	// Of the whole, so that no product overflows.
	set_limits(limiter, total / 100 * (uint64_t)config->limit_percentage,
		   total / 100 * (uint64_t)config->spike_limit_percentage);
	return NULL;
}

/* ---- the memory ---- */

/* Under the room's lock. */
static int look(struct memory_limiter *limiter, uint64_t now_ns, uint64_t *ret)
{
	int status;

	if (limiter->cgroup.fd < 0)
		return usage_read(&limiter->usage, now_ns, ret);
	status = cgroup_read(&limiter->cgroup, ret);
	if (!status && !limiter->cgroup.is_second)
		*ret += usage_maps(&limiter->usage, now_ns);
	return status;
}

static int read_used(struct memory_limiter *limiter, uint64_t now_ns, uint64_t *ret)
{
	int status;

	pthread_mutex_lock(&limiter->room_lock);
	status = look(limiter, now_ns, ret);
	pthread_mutex_unlock(&limiter->room_lock);
	return status;
}

/* From now on data is refused, or not. */
static void set_refuses(struct memory_limiter *limiter, bool refuses)
{
	const struct profcol_host *host = limiter->host;

	if (atomic_exchange(&limiter->refuses, refuses) != refuses)
		host->report_status(host,
				    refuses ? PROFCOL_STATUS_RECOVERABLE_ERROR : PROFCOL_STATUS_OK,
				    refuses ? DATA_REFUSED : NULL);
}

/* Without a figure nothing is refused. */
static void note_failure(struct memory_limiter *limiter, int status)
{
	if (!limiter->failing)
		profcol_log_warn(limiter->host->logger,
				 "cannot read how much memory is used: %s; no data is refused "
				 "until that works again",
				 strerrordesc_np(-status));
	limiter->failing = true;
	set_refuses(limiter, false);
}

/*
 * What was freed stays in the heap: without this a burst would leave the process above its limit
 * for ever.
 */
static int trim(struct memory_limiter *limiter, uint64_t now_ns, uint64_t *used)
{
	if (now_ns < limiter->trim_after_ns)
		return 0;
	malloc_trim(0);
	limiter->trim_after_ns = now_ns + TRIM_INTERVAL_NS;
	return read_used(limiter, now_ns, used);
}

static void check(struct memory_limiter *limiter)
{
	const struct profcol_logger *logger = limiter->host->logger;
	uint64_t now_ns = clock_monotonic_ns(), used = 0;
	bool refused = atomic_load(&limiter->refuses), above;
	int status = read_used(limiter, now_ns, &used);

	if (!status &&
	    (atomic_exchange(&limiter->is_short, false) || used >= limiter->soft_limit_bytes))
		status = trim(limiter, now_ns, &used);
	if (status) {
		note_failure(limiter, status);
		return;
	}
	limiter->failing = false;
	profcol_metric_set(limiter->used, (int64_t)used);
	above = used >= limiter->soft_limit_bytes;
	if (above && !refused)
		profcol_log_warn(logger,
				 "Memory usage is above soft limit. Refusing data. cur_mem_mib "
				 "%" PRIu64 " of %" PRIu64,
				 used / MIB, limiter->soft_limit_bytes / MIB);
	if (!above && refused)
		profcol_log_info(logger,
				 "Memory usage back within limits. Resuming normal operation. "
				 "cur_mem_mib %" PRIu64,
				 used / MIB);
	set_refuses(limiter, above);
}

/* ---- room for what is about to come ---- */

/*
 * A burst comes between two looks of the thread, so this one looks for itself; what it has let in
 * since counts on top, since memory is used only once it is written to.
 */
static bool memory_limiter_has_room(void *self, size_t bytes)
{
	struct memory_limiter *limiter = self;
	uint64_t now_ns = clock_monotonic_ns(), used;
	bool fits;

	if (atomic_load(&limiter->refuses))
		return false;
	pthread_mutex_lock(&limiter->room_lock);
	if (now_ns - limiter->seen_ns >= LOOK_INTERVAL_NS && !look(limiter, now_ns, &used)) {
		limiter->seen_bytes = used;
		limiter->seen_ns = now_ns;
		limiter->promised_bytes = 0;
	}
	fits = limiter->seen_bytes + limiter->promised_bytes + bytes < limiter->soft_limit_bytes;
	if (fits)
		limiter->promised_bytes += bytes;
	else
		atomic_store(&limiter->is_short, true);
	pthread_mutex_unlock(&limiter->room_lock);
	return fits;
}

static void *memory_limiter_run(void *argument)
{
	struct memory_limiter *limiter = argument;
	bool stopping = false;

	while (!stopping) {
		struct timespec next =
			clock_timespec(clock_monotonic_ns() + limiter->config->check_interval_ns);
		int status = 0;

		pthread_mutex_lock(&limiter->lock);
		while (!limiter->stopping && status != ETIMEDOUT)
			status = pthread_cond_clockwait(&limiter->changed, &limiter->lock,
							CLOCK_MONOTONIC, &next);
		stopping = limiter->stopping;
		pthread_mutex_unlock(&limiter->lock);
		if (!stopping)
			check(limiter);
	}
	return NULL;
}

/* ---- life ---- */

static void memory_limiter_destroy(void *self)
{
	struct memory_limiter *limiter = self;

	if (!limiter)
		return;
	usage_deinit(&limiter->usage);
	cgroup_deinit(&limiter->cgroup);
	pthread_cond_destroy(&limiter->changed);
	pthread_mutex_destroy(&limiter->lock);
	pthread_mutex_destroy(&limiter->room_lock);
	free(limiter);
}

static struct profcol_error *memory_limiter_create(const struct profcol_host *host,
						   const void *options, void **ret)
{
	struct memory_limiter *limiter = calloc(1, sizeof(*limiter));

	if (!limiter)
		return profcol_error_errno(ENOMEM, "create the processor");
	limiter->host = host;
	limiter->config = options;
	usage_init(&limiter->usage, -1);
	limiter->cgroup.fd = -1;
	pthread_mutex_init(&limiter->lock, NULL);
	pthread_mutex_init(&limiter->room_lock, NULL);
	pthread_cond_init(&limiter->changed, NULL);
	limiter->used = host->metric(host, PROFCOL_GAUGE, "memory_limiter_used_bytes", "",
				     "memory that counts against the limit");
	limiter->limit = host->metric(host, PROFCOL_GAUGE, "memory_limiter_soft_limit_bytes", "",
				      "memory from which on data is refused");
	limiter->refused = host->metric(host, PROFCOL_COUNTER, "memory_limiter_refused_samples", "",
					"samples refused for want of memory");
	*ret = limiter;
	return NULL;
}

static struct profcol_error *memory_limiter_start(void *self)
{
	struct memory_limiter *limiter = self;
	struct profcol_error *error = open_proc("/proc/self", &limiter->usage.process_fd);
	int status;

	if (!error)
		error = find_limits(limiter);
	if (error)
		return error;
	log_ineffective(limiter);
	check(limiter); // before the first data comes
	status = pthread_create(&limiter->thread, NULL, memory_limiter_run, limiter);
	if (status)
		return profcol_error_errno(status, "start the thread that watches the memory");
	limiter->has_thread = true;
	return NULL;
}

static struct profcol_error *memory_limiter_shutdown(void *self, uint64_t deadline_ns)
{
	struct memory_limiter *limiter = self;

	(void)deadline_ns;
	if (!limiter->has_thread)
		return NULL;
	pthread_mutex_lock(&limiter->lock);
	limiter->stopping = true;
	pthread_cond_signal(&limiter->changed);
	pthread_mutex_unlock(&limiter->lock);
	pthread_join(limiter->thread, NULL);
	limiter->has_thread = false;
	return NULL;
}

/* The host books what is refused as lost here, `unavailable`: whoever sent it may try again. */
static struct profcol_error *memory_limiter_consume(void *self, struct profcol_batch *batch)
{
	struct memory_limiter *limiter = self;

	if (!atomic_load(&limiter->refuses))
		return limiter->host->consume_next(limiter->host, batch);
	profcol_metric_add(limiter->refused, (int64_t)profcol_batch_events(batch));
	profcol_batch_unref(batch);
	return profcol_error_create(PROFCOL_UNAVAILABLE, DATA_REFUSED);
}

const struct profcol_component profcol_processor_memory_limiter = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_PROCESSOR,
	.stability = PROFCOL_ALPHA,
	.type = "memory_limiter",
	.summary = "refuses profiles while profcol has more memory than it should",
	.options = memory_limiter_options,
	.config_size = sizeof(struct memory_limiter_config),
	.validate = memory_limiter_validate,
	.create = memory_limiter_create,
	.start = memory_limiter_start,
	.consume = memory_limiter_consume,
	.shutdown = memory_limiter_shutdown,
	.destroy = memory_limiter_destroy,
	.has_room = memory_limiter_has_room,
};

// SPDX-License-Identifier: Apache-2.0
/*
 * The extension `pprof`: the Collector shows profiles of itself by it, which Go's run time makes.
 * Nothing listens here; a line of the log says how this program is profiled.
 */
#include <profcol/component.h>

#include <errno.h>
#include <stdlib.h>

struct dialer_config {
	uint64_t timeout_ns;
};

struct pprof_config {
	const char *endpoint;
	int64_t block_profile_fraction, mutex_profile_fraction;
	const char *save_to_file;
	struct dialer_config dialer;
};

static const struct profcol_option dialer_options[] = {
	PROFCOL_OPTION_DURATION("timeout", struct dialer_config, timeout_ns, "0s", 0, 0,
				"no effect"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option pprof_options[] = {
	PROFCOL_OPTION_STRING("endpoint", struct pprof_config, endpoint, "localhost:1777",
			      "no effect: nothing listens there"),
	PROFCOL_OPTION_INT("block_profile_fraction", struct pprof_config, block_profile_fraction,
			   "0", INT64_MIN, INT64_MAX, "no effect"),
	PROFCOL_OPTION_INT("mutex_profile_fraction", struct pprof_config, mutex_profile_fraction,
			   "0", INT64_MIN, INT64_MAX, "no effect"),
	PROFCOL_OPTION_STRING("save_to_file", struct pprof_config, save_to_file, NULL,
			      "no effect: nothing is written there"),
	PROFCOL_OPTION_NESTED("dialer", struct pprof_config, dialer, dialer_options, "no effect"),
	PROFCOL_OPTION_END,
};

struct pprof {
	const struct profcol_host *host; /* borrowed, as the next */
	const struct pprof_config *config;
};

static struct profcol_error *create(const struct profcol_host *host, const void *config, void **ret)
{
	struct pprof *pprof = calloc(1, sizeof(*pprof));

	if (!pprof)
		return profcol_error_errno(ENOMEM, "create the extension");
	pprof->host = host;
	pprof->config = config;
	*ret = pprof;
	return NULL;
}

static struct profcol_error *start(void *self)
{
	const struct pprof *pprof = self;
	const char *file = pprof->config->save_to_file;

	profcol_log_warn(pprof->host->logger,
			 "nothing listens at %s%s%s: profiles of this program are taken like those "
			 "of any other, by the receiver `profiling`, or by `profcol record --pid`",
			 pprof->config->endpoint, *file ? ", and nothing is written to " : "",
			 file);
	return NULL;
}

const struct profcol_component profcol_extension_pprof = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXTENSION,
	.stability = PROFCOL_ALPHA,
	.type = "pprof",
	.summary = "no effect: profiles of the program itself, which the profiler takes anyway",
	.options = pprof_options,
	.config_size = sizeof(struct pprof_config),
	.create = create,
	.start = start,
	.destroy = free,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the receiver `pprof`. */
#pragma once

#include "confighttp/confighttp.h"
#include "net/net.h"

/* The times at which a source is looked at. */
struct pprof_interval_config {
	uint64_t collection_interval_ns, initial_delay_ns;
	uint64_t timeout_ns; /* 0 = the source's own */
};

struct pprof_file_config {
	struct pprof_interval_config interval;
	const char *include; /* a pattern, glob.h */
	const char *state_directory;
};

struct pprof_remote_config {
	struct pprof_interval_config interval;
	struct net_http_config http;
	struct profcol_list endpoints; /* URLs besides http.endpoint */
	struct profcol_list profiles;  /* names below /debug/pprof; none: URLs as they are */
	uint64_t duration_ns;          /* of what is named `profile` */
};

struct pprof_server_config {
	struct confighttp_server_config server;
};

struct pprof_self_config {
	struct pprof_interval_config interval;
	int64_t block_profile_fraction, mutex_profile_fraction;
};

struct pprof_config {
	bool file_named, remote_named, server_named, self_named;
	struct pprof_file_config file;
	struct pprof_remote_config remote;
	struct pprof_server_config server;
	struct pprof_self_config self; /* refused */
};

/* Each target has a thread of its own. */
enum { PPROF_TARGETS_MAX = 64 };

extern const struct profcol_option pprof_options[];

/* Check what the table cannot say. Opens nothing. CONFIG. */
PROFCOL_MUST_CHECK struct profcol_error *pprof_config_validate(const struct pprof_config *config);

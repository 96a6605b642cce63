/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the receiver `otlp`. */
#pragma once

#include "confighttp/confighttp.h"
#include "net/net.h"

struct otlp_http_config {
	struct confighttp_server_config server;
	const char *traces_path, *metrics_path, *logs_path; /* no effect */
};

struct otlp_protocols_config {
	bool grpc_named, http_named;
	struct net_server_config grpc;
	struct otlp_http_config http;
};

struct otlp_config {
	struct otlp_protocols_config protocols;
};

extern const struct profcol_option otlp_options[];

/* What the table cannot say. Opens nothing. */
PROFCOL_MUST_CHECK struct profcol_error *otlp_config_validate(const struct otlp_config *config);

// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include "tls.h"

#include "base/base.h"

enum { MESSAGE_DEFAULT_MIB = 4 };

const char *const net_transport_names[] = {
	[NET_TCP] = "tcp", [NET_TCP4] = "tcp4", [NET_TCP6] = "tcp6", [NET_UNIX] = "unix", NULL,
};

const struct profcol_option net_dialer_options[] = {
	PROFCOL_OPTION_DURATION("timeout", struct net_dialer_config, timeout_ns, "0s", 0, 0,
				"no effect on a server"),
	PROFCOL_OPTION_END,
};

#define PARAMETERS struct net_server_parameters_config

static const struct profcol_option parameters_options[] = {
	PROFCOL_OPTION_DURATION("max_connection_idle", PARAMETERS, max_connection_idle_ns, "0s", 0,
				0, "end a connection after so long without requests; 0 = 10m"),
	PROFCOL_OPTION_DURATION("max_connection_age", PARAMETERS, max_connection_age_ns, "0s", 0, 0,
				"end a connection that is so old, so that clients spread over "
				"servers again; 0 = never"),
	PROFCOL_OPTION_DURATION("max_connection_age_grace", PARAMETERS, max_connection_age_grace_ns,
				"0s", 0, 0, "time for its requests to end; 0 = all they need"),
	PROFCOL_OPTION_DURATION("time", PARAMETERS, time_ns, "0s", 0, 0,
				"a ping after this long without traffic; 0 = 2h"),
	PROFCOL_OPTION_DURATION("timeout", PARAMETERS, timeout_ns, "0s", 0, 0,
				"without an answer to it the connection is given up; 0 = 20s"),
	PROFCOL_OPTION_END,
};

#undef PARAMETERS

static const struct profcol_option policy_options[] = {
	PROFCOL_OPTION_DURATION("min_time", struct net_enforcement_policy_config, min_time_ns, "0s",
				0, 0, "a client that pings more often is disconnected; 0 = 5m"),
	PROFCOL_OPTION_BOOL("permit_without_stream", struct net_enforcement_policy_config,
			    permit_without_stream, "false",
			    "clients may ping also while no request is open"),
	PROFCOL_OPTION_END,
};

const struct profcol_option net_server_keepalive_options[] = {
	PROFCOL_OPTION_NESTED("server_parameters", struct net_server_keepalive_config,
			      server_parameters, parameters_options,
			      "our pings, and how long "
			      "connections last"),
	PROFCOL_OPTION_NESTED("enforcement_policy", struct net_server_keepalive_config,
			      enforcement_policy, policy_options, "the pings of clients"),
	PROFCOL_OPTION_END,
};

struct profcol_error *net_server_validate(const struct net_server_config *config)
{
	struct listener listener;
	struct profcol_error *error = listener_init(&listener, config->endpoint, config->transport);

	if (!error)
		listener_deinit(&listener);
	if (!error && config->tls_named)
		error = tls_server_validate(&config->tls);
	if (!error && config->auth.authenticator[0])
		error = profcol_error_create(PROFCOL_CONFIG,
					     "auth.authenticator: profcol has no authenticators; "
					     "use tls.client_ca_file to choose who may connect");
	if (!error && config->middlewares.count)
		error = profcol_error_create(PROFCOL_CONFIG,
					     "middlewares: profcol has none; leave the key out");
	return error;
}

const char *net_refusal_name(enum net_refusal refusal)
{
	static const char *const names[NET_REFUSALS] = {
		[NET_REFUSED_CONNECTION] = "connections",
		[NET_REFUSED_CALLS] = "calls",
		[NET_REFUSED_HEAD] = "head",
		[NET_REFUSED_FLOOD] = "flood",
		[NET_REFUSED_SLOW] = "slow",
		[NET_REFUSED_PROTOCOL] = "protocol",
		[NET_REFUSED_TLS] = "tls",
		[NET_REFUSED_MEMORY] = "memory",
	};

	return names[refusal];
}

size_t net_server_message_bytes(const struct net_server_config *config)
{
	int64_t mib = config->max_recv_msg_size_mib;

	return (size_t)(mib ? mib : MESSAGE_DEFAULT_MIB) << 20;
}

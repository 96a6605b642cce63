// SPDX-License-Identifier: Apache-2.0
#include "net.h"

#include "base/base.h"

#include <string.h>

/*
 * Samples in @rejected profiles of @request: all, or an estimate, as the peer does not say which
 * profiles it means. Rounded up: where something was lost, that is seen.
 */
static uint64_t outcome_rejected_samples(const struct profcol_request *request, uint64_t rejected)
{
	uint64_t each, rest;

	if (rejected >= request->profiles)
		return request->samples;
	// In two parts, so as not to overflow: there are fewer profiles than bytes in a request.
	each = request->samples / request->profiles;
	rest = request->samples % request->profiles;
	return each * rejected + (rest * rejected + request->profiles - 1) / request->profiles;
}

static struct profcol_error *outcome_success(const struct profcol_request *request,
					     const struct net_answer *answer,
					     struct profcol_reply *reply)
{
	struct net_export_result result;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		net_export_result_decode(answer->bytes, answer->length, &result);

	// It said OK: sending the same again would only double it, whatever its answer looks like.
	if (error || answer->message) {
		reply->message = strdup(error ? profcol_error_message(error) : answer->message);
		if (!error)
			net_export_result_deinit(&result);
		return NULL;
	}
	if (result.rejected)
		reply->rejected = outcome_rejected_samples(request, result.rejected);
	reply->message = TAKE(result.message);
	return NULL;
}

/* As the Collector's exporter has it. */
static bool outcome_is_retryable(const struct net_answer *answer)
{
	switch (answer->code) {
	case NET_CANCELED:
	case NET_DEADLINE_EXCEEDED:
	case NET_ABORTED:
	case NET_OUT_OF_RANGE:
	case NET_UNAVAILABLE:
	case NET_DATA_LOSS:
		return true;
	case NET_RESOURCE_EXHAUSTED:
		return answer->has_retry;
	default:
		return false;
	}
}

/*
 * Is that how a server says that it does not have the method? Most name it,
 * those on the C core and others say nothing. A peer that has it may call a request unimplemented
 * as well, for reasons of its own.
 */
static bool outcome_lacks_service(const char *said)
{
	static const char *const words[] = { "unknown service", "unknown method",
					     "method not found" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(said, words[i]))
			return true;
	return !said[0];
}

/* What to do about it, where the code alone tells; after the peer's own words. */
static const char *outcome_hint(const struct net_answer *answer)
{
	const char *said = answer->message ? answer->message : "";

	switch (answer->code) {
	case NET_UNIMPLEMENTED:
		if (strstr(said, "http2 header with status"))
			return "the peer speaks HTTP/2, but not gRPC; check the port";
		return outcome_lacks_service(said) ? "the peer has no profiles pipeline, or its "
						     "feature gate service.profilesSupport is off"
						   : NULL;
	case NET_UNAUTHENTICATED:
	case NET_PERMISSION_DENIED:
		return "the peer refused us; check 'headers', and tls.cert_file if it asks for a "
		       "certificate";
	case NET_INVALID_ARGUMENT:
	case NET_INTERNAL:
		if (strstr(said, "otlp-profiles-development-version"))
			return "the peer speaks another version of OTLP profiles than 1, which is "
			       "profcol's; update the older of the two";
		if (strstr(said, "unmarshal"))
			return "the peer could not decode the request; it may know an older "
			       "OTLP profiles than opentelemetry-proto 1.11 only";
		return NULL;
	case NET_RESOURCE_EXHAUSTED:
		return answer->has_retry ? NULL
					 : "the request is too large for the peer; lower "
					   "max_request_bytes, or raise its max_recv_msg_size_mib "
					   "(over HTTP max_request_body_size)";
	default:
		return NULL;
	}
}

static enum profcol_code outcome_code(const struct net_answer *answer)
{
	if (!outcome_is_retryable(answer))
		return PROFCOL_REJECTED;
	return answer->has_retry && answer->retry_delay_ns ? PROFCOL_THROTTLED
							   : PROFCOL_UNAVAILABLE;
}

struct profcol_error *net_outcome_of(const struct profcol_request *request,
				     const struct net_answer *answer, struct profcol_reply *reply)
{
	const char *said = answer->message ? answer->message : "", *hint = NULL;
	struct profcol_error *error;

	if (answer->code == NET_OK)
		return outcome_success(request, answer, reply);
	reply->cause = net_code_name(answer->code);
	if (answer->from_peer)
		hint = outcome_hint(answer);
	reply->too_large =
		answer->from_peer && answer->code == NET_RESOURCE_EXHAUSTED && !answer->has_retry;
	error = profcol_error_create(outcome_code(answer), "%s%s%s%s%s", reply->cause,
				     said[0] ? ": " : "", said, hint ? "; " : "", hint ? hint : "");
	if (profcol_error_code(error) == PROFCOL_THROTTLED)
		profcol_error_set_delay(error, answer->retry_delay_ns);
	return error;
}

// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <stdio.h>
#include <string.h>

/* Names, types and texts as in the Collector's documentation of its own telemetry. */
static const struct names_entry entries[] = {
	{ "receiver_accepted_profile_samples",
	  { "otelcol_receiver_accepted_profile_samples", "",
	    "Number of profile samples successfully pushed into the pipeline.",
	    EXPOSITION_COUNTER },
	  false },
	{ "receiver_refused_profile_samples",
	  { "otelcol_receiver_refused_profile_samples", "",
	    "Number of profile samples that could not be pushed into the pipeline.",
	    EXPOSITION_COUNTER },
	  false },
	{ "receiver_failed_profile_samples",
	  { "otelcol_receiver_failed_profile_samples", "",
	    "The number of profile samples that failed to be processed by the receiver due to "
	    "internal errors.",
	    EXPOSITION_COUNTER },
	  false },
	{ "processor_incoming_items",
	  { "otelcol_processor_incoming_items", "", "Number of items passed to the processor.",
	    EXPOSITION_COUNTER },
	  false },
	{ "processor_outgoing_items",
	  { "otelcol_processor_outgoing_items", "", "Number of items emitted from the processor.",
	    EXPOSITION_COUNTER },
	  false },
	{ "processor_filter_profiles_filtered",
	  { "otelcol_processor_filter_profiles_filtered", "",
	    "Number of profiles dropped by the filter processor", EXPOSITION_COUNTER },
	  false },
	{ "exporter_sent_profile_samples",
	  { "otelcol_exporter_sent_profile_samples", "",
	    "Number of profile samples successfully sent to destination.", EXPOSITION_COUNTER },
	  false },
	{ "exporter_send_failed_profile_samples",
	  { "otelcol_exporter_send_failed_profile_samples", "",
	    "Number of profile samples in failed attempts to send to destination.",
	    EXPOSITION_COUNTER },
	  false },
	{ "exporter_enqueue_failed_profile_samples",
	  { "otelcol_exporter_enqueue_failed_profile_samples", "",
	    "Number of profile samples failed to be added to the sending queue.",
	    EXPOSITION_COUNTER },
	  false },
	{ "exporter_queue_size",
	  { "otelcol_exporter_queue_size", "",
	    "Current size of the retry queue, in units of its sizer.", EXPOSITION_GAUGE },
	  true },
	{ "exporter_queue_capacity",
	  { "otelcol_exporter_queue_capacity", "",
	    "Fixed capacity of the retry queue, in units of its sizer.", EXPOSITION_GAUGE },
	  true },
	{ "exporter_in_flight_requests",
	  { "otelcol_exporter_in_flight_requests", "",
	    "Number of export requests currently in-flight.", EXPOSITION_GAUGE },
	  true },
};

const struct names_entry *names_find(const char *own)
{
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		if (!strcmp(entries[i].own, own))
			return &entries[i];
	return NULL;
}

static bool is_valid(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

struct exposition_family names_family(const char *own, enum profcol_metric_kind kind,
				      const char *doc, char name[NAMES_BYTES],
				      const struct names_entry **entry_ret)
{
	*entry_ret = names_find(own);
	if (*entry_ret)
		return (*entry_ret)->family;
	snprintf(name, NAMES_BYTES, "profcol_%s", own);
	for (char *at = name; *at; at++)
		if (!is_valid(*at))
			*at = '_';
	return (struct exposition_family){
		.name = name,
		.unit = "",
		.help = doc,
		.type = kind == PROFCOL_GAUGE || kind == PROFCOL_GAUGE_NS ? EXPOSITION_GAUGE
									  : EXPOSITION_COUNTER,
	};
}

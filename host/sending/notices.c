// SPDX-License-Identifier: Apache-2.0
#include "notices.h"

#include "base/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void notices_init(struct notices *notices, const struct profcol_host *host)
{
	*notices = (struct notices){
		.host = host,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.retry = { .silence_ns = PROFCOL_MINUTE },
		.drop = { .silence_ns = PROFCOL_MINUTE },
		.refusal = { .silence_ns = PROFCOL_MINUTE },
		// Nothing is wrong here; who has read it need not be reminded.
		.rejection = { .silence_ns = PROFCOL_HOUR },
	};
}

void notices_deinit(struct notices *notices)
{
	pthread_mutex_destroy(&notices->lock);
}

/* FNV-1a. A port or a count in it does not make another text. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *text; text++)
		if (*text < '0' || *text > '9')
			hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return hash;
}

/* The place of the text, else the one that was used least recently. Under the lock. */
static struct notice_text *find_text(struct notice *notice, uint64_t hash)
{
	struct notice_text *oldest = &notice->texts[0];

	for (size_t i = 0; i < NOTICE_TEXTS; i++) {
		struct notice_text *text = &notice->texts[i];

		if (text->said_ns && text->hash == hash)
			return text;
		if (text->said_ns < oldest->said_ns)
			oldest = text;
	}
	return oldest;
}

/* Under the lock: one more. True when it is to be said, for all of the same in *@all_ret. */
static bool is_due(struct notice *notice, const char *text, uint64_t samples,
		   struct notice_text *all_ret)
{
	uint64_t now_ns = clock_monotonic_ns(), hash = hash_text(text);
	struct notice_text *place = find_text(notice, hash);
	bool silent = place->said_ns && now_ns - place->said_ns < notice->silence_ns;

	if (place->hash != hash || !place->said_ns) {
		if (silent)
			return false;
		*place = (struct notice_text){ .hash = hash };
	}
	place->events++;
	place->samples += samples;
	if (silent)
		return false;
	*all_ret = *place;
	*place = (struct notice_text){ .hash = hash, .said_ns = now_ns };
	return true;
}

/* ", 17 of this kind ..." or nothing. */
static const char *format_times(char to[64], const struct notice_text *all)
{
	to[0] = '\0';
	if (all->events > 1)
		snprintf(to, 64, ", %" PRIu64 " of this kind since the last line", all->events);
	return to;
}

/* The reason is for those who ask how this exporter is. Under the lock. */
static void enter_trouble(struct notices *notices, const struct profcol_error *error)
{
	if (!notices->troubled)
		notices->host->report_status(notices->host, PROFCOL_STATUS_RECOVERABLE_ERROR,
					     profcol_error_message(error));
	notices->troubled = true;
}

void notices_retry(struct notices *notices, const struct profcol_error *error, uint64_t wait_ns)
{
	struct notice_text all;
	char times[64];

	pthread_mutex_lock(&notices->lock);
	if (is_due(&notices->retry, profcol_error_message(error), 0, &all)) {
		profcol_log_warn(notices->host->logger,
				 "Exporting failed. Will retry the request after interval. "
				 "interval=%.3fs%s: %s",
				 (double)wait_ns / 1e9, format_times(times, &all),
				 profcol_error_message(error));
		enter_trouble(notices, error);
	}
	pthread_mutex_unlock(&notices->lock);
}

void notices_drop(struct notices *notices, const struct profcol_error *error, const char *cause,
		  uint64_t samples, const char *remedy)
{
	struct notice_text all;
	char times[64];

	pthread_mutex_lock(&notices->lock);
	if (is_due(&notices->drop, profcol_error_message(error), samples, &all)) {
		profcol_log_error(notices->host->logger,
				  "Exporting failed. Dropping data. dropped_samples=%" PRIu64
				  " cause=%s%s: %s%s",
				  all.samples, cause, format_times(times, &all),
				  profcol_error_message(error), remedy);
		enter_trouble(notices, error);
	}
	pthread_mutex_unlock(&notices->lock);
}

void notices_refuse(struct notices *notices, const struct profcol_error *error, uint64_t samples)
{
	struct notice_text all;
	char times[64];

	pthread_mutex_lock(&notices->lock);
	if (is_due(&notices->refusal, profcol_error_message(error), samples, &all))
		profcol_log_error(
			notices->host->logger,
			"Exporting failed. Rejecting data. rejected_samples=%" PRIu64 "%s: %s",
			all.samples, format_times(times, &all), profcol_error_message(error));
	pthread_mutex_unlock(&notices->lock);
}

void notices_reject(struct notices *notices, uint64_t rejected, const char *remark)
{
	struct notice_text all;
	char times[64];

	if (!remark)
		remark = "";
	pthread_mutex_lock(&notices->lock);
	if (is_due(&notices->rejection, remark, rejected, &all))
		profcol_log_warn(notices->host->logger,
				 "Partial success response. dropped_samples=%" PRIu64 "%s: %.512s",
				 all.samples, format_times(times, &all),
				 remark[0] ? remark : "the peer gives no reason");
	pthread_mutex_unlock(&notices->lock);
}

void notices_success(struct notices *notices)
{
	pthread_mutex_lock(&notices->lock);
	if (notices->troubled)
		notices->host->report_status(notices->host, PROFCOL_STATUS_OK, NULL);
	notices->troubled = false;
	pthread_mutex_unlock(&notices->lock);
}

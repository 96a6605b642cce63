// SPDX-License-Identifier: Apache-2.0
#include "log_sampling.h"

#include "base/base.h"

#include <string.h>

enum { PROBES = 8 };

void log_sampling_init(struct log_sampling *sampling)
{
	memset(sampling, 0, sizeof(*sampling));
	pthread_mutex_init(&sampling->lock, NULL);
}

void log_sampling_deinit(struct log_sampling *sampling)
{
	pthread_mutex_destroy(&sampling->lock);
}

void log_sampling_configure(struct log_sampling *sampling, bool enabled, uint64_t tick_ns,
			    int64_t initial, int64_t thereafter)
{
	sampling->enabled = enabled;
	sampling->tick_ns = tick_ns;
	sampling->initial = initial > 0 ? initial : 0;
	sampling->thereafter = thereafter > 0 ? thereafter : 0;
}

/* FNV-1a. */
static uint64_t hash_byte(uint64_t hash, char byte)
{
	return (hash ^ (unsigned char)byte) * 0x100000001b3u;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = hash_byte(hash, *text);
	return hash;
}

/* A count or a port in it does not make it another message. */
static uint64_t hash_without_numbers(uint64_t hash, const char *text)
{
	for (; *text; text++)
		if (*text < '0' || *text > '9')
			hash = hash_byte(hash, *text);
	return hash;
}

uint64_t log_sampling_key(enum profcol_level level, const char *id, const char *format,
			  const char *text)
{
	uint64_t key = hash_text(0xcbf29ce484222325u ^ (uint64_t)level, id);

	// What begins with a conversion says by its text what it is about.
	if (format[0] == '%')
		key = hash_without_numbers(key, text);
	else
		key = (key ^ (uintptr_t)format) * 0x9e3779b97f4a7c15u;
	// The lower bits of a product are poor, and 0 is taken.
	return (key ^ key >> 32) | 1;
}

/* The slot of @key; else a free one, else the one whose tick began first. */
static struct log_repeat *find_slot(struct log_sampling *sampling, uint64_t key)
{
	struct log_repeat *best = NULL;

	for (size_t i = 0; i < PROBES; i++) {
		size_t at = (size_t)((key >> 1) + i) % LOG_SAMPLING_SLOTS;
		struct log_repeat *repeat = &sampling->repeats[at];

		if (repeat->key == key)
			return repeat;
		if (!best || (best->key && (!repeat->key || repeat->begun_ns < best->begun_ns)))
			best = repeat;
	}
	return best;
}

/* Copies what fits, and no half character. */
static void copy_head(char *to, size_t size, const char *text)
{
	size_t length = strings_cut_utf8(text, strnlen(text, size), size - 1);

	memcpy(to, text, length);
	to[length] = '\0';
}

static void begin_slot(struct log_repeat *repeat, uint64_t key, enum profcol_level level,
		       const char *id, struct log_suppressed *evicted_ret)
{
	if (repeat->key && repeat->held.count)
		*evicted_ret = repeat->held;
	*repeat = (struct log_repeat){ .key = key, .held.level = level };
	copy_head(repeat->held.id, sizeof(repeat->held.id), id);
}

bool log_sampling_admit(struct log_sampling *sampling, uint64_t key, enum profcol_level level,
			const char *id, const char *text, uint64_t now_ns, uint64_t *suppressed_ret,
			struct log_suppressed *evicted_ret)
{
	struct log_repeat *repeat;
	uint64_t beyond;
	bool admitted;

	*suppressed_ret = 0;
	evicted_ret->count = 0;
	pthread_mutex_lock(&sampling->lock);
	repeat = find_slot(sampling, key);
	if (repeat->key != key)
		begin_slot(repeat, key, level, id, evicted_ret);
	if (!repeat->seen || now_ns - repeat->begun_ns >= sampling->tick_ns) {
		repeat->begun_ns = now_ns;
		repeat->seen = 0;
		copy_head(repeat->held.text, sizeof(repeat->held.text), text);
	}
	repeat->seen++;
	beyond = repeat->seen > (uint64_t)sampling->initial
			 ? repeat->seen - (uint64_t)sampling->initial
			 : 0;
	admitted =
		!beyond || (sampling->thereafter && beyond % (uint64_t)sampling->thereafter == 0);
	if (admitted) {
		*suppressed_ret = repeat->held.count;
		repeat->held.count = 0;
	} else {
		repeat->held.count++;
	}
	pthread_mutex_unlock(&sampling->lock);
	return admitted;
}

bool log_sampling_take_expired(struct log_sampling *sampling, uint64_t now_ns,
			       struct log_suppressed *ret)
{
	bool found = false;

	pthread_mutex_lock(&sampling->lock);
	for (size_t i = 0; i < LOG_SAMPLING_SLOTS && !found; i++) {
		struct log_repeat *repeat = &sampling->repeats[i];

		if (!repeat->held.count || now_ns - repeat->begun_ns < sampling->tick_ns)
			continue;
		*ret = repeat->held;
		repeat->held.count = 0;
		found = true;
	}
	pthread_mutex_unlock(&sampling->lock);
	return found;
}

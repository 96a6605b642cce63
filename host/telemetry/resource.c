// SPDX-License-Identifier: Apache-2.0
#include "resource.h"

#include "base/base.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { UUID_BYTES = 16, DEFAULTS = 3 };

static char instance_id[2 * UUID_BYTES + 5];
static pthread_once_t instance_id_once = PTHREAD_ONCE_INIT;

/* RFC 9562, version 4. */
static void make_instance_id(void)
{
	uint8_t bytes[UUID_BYTES];
	char digits[2 * UUID_BYTES + 1];

	// It fails only before 5.6 and early in boot; then the clock has to do.
	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != (ssize_t)sizeof(bytes)) {
		uint64_t now[2] = { clock_realtime_ns(), (uint64_t)getpid() };

		memcpy(bytes, now, sizeof(bytes));
	}
	bytes[6] = (bytes[6] & 0x0f) | 0x40;
	bytes[8] = (bytes[8] & 0x3f) | 0x80;
	strings_hex(digits, bytes, sizeof(bytes));
	snprintf(instance_id, sizeof(instance_id), "%.8s-%.4s-%.4s-%.4s-%.12s", digits, digits + 8,
		 digits + 12, digits + 16, digits + 20);
}

const char *resource_instance_id(void)
{
	pthread_once(&instance_id_once, make_instance_id);
	return instance_id;
}

struct attribute {
	const char *key, *value;
};

static int compare_attributes(const void *left, const void *right)
{
	const struct attribute *a = left, *b = right;

	return strcmp(a->key, b->key);
}

static bool is_decided(const struct config_service *service, const char *key)
{
	for (size_t i = 0; i < service->resource.count; i++)
		if (!strcmp(service->resource.keys[i], key))
			return true;
	for (size_t i = 0; i < service->resource_removed.count; i++)
		if (!strcmp(service->resource_removed.items[i], key))
			return true;
	return false;
}

static size_t gather(const struct config_service *service, const char *version,
		     struct attribute *to)
{
	const struct attribute defaults[DEFAULTS] = {
		{ "service.instance.id", resource_instance_id() },
		{ "service.name", "profcol" },
		{ "service.version", version },
	};
	size_t count = 0;

	for (size_t i = 0; i < DEFAULTS; i++)
		if (!is_decided(service, defaults[i].key))
			to[count++] = defaults[i];
	for (size_t i = 0; i < service->resource.count; i++)
		to[count++] = (struct attribute){ service->resource.keys[i],
						  service->resource.values[i] };
	qsort(to, count, sizeof(*to), compare_attributes);
	return count;
}

static bool fill(struct resource *resource, const struct attribute *attributes, size_t count)
{
	const char **keys = arena_alloc(resource->memory, (count + 1) * sizeof(char *));
	const char **values = arena_alloc(resource->memory, (count + 1) * sizeof(char *));

	if (!keys || !values)
		return false;
	for (size_t i = 0; i < count; i++) {
		keys[i] = arena_strdup(resource->memory, attributes[i].key);
		values[i] = arena_strdup(resource->memory, attributes[i].value);
		if (!keys[i] || !values[i])
			return false;
	}
	resource->attributes = (struct profcol_map){ keys, values, count };
	return true;
}

struct profcol_error *resource_create(const struct config_service *service, const char *version,
				      struct resource **ret)
{
	CLEANUP_FREE struct attribute *attributes =
		calloc(service->resource.count + DEFAULTS, sizeof(*attributes));
	struct resource *resource = calloc(1, sizeof(*resource));

	if (attributes && resource)
		resource->memory = arena_create(0);
	if (!resource || !resource->memory ||
	    !fill(resource, attributes, gather(service, version, attributes))) {
		resource_destroy(resource);
		return profcol_error_create(PROFCOL_NO_MEMORY,
					    "out of memory for service::telemetry::resource");
	}
	*ret = resource;
	return NULL;
}

void resource_destroy(struct resource *resource)
{
	if (!resource)
		return;
	arena_destroy(resource->memory);
	free(resource);
}

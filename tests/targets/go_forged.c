// SPDX-License-Identifier: Apache-2.0
/*
 * No Go program, but says that it is one of GO_VERSION, and burns CPU with what it has for a
 * goroutine and its labels: true ones, or others, by its argument. It prints the ways there are.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LABELS = 4096, PAGE = 4096, M = 48 / 8 };

/* Go 1.26, or, with maps, Go 1.20: in words. */
enum {
	G_LABELS = (WITH_MAPS ? 360 : 352) / 8,
	M_CURG = (WITH_MAPS ? 192 : 184) / 8,
};

__attribute__((section(".go.buildinfo"), used, aligned(16))) static char build_info[96] =
	"\xff Go buildinf:\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x06" GO_VERSION;

static __thread const void *volatile current; /* the one thread-local variable: at -8 */

struct text {
	const void *start;
	uint64_t bytes;
};

struct label {
	struct text key, value;
};

static uint64_t goroutine[64], thread[64];
static struct label many[LABELS];
static struct list {
	const void *start;
	uint64_t count, capacity;
} list = { many, 1, LABELS };
static volatile char changing[16];
static volatile uint64_t sink;

/* As Go up to 1.23 has it. */
static struct bucket {
	uint8_t marks[8];
	struct text keys[8], values[8];
	const void *overflow;
} buckets[32];

static struct map {
	uint64_t count;
	uint8_t flags, shift;
	uint16_t overflown;
	uint32_t seed;
	const void *buckets;
} map = { .count = 1, .buckets = buckets };
static const void *map_pointer = &map;

static struct text text_of(const char *text)
{
	return (struct text){ text, strlen(text) };
}

/* The last @bytes of memory behind which there is none. */
static void *edge(size_t bytes)
{
	char *at = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || munmap(at + PAGE, PAGE))
		abort();
	return at + PAGE - bytes;
}

static void set(const char *key, const char *value)
{
	many[0] = (struct label){ text_of(key), text_of(value) };
	memset(buckets[0].marks, 0, 8);
	buckets[0].marks[0] = 5;
	buckets[0].keys[0] = many[0].key;
	buckets[0].values[0] = many[0].value;
}

/* ---- ways ---- */

static void honest(void)
{
}

static void no_goroutine(void)
{
	current = (const void *)0x10;
}

static void goroutine_at_the_edge(void)
{
	current = edge(8);
}

/* g, m and labels are one. */
static void all_in_one(void)
{
	for (size_t i = 0; i < 64; i++)
		goroutine[i] = (uint64_t)goroutine;
}

static void of_another_thread(void)
{
	static uint64_t other[64];

	memcpy(other, goroutine, sizeof(other));
	other[M] = 8;
	thread[M_CURG] = (uint64_t)other;
}

static void labels_nowhere(void)
{
	goroutine[G_LABELS] = ~0ull;
}

static void text_nowhere(void)
{
	many[0].value.start = (const void *)0x10;
	buckets[0].values[0] = many[0].value;
}

static void lengths_without_end(void)
{
	many[1] = many[2] = many[0];
	many[1].key.bytes = 1ull << 62;
	many[2].value = (struct text){ edge(100), 1ull << 62 };
	list.count = 3;
	memcpy(buckets[0].marks, "\5\5\5", 3);
	for (size_t i = 0; i < 3; i++) {
		buckets[0].keys[i] = many[i].key;
		buckets[0].values[i] = many[i].value;
	}
}

static void a_billion(void)
{
	for (size_t i = 0; i < LABELS; i++)
		many[i] = many[0];
	list.count = 1000000000;
	map.count = 1000000000;
	map.shift = 255;
	for (size_t i = 0; i < 32; i++) {
		buckets[i] = buckets[0];
		memset(buckets[i].marks, 5, 8);
		for (size_t j = 0; j < 8; j++) {
			buckets[i].keys[j] = many[0].key;
			buckets[i].values[j] = many[0].value;
		}
	}
}

/* A slice has no circles: one label, whose list is itself. */
static void in_a_circle(void)
{
	list = (struct list){ &list, 1, 1 };
	buckets[0].overflow = buckets;
	memset(buckets[0].marks, 0, 8);
	map.count = 5;
}

static void list_at_the_edge(void)
{
	list.start = memcpy(edge(sizeof(many[0]) + 8), many, sizeof(many[0]));
	list.count = 2;
	map.buckets = edge(sizeof(buckets[0]) - 8);
}

/* What is another value at each sample. */
static void always_another(void)
{
	many[0].value = buckets[0].values[0] =
		(struct text){ (const char *)changing, sizeof(changing) };
}

static const struct {
	const char *name;
	void (*forge)(void);
} ways[] = {
	{ "honest", honest },
	{ "no_goroutine", no_goroutine },
	{ "goroutine_at_the_edge", goroutine_at_the_edge },
	{ "all_in_one", all_in_one },
	{ "of_another_thread", of_another_thread },
	{ "labels_nowhere", labels_nowhere },
	{ "text_nowhere", text_nowhere },
	{ "lengths_without_end", lengths_without_end },
	{ "a_billion", a_billion },
	{ "in_a_circle", in_a_circle },
	{ "list_at_the_edge", list_at_the_edge },
	{ "always_another", always_another },
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

__attribute__((noinline)) static void spin(void)
{
	for (uint64_t i = 0;; i++) {
		sink += i;
		for (size_t j = 0; j < sizeof(changing); j++)
			changing[j] = (char)('a' + (i >> 4 * j & 15));
	}
}

int main(int count, char **arguments)
{
	current = goroutine;
	goroutine[M] = (uint64_t)thread;
	thread[M_CURG] = (uint64_t)goroutine;
	goroutine[G_LABELS] = WITH_MAPS ? (uint64_t)&map_pointer : (uint64_t)&list;
	set("color", "red");
	for (size_t i = 0; i < WAYS; i++) {
		if (count < 2)
			puts(ways[i].name);
		else if (!strcmp(arguments[1], ways[i].name))
			ways[i].forge();
	}
	if (count >= 2)
		spin();
	return build_info[0] == 0;
}

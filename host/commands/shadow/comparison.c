// SPDX-License-Identifier: Apache-2.0
#include "comparison.h"

#include "functions.h"

#include <math.h>
#include <string.h>

enum { ALL = 0 }; /* the service that stands for all of them */

/* A function in a service. */
struct cell {
	uint32_t service, function;
	uint64_t samples[TALLY_SIDES];
};

struct comparing {
	const struct tally *tally; /* borrowed */
	struct functions functions;
	uint32_t *service_of_name;    /* owned; by text id: + 1 */
	uint32_t *service_of_process; /* owned */
	VECTOR(struct comparison_service) services;
	VECTOR(struct cell) cells;
	struct intern index; /* of cells */
};

static void comparing_deinit(struct comparing *comparing)
{
	functions_deinit(&comparing->functions);
	free(comparing->service_of_name);
	free(comparing->service_of_process);
	VECTOR_DEINIT(&comparing->services);
	VECTOR_DEINIT(&comparing->cells);
	intern_deinit(&comparing->index);
}

/* ---- services ---- */

static uint32_t service_name(const struct tally *tally, const struct tally_process *process)
{
	if (process->service)
		return process->service;
	if (process->executable)
		return process->executable;
	if (process->container)
		return process->container;
	if (process->refused)
		return tally->not_named;
	return process->pid ? tally->kernel : tally->idle;
}

static bool name_services(struct comparing *comparing)
{
	const struct tally *tally = comparing->tally;

	comparing->service_of_name =
		calloc(tally->places.texts.count, sizeof(*comparing->service_of_name));
	comparing->service_of_process =
		calloc(tally->processes.count + 1, sizeof(*comparing->service_of_process));
	if (!comparing->service_of_name || !comparing->service_of_process ||
	    !VECTOR_PUSH(&comparing->services, (struct comparison_service){ .name = "" }))
		return false;
	for (size_t i = 0; i < tally->processes.count; i++) {
		uint32_t name = service_name(tally, &tally->processes.items[i]);
		struct comparison_service service = { .name = places_text(&tally->places, name) };

		if (!comparing->service_of_name[name]) {
			if (!VECTOR_PUSH(&comparing->services, service))
				return false;
			comparing->service_of_name[name] = (uint32_t)comparing->services.count;
		}
		comparing->service_of_process[i] = comparing->service_of_name[name] - 1;
	}
	return true;
}

/* ---- cells ---- */

struct cell_lookup {
	const struct comparing *comparing;
	uint32_t key[2];
};

static bool cell_equal(uint32_t id, const void *context)
{
	const struct cell_lookup *lookup = context;
	const struct cell *cell = &lookup->comparing->cells.items[id];

	return cell->service == lookup->key[0] && cell->function == lookup->key[1];
}

static bool count(struct comparing *comparing, uint32_t service, enum tally_side side,
		  const struct tally_row *row)
{
	uint32_t function = comparing->functions.of_place[row->leaf];
	struct cell_lookup lookup = { .comparing = comparing, .key = { service, function } };
	uint32_t hash =
		intern_hash_seeded(lookup.key, sizeof(lookup.key), comparing->tally->places.seed);
	uint32_t id = intern_find(&comparing->index, hash, cell_equal, &lookup);
	struct comparison_service *of = &comparing->services.items[service];
	const struct cell fresh = { .service = service, .function = function };

	if (id == INTERN_MISSING) {
		id = (uint32_t)comparing->cells.count;
		if (!VECTOR_PUSH(&comparing->cells, fresh) ||
		    !intern_insert(&comparing->index, hash, id))
			return false;
	}
	comparing->cells.items[id].samples[side] += row->count;
	of->samples[side] += row->count;
	if (functions_is_whole(&comparing->functions, row))
		of->whole[side] += row->count;
	return true;
}

static bool count_all(struct comparing *comparing)
{
	for (int side = 0; side < TALLY_SIDES; side++) {
		size_t rows;
		const struct tally_row *row = tally_rows(comparing->tally, side, &rows);

		for (; rows; rows--, row++)
			if (row->count &&
			    (!count(comparing, ALL, side, row) ||
			     !count(comparing, comparing->service_of_process[row->process], side,
				    row)))
				return false;
	}
	return true;
}

/* ---- agreement ---- */

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

/* Of both sides together, so that a side that samples more often does not decide. */
static double weight(const struct comparing *comparing, const struct cell *cell)
{
	const struct comparison_service *of = &comparing->services.items[cell->service];
	double sum = 0;

	for (int side = 0; side < TALLY_SIDES; side++)
		sum += share(cell->samples[side], of->samples[side]);
	return sum;
}

static int compare_cells(const void *left, const void *right, void *context)
{
	const struct cell *a = left, *b = right;
	double difference;

	if (a->service != b->service)
		return a->service < b->service ? -1 : 1;
	difference = weight(context, b) - weight(context, a);
	if (difference != 0)
		return difference < 0 ? -1 : 1;
	return a->function == b->function ? 0 : a->function < b->function ? -1 : 1;
}

/* How far two samplings of a share @p come apart on the average. */
static double chance(double p, const struct comparison_service *of)
{
	double per_sample =
		1.0 / (double)of->samples[TALLY_OWN] + 1.0 / (double)of->samples[TALLY_OTHER];

	return sqrt(2 / M_PI * p * (1 - p) * per_sample);
}

static void judge(struct comparing *comparing, const struct cell *cells, size_t cell_count)
{
	struct comparison_service *of = &comparing->services.items[cells->service];
	const struct places *places = &comparing->tally->places;
	double both = 0, apart = 0, by_chance = 0, unnamed = 0;
	double all = (double)of->samples[TALLY_OWN] + (double)of->samples[TALLY_OTHER];

	for (size_t i = 0; i < cell_count && i < COMPARISON_HOTTEST; i++) {
		const struct cell *cell = &cells[i];
		struct function function = comparing->functions.items.items[cell->function];
		double own = share(cell->samples[TALLY_OWN], of->samples[TALLY_OWN]);
		double other = share(cell->samples[TALLY_OTHER], of->samples[TALLY_OTHER]);
		double pooled =
			((double)cell->samples[TALLY_OWN] + (double)cell->samples[TALLY_OTHER]) /
			all;

		both += own + other;
		apart += fabs(own - other);
		by_chance += chance(pooled, of);
		unnamed += function.name ? 0 : own + other;
		of->hottest[of->hottest_count++] = (struct comparison_function){
			.name = places_text(places, function.name),
			.file = places_text(places, places->files.items[function.file]),
			.samples = { cell->samples[TALLY_OWN], cell->samples[TALLY_OTHER] },
		};
	}
	if (!of->samples[TALLY_OWN] || !of->samples[TALLY_OTHER])
		return;
	of->agreement = 1 - apart / both;
	of->expected = by_chance < both ? 1 - by_chance / both : 0;
	of->by_file = unnamed / both;
}

static void judge_all(struct comparing *comparing)
{
	size_t begin = 0;

	for (size_t i = 0; i < comparing->services.count; i++)
		comparing->services.items[i].agreement = comparing->services.items[i].expected =
			comparing->services.items[i].by_file = NAN;
	if (comparing->cells.count)
		qsort_r(comparing->cells.items, comparing->cells.count,
			sizeof(*comparing->cells.items), compare_cells, comparing);
	for (size_t i = 1; i <= comparing->cells.count; i++) {
		const struct cell *cells = comparing->cells.items;

		if (i < comparing->cells.count && cells[i].service == cells[begin].service)
			continue;
		judge(comparing, cells + begin, i - begin);
		begin = i;
	}
}

static int compare_services(const void *left, const void *right)
{
	const struct comparison_service *a = left, *b = right;
	uint64_t of_a = a->samples[TALLY_OWN] + a->samples[TALLY_OTHER];
	uint64_t of_b = b->samples[TALLY_OWN] + b->samples[TALLY_OTHER];

	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return strcmp(a->name, b->name);
}

bool comparison_init(struct comparison *comparison, const struct tally *tally)
{
	CLEANUP(comparing_deinit) struct comparing comparing = { .tally = tally };

	*comparison = (struct comparison){ 0 };
	if (!name_services(&comparing) || !functions_init(&comparing.functions, tally) ||
	    !count_all(&comparing))
		return false;
	judge_all(&comparing);
	comparison->all = comparing.services.items[ALL];
	for (size_t i = ALL + 1; i < comparing.services.count; i++) {
		const struct comparison_service *service = &comparing.services.items[i];

		// Processes that have samples outside of the time only.
		if ((service->samples[TALLY_OWN] || service->samples[TALLY_OTHER]) &&
		    !VECTOR_PUSH(&comparison->services, *service)) {
			comparison_deinit(comparison);
			return false;
		}
	}
	if (comparison->services.count)
		qsort(comparison->services.items, comparison->services.count,
		      sizeof(*comparison->services.items), compare_services);
	return true;
}

void comparison_deinit(struct comparison *comparison)
{
	VECTOR_DEINIT(&comparison->services);
}

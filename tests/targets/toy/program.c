/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of the toy interpreter, each on a thread named like it, until the process is killed.
 *
 *   toy CHAINS     writes the chains of calls that it has to that file, root first, a line each:
 *                  FUNCTION of C, FUNCTION@FILE:LINE of a program
 *
 * As a library it does the same for a Java program (ToyBeside.java).
 */
#include "toy.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define NATIVE   __attribute__((noipa)) void
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum {
	NAME_MOST = 64,
	ROWS_MOST = 16,
	ROUNDS = 50,       /* thousands; some 0.1 ms */
	CIRCLES = 20,      /* of a recursion through C */
	PIT_CIRCLES = 400, /* deeper than stacks are reported */
	DEPTH = 600,       /* of a recursion within one call of the loop */
	SHORT_ROUNDS = 500,
	LONG_ROUNDS = 400000, /* a second: names are read meanwhile */
};

enum native { APPLY, SPIN, FRESH };
enum function { FOREST, SIZE, LEAF, TREE, BRANCH, DEEP, CIRCLE, FUNCTIONS };

static const struct toy_instruction forest[] = {
	{ TOY_CALL, SIZE, 0, 2 },   { TOY_NATIVE, APPLY, TREE, 3 }, { TOY_WORK, ROUNDS, 0, 4 },
	{ TOY_CALL, BRANCH, 0, 6 }, { TOY_RETURN, 0, 0, 7 },
};
static const struct toy_instruction size[] = {
	{ TOY_WORK, ROUNDS, 0, 1 },
	{ TOY_CALL, LEAF, 0, 1 },
	{ TOY_CALL, BRANCH, 0, 2 },
	{ TOY_RETURN, 0, 0, 3 },
};
static const struct toy_instruction leaf[] = {
	{ TOY_WORK, ROUNDS, 0, 1 },
	{ TOY_NATIVE, SPIN, ROUNDS, 400 },
	{ TOY_RETURN, 0, 0, 2 },
};
static const struct toy_instruction tree[] = {
	{ TOY_NATIVE, APPLY, BRANCH, 2 },
	{ TOY_NATIVE, SPIN, ROUNDS, 4 },
	{ TOY_CALL, BRANCH, 0, 5 },
	{ TOY_RETURN, 0, 0, 6 },
};
static const struct toy_instruction branch[] = {
	{ TOY_CALL, LEAF, 0, 1 },
	{ TOY_WORK, ROUNDS, 0, 3 },
	{ TOY_RETURN, 0, 0, 3 },
};
static const struct toy_instruction deep[] = {
	{ TOY_AGAIN, LEAF, 0, 1 },
	{ TOY_RETURN, 0, 0, 2 },
};
/* It calls itself by way of C. */
static const struct toy_instruction circle[] = {
	{ TOY_NATIVE, APPLY, CIRCLE, 1 },
	{ TOY_RETURN, 0, 0, 2 },
};
static const struct toy_instruction fresh_short[] = {
	{ TOY_WORK, SHORT_ROUNDS, 0, 1 },
	{ TOY_CALL, LEAF, 0, 1 },
	{ TOY_RETURN, 0, 0, 1 },
};
static const struct toy_instruction fresh_long[] = {
	{ TOY_WORK, LONG_ROUNDS, 0, 1 },
	{ TOY_CALL, LEAF, 0, 1 },
	{ TOY_RETURN, 0, 0, 1 },
};

static const struct source {
	const char *name, *file;
	uint32_t start_line;
	const struct toy_instruction *instructions;
} sources[FUNCTIONS] = {
	[FOREST] = { "wald", "wald.toy", 3, forest },
	[SIZE] = { "größe", "wald.toy", 20, size },
	[LEAF] = { "лист", "blätter/葉.toy", 2, leaf },
	[TREE] = { "Baum.木", "wald.toy", 100000, tree },
	[BRANCH] = { "ast<T>(x)", "", 40, branch },
	[DEEP] = { "tief", "abgrund.toy", 60, deep },
	[CIRCLE] = { "kreis", "abgrund.toy", 70, circle },
};

/* A function with room for all it has. */
struct room {
	struct toy_code code;
	struct toy_row rows[ROWS_MOST];
	union {
		struct toy_text text;
		char bytes[sizeof(struct toy_text) + NAME_MOST];
	} name, file;
};

static struct room rooms[FUNCTIONS];
static struct room fresh_room;

struct toy_code *const toy_functions[] = {
	&rooms[FOREST].code, &rooms[SIZE].code, &rooms[LEAF].code,   &rooms[TREE].code,
	&rooms[BRANCH].code, &rooms[DEEP].code, &rooms[CIRCLE].code,
};

static void room_init(struct room *room)
{
	room->code.name = &room->name.text;
	room->code.file = &room->file.text;
	room->code.rows = room->rows;
}

static void make_functions(void)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		room_init(&rooms[i]);
		toy_code_make(&rooms[i].code, sources[i].name, sources[i].file,
			      sources[i].instructions, sources[i].start_line);
		rooms[i].code.shadow_name = sources[i].name;
	}
	room_init(&fresh_room);
	fresh_room.code.shadow_name = "frisch";
	fresh_room.code.shadow_line = 1;
}

/* ---- functions of C ---- */

/* Function @more, but when there are no turns left for it another one. */
static NATIVE apply(struct toy_thread *thread, uint32_t more)
{
	toy_shadow_push(thread, "apply");
	if (more == CIRCLE && !thread->turns)
		more = LEAF;
	else if (more == CIRCLE)
		thread->turns--;
	toy_call(thread, toy_functions[more]);
	toy_shadow_pop(thread);
}

static NATIVE spin(struct toy_thread *thread, uint32_t more)
{
	uint64_t x = 1;

	toy_shadow_push(thread, "spin");
	toy_record(thread);
	for (uint64_t i = 0; i < more * 1000ull; i++)
		__asm__ volatile("imul %0, %0" : "+r"(x));
	toy_shadow_pop(thread);
}

/* Makes a function in the place of the last one. The thread is named like it as long as it runs. */
static NATIVE fresh(struct toy_thread *thread, uint32_t more)
{
	char name[NAME_MOST];
	uint32_t number = ++thread->made;

	(void)more;
	toy_shadow_push(thread, "fresh");
	snprintf(name, sizeof(name), "frisch_%u", number);
	prctl(PR_SET_NAME, name);
	toy_code_make(&fresh_room.code, name, "frisch.toy", number % 16 ? fresh_short : fresh_long,
		      10 * number);
	toy_call(thread, &fresh_room.code);
	toy_code_end(&fresh_room.code);
	toy_shadow_pop(thread);
}

toy_native *const toy_natives[] = { apply, spin, fresh };

/* ---- threads ---- */

static const struct program {
	const char *name;
	enum function function;
	uint32_t turns;
} programs[] = {
	{ "wald", FOREST, 0 },        { "tief", DEEP, DEPTH },
	{ "kreis", CIRCLE, CIRCLES }, { "abgrund", CIRCLE, PIT_CIRCLES },
	{ "frisch", FUNCTIONS, 0 },
};

static NATIVE run_once(struct toy_thread *thread, const struct program *program)
{
	toy_shadow_push(thread, "run_once");
	thread->turns = program->turns;
	if (program->function == FUNCTIONS)
		fresh(thread, 0);
	else
		toy_call(thread, toy_functions[program->function]);
	toy_shadow_pop(thread);
}

static __attribute__((noipa)) void *run(void *context)
{
	struct toy_thread *thread = toy_thread_begin();
	const struct program *program = context;

	if (!thread)
		abort();
	prctl(PR_SET_NAME, program->name);
	for (;;)
		run_once(thread, program);
	return NULL;
}

static void begin(const char *chains)
{
	toy_chains_fd = open(chains, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (toy_chains_fd < 0) {
		perror(chains);
		exit(1);
	}
	make_functions();
}

/* The first program is left to the calling thread. */
static void start_others(void)
{
	for (size_t i = 1; i < COUNT(programs); i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, (void *)&programs[i]))
			abort();
	}
}

/* What ToyBeside.java declares: by its JNI name, which needs no header. */
void Java_ToyBeside_begin(void *environment, void *class);
void Java_ToyBeside_forest(void *environment, void *class);

static __thread struct toy_thread *java_thread;

void Java_ToyBeside_begin(void *environment, void *class)
{
	(void)environment;
	(void)class;
	begin(getenv("TOY_CHAINS"));
}

__attribute__((noipa)) void Java_ToyBeside_forest(void *environment, void *class)
{
	(void)environment;
	(void)class;
	if (!java_thread)
		java_thread = toy_thread_begin();
	if (!java_thread)
		abort();
	run_once(java_thread, &programs[0]);
	__asm__ volatile(""); // no tail call
}

int main(int argc, char **argv)
{
	// Whoever runs this may be killed: do not burn on.
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc != 2) {
		fprintf(stderr, "usage: %s CHAINS\n", argv[0]);
		return 2;
	}
	begin(argv[1]);
	start_others();
	run((void *)&programs[0]);
}

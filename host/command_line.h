/* SPDX-License-Identifier: Apache-2.0 */
/* What the user typed. Reads its arguments, touches nothing else. */
#pragma once

#include "config/config.h"

enum command {
	COMMAND_RUN,
	COMMAND_VALIDATE,
	COMMAND_COMPONENTS,
	COMMAND_PRINT_CONFIG,
	COMMAND_SCHEMA,
	COMMAND_FEATUREGATE,
	COMMAND_DOCTOR,
	COMMAND_RECORD,
	COMMAND_SHADOW,
	COMMAND_VIEW,
	COMMAND_TOP,
	COMMAND_VERSION,
	COMMAND_HELP,
};

/* What `record` takes samples of. */
enum record_event {
	RECORD_CPU,           /* time on CPUs */
	RECORD_OFF_CPU,       /* time that threads wait */
	RECORD_WALL,          /* both */
	RECORD_PAGE_FAULTS,   /* their number */
	RECORD_MEMORY_GROWTH, /* bytes */
	RECORD_WAKERS,        /* time that other threads have waited for these */
};

/* Of `record` and `top`. Texts are borrowed from argv. */
struct record_options {
	const char *file; /* --output; never NULL for RECORD, NULL for TOP */
	/* At most one of the next four says what is recorded; without it is everything. */
	int32_t pid;      /* 0 = not given */
	const char *comm; /* NULL = not given, as the next two */
	const char *cgroup;
	char *const *words; /* of the program to run, NULL-terminated */
	uint32_t seconds;   /* 0 = until it is told to end */
	uint32_t frequency; /* samples a second on each CPU; 0 = not given */
	enum record_event event;
	bool serve; /* show it when it is done */
};

/* Of `view`. Texts are borrowed from argv. */
struct view_options {
	const char *files[2]; /* the first is never NULL for VIEW; the second: to compare with */
	const char *output;   /* NULL: in the browser */
};

/* Of `shadow`. */
struct shadow_options {
	const char *address; /* --otlp; borrowed from argv; never NULL for SHADOW */
	int32_t pid;         /* of the other; 0 = not given */
	uint32_t seconds;    /* never 0 for SHADOW */
	uint32_t frequency;  /* 0 = not given */
	bool json;
};

struct command_line {
	enum command command;
	/* Arrays are owned, their texts borrowed from argv, or owned too. There is at least one
	 * URI for RUN, VALIDATE and PRINT_CONFIG. */
	struct config_sources sources;
	bool watch;                /* --watch-config */
	enum config_format format; /* of PRINT_CONFIG, as the next */
	bool unredacted;
	bool json;           /* of DOCTOR, as is the next */
	uint32_t doctor_pid; /* to look at; 0 = not given */
	struct record_options record;
	struct shadow_options shadow;
	struct view_options view;
	const char *gate;     /* of FEATUREGATE: the one to show; NULL = all. Borrowed from argv */
	struct arena *memory; /* owned */
};

/*
 * The error says what is wrong with the words and what was probably meant; *@ret is
 * then untouched. Flags may stand before and after the command, with one dash or two, as
 * `--flag value` or `--flag=value`; `--` ends them; of
 * RECORD what follows is the program to run. The caller deinits.
 */
PROFCOL_MUST_CHECK struct profcol_error *command_line_parse(int argc, char *const *argv,
							    struct command_line *ret);
void command_line_deinit(struct command_line *line);

extern const char command_line_help[];

// SPDX-License-Identifier: Apache-2.0
#include "logging.h"

#include "telemetry/log_line.h"
#include "telemetry/log_output.h"

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const logging_levels[LOGGING_LEVELS] = {
	[PROFCOL_DEBUG] = "debug",
	[PROFCOL_INFO] = "info",
	[PROFCOL_WARN] = "warn",
	[PROFCOL_ERROR] = "error",
};

static const char cut_mark[] = "... (cut)";

/* Cuts what is @wanted bytes long and did not all fit, and makes it valid UTF-8. */
static void finish_message(char message[LOGGING_MESSAGE_BYTES], size_t wanted)
{
	if (wanted >= LOGGING_MESSAGE_BYTES) {
		size_t end = strings_cut_utf8(message, LOGGING_MESSAGE_BYTES - 1,
					      LOGGING_MESSAGE_BYTES - sizeof(cut_mark));

		memcpy(message + end, cut_mark, sizeof(cut_mark));
		wanted = end + sizeof(cut_mark) - 1;
	}
	strings_sanitize_utf8(message, message, wanted);
}

/* Formats into @message, as valid UTF-8. */
__attribute__((format(printf, 2, 0))) static void
format_message(char message[LOGGING_MESSAGE_BYTES], const char *format, va_list arguments)
{
	int wanted = vsnprintf(message, LOGGING_MESSAGE_BYTES, format, arguments);

	if (wanted < 0)
		wanted = snprintf(message, LOGGING_MESSAGE_BYTES,
				  "(a message that cannot be formatted)");
	finish_message(message, (size_t)wanted);
}

static void write_bare(const struct logger *logger, const struct log_record *record)
{
	struct log_line line;

	line.length = 0;
	log_line_add_time(&line);
	log_line_add(&line, "\t");
	log_line_add(&line, (unsigned int)record->level < LOGGING_LEVELS
				    ? logging_levels[record->level]
				    : "?");
	log_line_add(&line, "\t");
	log_line_add_text(&line, logger->id, LOG_LINE_CONSOLE, line.length + LOG_LINE_ID_BYTES);
	log_line_add(&line, "\t");
	log_line_add_text(&line, record->message, record->text ? LOG_LINE_TEXT : LOG_LINE_CONSOLE,
			  LOG_LINE_TEXT_END);
	(void)log_line_write(&line, logger->fd);
}

/* Says whose @record is, and writes it. */
static void write_record(const struct logger *logger, struct log_record *record)
{
	record->id = logger->id;
	record->kind = logger->kind;
	record->pipeline = logger->pipeline;
	if (logger->output)
		log_output_write(logger->output, record);
	else
		write_bare(logger, record);
}

__attribute__((format(printf, 5, 0))) static void write_from(const struct profcol_logger *base,
							     enum profcol_level level,
							     const char *file, unsigned int place,
							     const char *format, va_list arguments)
{
	// The base is the logger's first member.
	const struct logger *logger = (const struct logger *)(const void *)base;
	int saved_errno = errno;
	char message[LOGGING_MESSAGE_BYTES];
	struct log_record record = {
		.level = level,
		.file = file,
		.line = place,
		.format = format,
		.message = message,
	};

	if (level < base->level)
		return;
	format_message(message, format, arguments);
	write_record(logger, &record);
	errno = saved_errno;
}

__attribute__((format(printf, 3, 0))) static void write_message(const struct profcol_logger *base,
								enum profcol_level level,
								const char *format,
								va_list arguments)
{
	write_from(base, level, NULL, 0, format, arguments);
}

static void write_text(const struct profcol_logger *base, enum profcol_level level,
		       const char *file, unsigned int place, const char *text, size_t length)
{
	// The base is the logger's first member.
	const struct logger *logger = (const struct logger *)(const void *)base;
	int saved_errno = errno;
	char message[LOGGING_MESSAGE_BYTES];
	struct log_record record = {
		.level = level,
		.file = file,
		.line = place,
		.format = message,
		.message = message,
		.text = true,
	};
	size_t kept = length < sizeof(message) ? length : sizeof(message) - 1;

	if (level < base->level)
		return;
	memcpy(message, text, kept);
	message[kept] = '\0';
	finish_message(message, length);
	write_record(logger, &record);
	errno = saved_errno;
}

void logging_write_fields(const struct logger *logger, enum profcol_level level, const char *file,
			  unsigned int place, const char *message, const struct log_field *fields,
			  size_t count)
{
	struct log_record record = {
		.level = level,
		.file = file,
		.line = place,
		.format = message,
		.message = message,
		.fields = fields,
		.field_count = count,
	};

	if (level >= logger->base.level)
		write_record(logger, &record);
}

void logging_init(struct logger *logger, const char *id, enum profcol_level level, int fd,
		  struct log_output *output)
{
	*logger = (struct logger){
		.base = {
			.size = sizeof(logger->base),
			.level = level,
			.write = write_message,
			.write_from = write_from,
			.write_text = write_text,
		},
		.id = id,
		.fd = fd,
		.output = output,
	};
}

void logging_set_component(struct logger *logger, const char *kind, const char *pipeline)
{
	logger->kind = kind;
	logger->pipeline = pipeline;
}

void logging_set_level(struct logger *logger, enum profcol_level level)
{
	logger->base.level = level;
}

bool logging_parse_level(const char *word, enum profcol_level *ret)
{
	for (unsigned int level = 0; level < LOGGING_LEVELS; level++) {
		if (strcmp(word, logging_levels[level]) == 0) {
			*ret = (enum profcol_level)level;
			return true;
		}
	}
	return false;
}

// SPDX-License-Identifier: Apache-2.0
#include "processor_fixture.h"

#include "base/base.h"
#include "config/decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct profcol_error *take_passed(const struct profcol_host *host,
					 struct profcol_batch *batch)
{
	struct processor *processor =
		(struct processor *)((uintptr_t)host - offsetof(struct processor, fake.host));

	profcol_batch_unref(processor->passed);
	processor->passed = batch;
	processor->passed_count++;
	return TAKE(processor->refusal);
}

static struct profcol_error *decode(struct processor *processor, const char *yaml)
{
	struct problems problems;
	struct yaml_source source = { .memory = processor->memory, .problems = &problems };
	const struct decoding decoding = { .memory = processor->memory, .problems = &problems };
	struct yaml_node *body;
	struct profcol_error *error;

	problems_init(&problems, processor->memory);
	problems_add_source(&problems, "test");
	body = yaml_parse(&source, &(struct yaml_text){ .bytes = yaml, .length = strlen(yaml) });
	if (body)
		decode_options(&decoding, processor->fake.component->options, body, body->place,
			       NULL, processor->fake.config);
	error = problems_error(&problems);
	problems_deinit(&problems);
	return error;
}

struct profcol_error *processor_try_start(struct processor *processor,
					  const struct profcol_component *component,
					  const char *yaml)
{
	struct fake_host *fake = &processor->fake;
	struct profcol_error *error;

	*processor = (struct processor){ .memory = arena_create(0) };
	assert_non_null(processor->memory);
	fake_host_init(fake, component);
	fake->host.consume_next = take_passed;
	error = decode(processor, yaml);
	if (!error && component->validate)
		error = component->validate(fake->config);
	if (!error)
		error = component->create(&fake->host, fake->config, &fake->instance);
	if (!error && component->start)
		error = component->start(fake->instance);
	return error;
}

void processor_start(struct processor *processor, const struct profcol_component *component,
		     const char *yaml)
{
	assert_no_error(processor_try_start(processor, component, yaml));
}

void processor_deinit(struct processor *processor)
{
	fake_host_shutdown(&processor->fake);
	fake_host_deinit(&processor->fake);
	profcol_batch_unref(processor->passed);
	profcol_error_destroy(processor->refusal);
	arena_destroy(processor->memory);
}

const struct profcol_batch *processor_consume(struct processor *processor,
					      struct profcol_batch *batch)
{
	profcol_batch_unref(TAKE(processor->passed));
	fake_host_consume(&processor->fake, batch);
	return processor->passed;
}

void assert_refused(const struct profcol_component *component, const char *yaml, const char *text)
{
	struct processor processor;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		processor_try_start(&processor, component, yaml);

	if (!error)
		fail_msg("not refused:\n%s", yaml);
	if (!strstr(profcol_error_message(error), text))
		fail_msg("'%s' is not in\n%s", text, profcol_error_message(error));
	processor_deinit(&processor);
}

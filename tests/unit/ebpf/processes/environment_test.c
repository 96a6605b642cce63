// SPDX-License-Identifier: Apache-2.0
/* What processes say of themselves in their environment, honest ones and others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "processes/environment.h"
#include "processes/processes.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const wanted[] = { "REGION", "TEAM\xff", "" };
static const struct profcol_list no_variables;
static const struct profcol_list variables = { .items = wanted, .count = 3 };

/* Parse a copy without a byte to spare, so that a sanitizer sees every step beyond. */
static void parse(const char *text, size_t length, const struct profcol_list *names,
		  struct environment_attributes *ret)
{
	CLEANUP_FREE char *exact = malloc(length ? length : 1);

	assert_non_null(exact);
	memcpy(exact, text, length);
	environment_parse(exact, length, names, ret);
	assert_true(ret->length <= sizeof(ret->bytes));
}

static struct environment_attributes parsed;

static const char *find(const char *wanted_key)
{
	struct process_attributes rest = { parsed.bytes, parsed.length };
	const char *key, *value, *found = NULL;

	while (process_attributes_next(&rest, &key, &value)) {
		assert_true(strings_is_utf8(key, strlen(key)));
		assert_true(strings_is_utf8(value, strlen(value)));
		if (strcmp(key, wanted_key))
			continue;
		assert_null(found); // each key once
		found = value;
	}
	return found;
}

static size_t count(void)
{
	struct process_attributes rest = { parsed.bytes, parsed.length };
	const char *key, *value;
	size_t attributes = 0;

	while (process_attributes_next(&rest, &key, &value))
		attributes++;
	return attributes;
}

#define PARSE(text, names) parse((text), sizeof(text), (names), &parsed)

static void expect(const char *key, const char *value)
{
	const char *found = find(key);

	if (!found || strcmp(found, value))
		fail_msg("%s is '%s', not '%s'", key, found ? found : "(missing)", value);
}

static void service_and_resource_attributes_are_read(void **state)
{
	(void)state;
	PARSE("PATH=/bin\0OTEL_SERVICE_NAME= checkout \0"
	      "OTEL_RESOURCE_ATTRIBUTES=service.name=other, service.version = 1.2 ,"
	      "deployment.environment.name=pr%6Fd%2Ceu%3d1,,team=p=q\0",
	      &no_variables);
	expect("service.name", "checkout");
	expect("service.version", "1.2");
	expect("deployment.environment.name", "prod,eu=1");
	expect("team", "p=q");
	assert_int_equal(count(), 4);
	assert_false(parsed.malformed);
}

static void the_last_of_equal_keys_and_the_first_of_equal_variables_hold(void **state)
{
	(void)state;
	PARSE("OTEL_RESOURCE_ATTRIBUTES=service.name=a,x=1,service.name=b\0"
	      "OTEL_RESOURCE_ATTRIBUTES=service.name=c\0OTEL_SERVICE_NAME=\0",
	      &no_variables);
	expect("service.name", "b");
	expect("x", "1");
	assert_int_equal(count(), 2);
}

static void a_malformed_list_is_passed_over_as_a_whole(void **state)
{
	static const char *const broken[] = {
		"a=1,b",     "a=1,=2",    "a=1,b=%",       "a=1,b=%4",
		"a=1,b=%4x", "a=1,%zz=2", "a=1,b=\xc3%g0", "novalue"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		char text[128];
		int length = snprintf(text, sizeof(text),
				      "OTEL_SERVICE_NAME=s%cOTEL_RESOURCE_ATTRIBUTES=%s%c", '\0',
				      broken[i], '\0');

		parse(text, (size_t)length, &no_variables, &parsed);
		if (!parsed.malformed)
			fail_msg("'%s' was taken for a list", broken[i]);
		expect("service.name", "s");
		assert_int_equal(count(), 1);
	}
}

static void what_the_platform_knows_cannot_be_claimed(void **state)
{
	(void)state;
	PARSE("OTEL_RESOURCE_ATTRIBUTES=process.pid=1,container.id=abc,thread.id=3,"
	      "process.executable.path=/x,process.environment_variable.SECRET=1,"
	      "process%2Epid=1,k8s.namespace.name=kube-system,k8s.pod.uid=1,host.name=theirs,"
	      "cloud.account.id=1,container.image.name=x,profcol.process.main=x,k8sx=1,hosts=2\0",
	      &no_variables);
	expect("k8sx", "1");
	expect("hosts", "2");
	assert_int_equal(count(), 2);
	assert_int_equal(parsed.claims, 12);
}

/* A newline, ESC, U+009B: whoever prints them has his cursor moved. */
static void control_characters_are_replaced(void **state)
{
	(void)state;
	PARSE("OTEL_SERVICE_NAME=a\nb\x1b[2Jc\xc2\x9b"
	      "d\xc3\xa9\0"
	      "OTEL_RESOURCE_ATTRIBUTES=x%0Ay=1%1B%C2%9B\x7f\0REGION=\r\n\0",
	      &variables);
	expect("service.name", "a?b?[2Jc??d\xc3\xa9");
	expect("x?y", "1????");
	expect("process.environment_variable.REGION", "??");
	assert_int_equal(count(), 3);
}

static void variables_are_passed_on_only_when_asked_for(void **state)
{
	static const char text[] = "SECRET=1\0REGION=eu\xff\0=nameless\0TEAM\xff=core\0REGION=us\0"
				   "REGIONAL=x\0REGIO";

	(void)state;
	parse(text, sizeof(text) - 1, &no_variables, &parsed);
	assert_int_equal(count(), 0);
	parse(text, sizeof(text) - 1, &variables, &parsed);
	expect("process.environment_variable.REGION", "eu?");
	expect("process.environment_variable.TEAM?", "core");
	assert_int_equal(count(), 2);
}

static void bytes_that_are_no_text_come_out_as_text(void **state)
{
	(void)state;
	PARSE("OTEL_SERVICE_NAME=\xf0\x9f\x92\xa9\xff\0OTEL_RESOURCE_ATTRIBUTES=a%00b=c%00d%ff,"
	      "\xfe=\x80\0",
	      &no_variables);
	expect("service.name", "\xf0\x9f\x92\xa9?");
	expect("a?b", "c?d?");
	expect("?", "?");
}

static void too_much_is_left_out(void **state)
{
	enum { LENGTH = 400 << 10 };
	CLEANUP_FREE char *text = malloc(LENGTH);
	size_t at;

	(void)state;
	at = (size_t)sprintf(text, "OTEL_SERVICE_NAME=s%cOTEL_RESOURCE_ATTRIBUTES=", '\0');
	for (unsigned int i = 0; at + 32 < LENGTH; i++)
		at += (size_t)sprintf(text + at, "key%u=%u,", i, i);
	text[at++] = '\0';
	parse(text, at, &no_variables, &parsed);
	expect("service.name", "s");
	assert_in_range(count(), 100, 300);

	// A long value is cut, a long key passed over.
	memset(text, 'v', LENGTH);
	memcpy(text, "OTEL_RESOURCE_ATTRIBUTES=a=", 27);
	memcpy(text + 5000, ",", 1);
	memcpy(text + 6000, "=1", 2);
	text[6002] = '\0';
	parse(text, 6003, &no_variables, &parsed);
	assert_int_equal(count(), 1);
	assert_int_equal(strlen(find("a")), ENVIRONMENT_MAX_VALUE);
}

static void any_cut_does_no_harm(void **state)
{
	static const char text[] =
		"A=1\0OTEL_SERVICE_NAME=s\0REGION=%\0OTEL_RESOURCE_ATTRIBUTES=a=%41%42,b=,c=%2C\0Z";

	(void)state;
	for (size_t length = 0; length < sizeof(text); length++)
		for (size_t from = 0; from <= length; from++)
			parse(text + from, length - from, &variables, &parsed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(service_and_resource_attributes_are_read),
		cmocka_unit_test(the_last_of_equal_keys_and_the_first_of_equal_variables_hold),
		cmocka_unit_test(a_malformed_list_is_passed_over_as_a_whole),
		cmocka_unit_test(what_the_platform_knows_cannot_be_claimed),
		cmocka_unit_test(control_characters_are_replaced),
		cmocka_unit_test(variables_are_passed_on_only_when_asked_for),
		cmocka_unit_test(bytes_that_are_no_text_come_out_as_text),
		cmocka_unit_test(too_much_is_left_out),
		cmocka_unit_test(any_cut_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
#include "base/base.h"
#include "net/addresses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netdb.h>
#include <stdlib.h>
#include <string.h>

/* Print the addresses of @hosts, which end with NULL. */
static char *print(const char *const *hosts)
{
	const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM,
					 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *all = NULL, **end = &all;
	char *text;

	for (; *hosts; hosts++) {
		assert_int_equal(getaddrinfo(*hosts, "4317", &wanted, end), 0);
		while (*end)
			end = &(*end)->ai_next;
	}
	text = addresses_print(all);
	if (all)
		freeaddrinfo(all);
	return text;
}

static void those_of_one_kind_are_as_they_are(void **state)
{
	CLEANUP_FREE char *four = print((const char *const[]){ "10.0.0.1", "10.0.0.2", NULL });
	CLEANUP_FREE char *six = print((const char *const[]){ "2001:db8::1", NULL });

	(void)state;
	assert_string_equal(four, "ipv4:10.0.0.1:4317,10.0.0.2:4317");
	assert_string_equal(six, "ipv6:%5B2001:db8::1%5D:4317");
}

static void those_of_both_kinds_are_of_one(void **state)
{
	CLEANUP_FREE char *text = print((const char *const[]){ "::1", "127.0.0.1", NULL });

	(void)state;
	assert_string_equal(text, "ipv6:%5B::1%5D:4317,%5B::ffff:127.0.0.1%5D:4317");
}

static void a_zone_is_escaped(void **state)
{
	CLEANUP_FREE char *text = print((const char *const[]){ "fe80::1%lo", NULL });

	(void)state;
	assert_string_equal(text, "ipv6:%5Bfe80::1%25lo%5D:4317");
}

static void there_is_an_end_to_them(void **state)
{
	const char *hosts[201] = { NULL };
	CLEANUP_FREE char *text = NULL;
	size_t count = 1;

	(void)state;
	for (size_t i = 0; i < 200; i++)
		hosts[i] = "10.0.0.1";
	text = print(hosts);
	for (const char *at = text; (at = strchr(at, ',')); at++)
		count++;
	assert_int_equal(count, 64);
	assert_null(print((const char *const[]){ NULL }));
}

static void order_does_not_matter(void **state)
{
	(void)state;
	assert_true(addresses_are_same("ipv4:10.0.0.1:1,10.0.0.2:1", "ipv4:10.0.0.2:1,10.0.0.1:1"));
	assert_false(addresses_are_same("ipv4:10.0.0.1:1", "ipv4:10.0.0.1:1,10.0.0.2:1"));
	assert_false(addresses_are_same("ipv4:10.0.0.1:1,10.0.0.2:1", "ipv4:10.0.0.1:1"));
	assert_false(addresses_are_same("ipv4:10.0.0.1:1", "ipv4:10.0.0.1:11"));
	assert_false(addresses_are_same("ipv4:10.0.0.1:11", "ipv4:10.0.0.1:1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_of_one_kind_are_as_they_are),
		cmocka_unit_test(those_of_both_kinds_are_of_one),
		cmocka_unit_test(a_zone_is_escaped),
		cmocka_unit_test(there_is_an_end_to_them),
		cmocka_unit_test(order_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

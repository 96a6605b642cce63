/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access decides who may ask, by the Host header, so that pages of others cannot reach a server of
 * this machine under a name of theirs, and by the token. Any thread.
 */
#pragma once

#include <profcol/errors.h>
#include <profcol/http.h>
#include <profcol/options.h>

struct access;

/*
 * @token_file "" = whoever reaches the server may ask; @hosts is borrowed. CONFIG or SYSTEM when
 * the token cannot be read, or is none. *@ret is written only on success.
 */
PROFCOL_MUST_CHECK struct profcol_error *
access_create(const char *token_file, const struct profcol_list *hosts, struct access **ret);
void access_destroy(struct access *access); /* accepts NULL */

/* Read the token anew. On an error the one before stays. */
PROFCOL_MUST_CHECK struct profcol_error *access_reload(struct access *access);

enum access_verdict {
	ACCESS_GRANTED,
	ACCESS_WRONG_HOST, /* 421 */
	ACCESS_NO_TOKEN,   /* 401 */
};

enum access_verdict access_check(struct access *access, const struct profcol_http_call *call);

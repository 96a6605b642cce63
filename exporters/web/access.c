// SPDX-License-Identifier: Apache-2.0
#include "access.h"

#include "base/base.h"
#include "confighttp/confighttp.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>

enum {
	TOKEN_MIN = 16, /* bytes; what is shorter can be guessed */
	TOKEN_MAX = 1024,
	BASIC_MAX = 2048, /* bytes of user and password */
};

struct access {
	char *token_file;                 /* owned; NULL = no token */
	const struct profcol_list *hosts; /* borrowed */
	pthread_mutex_t lock;
	char token[TOKEN_MAX + 1]; /* under the lock */
};

static struct profcol_error *read_token(struct access *access)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	int status = file_read(AT_FDCWD, access->token_file, TOKEN_MAX, &text, &length);

	if (status)
		return profcol_error_create(
			PROFCOL_SYSTEM,
			"token_file: cannot read '%s': %s; write a token to it, "
			"e.g. with: openssl rand -hex 32",
			access->token_file, strerrordesc_np(-status));
	while (length && strchr(" \t\r\n", text[length - 1]))
		text[--length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (text[i] <= ' ' || text[i] >= 0x7f)
			length = 0;
	if (length < TOKEN_MIN)
		return profcol_error_create(PROFCOL_CONFIG,
					    "token_file: '%s' is to have one line of %d to %d "
					    "printable characters; make one, e.g. with: openssl "
					    "rand -hex 32",
					    access->token_file, TOKEN_MIN, TOKEN_MAX);
	pthread_mutex_lock(&access->lock);
	memset(access->token, 0, sizeof(access->token));
	memcpy(access->token, text, length);
	pthread_mutex_unlock(&access->lock);
	explicit_bzero(text, length);
	return NULL;
}

struct profcol_error *access_create(const char *token_file, const struct profcol_list *hosts,
				    struct access **ret)
{
	struct access *access = calloc(1, sizeof(*access));
	struct profcol_error *error = NULL;

	if (!access)
		return profcol_error_errno(ENOMEM, "create the exporter");
	pthread_mutex_init(&access->lock, NULL);
	access->hosts = hosts;
	if (token_file[0]) {
		access->token_file = strdup(token_file);
		error = access->token_file ? read_token(access)
					   : profcol_error_errno(ENOMEM, "create the exporter");
	}
	if (error)
		access_destroy(access);
	else
		*ret = access;
	return error;
}

void access_destroy(struct access *access)
{
	if (!access)
		return;
	explicit_bzero(access->token, sizeof(access->token));
	pthread_mutex_destroy(&access->lock);
	free(access->token_file);
	free(access);
}

struct profcol_error *access_reload(struct access *access)
{
	return access->token_file ? read_token(access) : NULL;
}

/* ---- the token ---- */

static int base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* RFC 4648. False for what is no base64, or too long. */
static bool decode_base64(const char *text, char *to, size_t size, size_t *length_ret)
{
	uint32_t bits = 0;
	int count = 0, digit;
	size_t length = 0;

	for (; (digit = base64_digit(*text)) >= 0; text++) {
		bits = bits << 6 | (uint32_t)digit;
		count += 6;
		if (count < 8)
			continue;
		count -= 8;
		if (length + 1 >= size)
			return false;
		to[length++] = (char)(bits >> count);
	}
	text += strspn(text, "=");
	to[length] = '\0';
	*length_ret = length;
	return !*text;
}

/* Takes the same time wherever they differ. */
static bool is_token(const struct access *access, const char *shown, size_t length)
{
	unsigned int difference = (unsigned int)(length ^ strlen(access->token));

	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)shown[i] ^
			      (unsigned char)access->token[i < TOKEN_MAX ? i : TOKEN_MAX];
	return !difference;
}

/* After @scheme and blanks, or NULL. */
static const char *credentials(const char *authorization, const char *scheme)
{
	size_t length = strlen(scheme);

	if (strncasecmp(authorization, scheme, length) != 0 || authorization[length] != ' ')
		return NULL;
	return authorization + length + strspn(authorization + length, " ");
}

/* Under the lock. */
static bool shows_token(const struct access *access, const char *authorization)
{
	const char *bearer = credentials(authorization, "Bearer");
	const char *basic = credentials(authorization, "Basic");
	char pair[BASIC_MAX];
	const char *password;
	size_t length;

	if (bearer)
		return is_token(access, bearer, strlen(bearer));
	if (!basic || !decode_base64(basic, pair, sizeof(pair), &length))
		return false;
	password = memchr(pair, ':', length);
	if (!password)
		return false;
	password++;
	return is_token(access, password, length - (size_t)(password - pair));
}

enum access_verdict access_check(struct access *access, const struct profcol_http_call *call)
{
	bool shown = true;

	if (!confighttp_is_known_host(call->host, access->hosts))
		return ACCESS_WRONG_HOST;
	if (access->token_file) {
		pthread_mutex_lock(&access->lock);
		shown = shows_token(access, call->authorization);
		pthread_mutex_unlock(&access->lock);
	}
	return shown ? ACCESS_GRANTED : ACCESS_NO_TOKEN;
}

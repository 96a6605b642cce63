// SPDX-License-Identifier: Apache-2.0
#include "probe.h"

#include "base/base.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Of a handshake in progress. */
struct shake {
	const struct probe *probe;
	SSL_CTX *context;
	SSL *ssl;
	bool certificate_wanted; /* the peer asked for one of ours */
};

__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	return text;
}

/* Called when the peer asks for our certificate. */
static int note_certificate_request(SSL *ssl, void *argument)
{
	struct shake *shake = argument;

	(void)ssl;
	shake->certificate_wanted = true;
	return 1;
}

static bool shake_init(struct shake *shake, const struct probe *probe, int fd)
{
	static const uint8_t protocols[] = "\2h2";
	const char *name = probe->server_name;

	*shake = (struct shake){ .probe = probe, .context = SSL_CTX_new(TLS_client_method()) };
	if (!shake->context)
		return false;
	if (probe->material && probe->material->roots)
		(void)tls_context_trust(shake->context, probe->material->roots);
	if (probe->material && probe->material->certificate)
		(void)tls_context_identify(shake->context, probe->material->certificate,
					   probe->material->key);
	SSL_CTX_set_cert_cb(shake->context, note_certificate_request, shake);
	// Looked at afterwards, so that the handshake goes on and shows all that is wrong.
	SSL_CTX_set_verify(shake->context, SSL_VERIFY_NONE, NULL);
	SSL_CTX_set_min_proto_version(shake->context, TLS1_2_VERSION);
	shake->ssl = SSL_new(shake->context);
	if (!shake->ssl)
		return false;
	SSL_set_alpn_protos(shake->ssl, protocols, sizeof(protocols) - 1);
	if (name && !lookup_is_address(name))
		SSL_ctrl(shake->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
			 (void *)(uintptr_t)name);
	return SSL_set_fd(shake->ssl, fd) == 1;
}

static void shake_deinit(struct shake *shake)
{
	SSL_free(shake->ssl);
	SSL_CTX_free(shake->context);
	ERR_clear_error();
}

/* Should the last operation, with @result, be tried again? Waits until it can be. */
static bool shake_goes_on(struct shake *shake, int result)
{
	int fd = SSL_get_fd(shake->ssl);

	switch (SSL_get_error(shake->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		return probe_wait(shake->probe, fd, POLLIN);
	case SSL_ERROR_WANT_WRITE:
		return probe_wait(shake->probe, fd, POLLOUT);
	default:
		return false;
	}
}

/* The alert that the peer ended it with; -1 = none. */
static int shake_alert(void)
{
	unsigned long error = ERR_peek_last_error();
	int reason = ERR_GET_REASON(error);

	if (ERR_GET_LIB(error) != ERR_LIB_SSL || reason < SSL_AD_REASON_OFFSET)
		return -1;
	return reason - SSL_AD_REASON_OFFSET;
}

/* The peer ended it when it had asked for our certificate; @why, if it said so. */
static char *shake_explain_refusal(const struct shake *shake, const char *why)
{
	if (!shake->probe->material || !shake->probe->material->certificate)
		return text_of("the peer demands a client certificate; set tls.cert_file and "
			       "tls.key_file");
	return text_of("the peer refused our client certificate%s%s%s; check tls.cert_file, and "
		       "the authorities that the peer trusts",
		       why[0] ? " (" : "", why, why[0] ? ")" : "");
}

static char *shake_explain_alert(const struct shake *shake, int alert)
{
	bool own = shake->probe->material && shake->probe->material->certificate;

	if (alert == SSL_AD_PROTOCOL_VERSION)
		return text_of(
			"the peer takes neither TLS 1.2 nor TLS 1.3, and gRPC has no others");
	if (alert == SSL_AD_NO_APPLICATION_PROTOCOL)
		return text_of("the peer speaks TLS but not HTTP/2, so not gRPC; check the port");
	if (shake->certificate_wanted && !own)
		return shake_explain_refusal(shake, "");
	if (own && alert >= SSL_AD_BAD_CERTIFICATE && alert <= SSL_AD_ACCESS_DENIED)
		return shake_explain_refusal(shake, SSL_alert_desc_string_long(alert));
	return text_of("the peer refused the TLS handshake (%s)",
		       SSL_alert_desc_string_long(alert));
}

static bool certificate_has_name(X509 *certificate, const char *name)
{
	if (lookup_is_address(name))
		return X509_check_ip_asc(certificate, name, 0) == 1;
	return X509_check_host(certificate, name, 0, 0, NULL) == 1;
}

/* What is wrong with the certificate that the peer has shown. */
static char *shake_check_certificate(const struct shake *shake)
{
	const char *name = shake->probe->server_name;
	X509 *certificate = SSL_get1_peer_certificate(shake->ssl);
	long result = SSL_get_verify_result(shake->ssl);
	char *text = NULL;

	if (shake->probe->skip_verify)
		text = NULL;
	else if (!certificate)
		text = text_of("the peer shows no certificate");
	else if (result == X509_V_ERR_CERT_HAS_EXPIRED)
		text = text_of("the peer's certificate has expired; renew it there");
	else if (result == X509_V_ERR_CERT_NOT_YET_VALID)
		text = text_of("the peer's certificate is not valid yet; check the clocks");
	else if (result != X509_V_OK)
		text = text_of("the peer's certificate is not signed by an authority that we trust "
			       "(%s); set tls.ca_file to the one that signed it",
			       X509_verify_cert_error_string(result));
	else if (name && !certificate_has_name(certificate, name))
		text = text_of("the peer's certificate is not for the name '%s'; connect by a name "
			       "that it has, or set tls.server_name_override",
			       name);
	X509_free(certificate);
	return text;
}

static bool shake_has_http2(const struct shake *shake)
{
	const unsigned char *chosen;
	unsigned int length;

	SSL_get0_alpn_selected(shake->ssl, &chosen, &length);
	return length == 2 && !memcmp(chosen, "h2", 2);
}

/* In TLS 1.3 a peer that does not like our certificate ends it after the handshake. */
static char *shake_listen(struct shake *shake)
{
	uint8_t bytes[16];
	int result, alert, kind;

	SSL_write(shake->ssl, probe_hello, (int)probe_hello_length);
	do {
		ERR_clear_error();
		result = SSL_read(shake->ssl, bytes, sizeof(bytes));
	} while (result <= 0 && shake_goes_on(shake, result));
	if (result > 0)
		return NULL;
	alert = shake_alert();
	if (alert >= 0)
		return shake_explain_alert(shake, alert);
	kind = SSL_get_error(shake->ssl, result);
	if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
		return NULL;
	// gRPC's own servers just hang up.
	return shake->certificate_wanted
		       ? shake_explain_refusal(shake, "")
		       : text_of("the peer closes the connection after the TLS handshake");
}

/* The handshake has failed: how does the peer look? */
static enum probe_talk shake_judge_failure(struct shake *shake, int result, char **text_ret)
{
	int alert = shake_alert(), reason = ERR_GET_REASON(ERR_peek_last_error());
	int kind = SSL_get_error(shake->ssl, result);

	if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
		return PROBE_SILENT;
	if (alert >= 0) {
		*text_ret = shake_explain_alert(shake, alert);
		return PROBE_SPEAKS_TLS;
	}
	if (kind == SSL_ERROR_SYSCALL || reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return PROBE_CLOSES;
	return PROBE_SPEAKS_OTHER;
}

static enum probe_talk shake_hands(const struct probe *probe, int fd, char **text_ret)
{
	CLEANUP(shake_deinit) struct shake shake;
	int result;

	if (!shake_init(&shake, probe, fd))
		return PROBE_SILENT;
	do {
		ERR_clear_error();
		result = SSL_connect(shake.ssl);
	} while (result <= 0 && shake_goes_on(&shake, result));
	if (result <= 0)
		return shake_judge_failure(&shake, result, text_ret);
	*text_ret = shake_check_certificate(&shake);
	if (!*text_ret && !shake_has_http2(&shake))
		*text_ret =
			text_of("the peer speaks TLS but not HTTP/2, so not gRPC; check the port");
	if (!*text_ret)
		*text_ret = shake_listen(&shake);
	return PROBE_SPEAKS_HTTP2;
}

enum probe_talk probe_talk_tls(const struct probe *probe, int fd, char **text_ret)
{
	sigset_t pipe_signal, before;
	enum probe_talk talk;

	*text_ret = NULL;
	// OpenSSL writes without MSG_NOSIGNAL, and the peer may have hung up.
	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
	talk = shake_hands(probe, fd, text_ret);
	while (sigtimedwait(&pipe_signal, NULL, &(struct timespec){ 0 }) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return talk;
}

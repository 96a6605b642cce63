/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file by which kubectl and the like reach a cluster: one context of it
 * (https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/). Private to the source.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>

/* All owned, NULL = not there. Paths are absolute, or relative to where the program runs. */
struct kubeconfig {
	char *server;  /* "https://10.0.0.1:6443" */
	char *ca_file; /* where both are there, the text counts */
	char *ca_pem;
	char *server_name; /* what the server's certificate has to say */
	bool insecure;     /* any certificate */
	char *token, *token_file;
	char *cert_file, *cert_pem, *key_file, *key_pem;
};

/*
 * Read the context named @context (NULL or "" = the current one) of @path (NULL or "" = the file
 * that $KUBECONFIG names, else ~/.kube/config). CONFIG, with file:line, when it is not there, is
 * broken, or asks for what cannot be done. @ret is written on success only.
 */
PROFCOL_MUST_CHECK struct profcol_error *kubeconfig_read(const char *path, const char *context,
							 struct kubeconfig *ret);

/* The same of @length bytes of text; @path is what errors call it, and where relative paths in it
 * begin. */
PROFCOL_MUST_CHECK struct profcol_error *kubeconfig_parse(const char *text, size_t length,
							  const char *path, const char *context,
							  struct kubeconfig *ret);

/* Secrets do not stay in memory. */
void kubeconfig_deinit(struct kubeconfig *kubeconfig);

/* SPDX-License-Identifier: Apache-2.0 */
/* A FUSE file system with one file, "program", whose server shows the attributes it is told to. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuse_file {
	const char *mount;   /* directory */
	const char *content; /* borrowed */
	size_t length;
	uint64_t inode;
	uint64_t seconds; /* all times */
	int device;
	pthread_t server;
};

/* Mount it and serve it. False where that cannot be done here. */
bool fuse_file_mount(struct fuse_file *file);

/* Unmount, and end the server. */
void fuse_file_unmount(struct fuse_file *file);

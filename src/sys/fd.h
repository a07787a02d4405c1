/* SPDX-License-Identifier: MIT */
/*
 * The engine's own descriptors: close-on-exec, at high numbers where programs
 * do not look, and known, so that a program's close(2) or close_range(2) can
 * be kept off them.
 */
#ifndef AU_SYS_FD_H
#define AU_SYS_FD_H

#include <stdbool.h>
#include "base/util.h"

/*
 * Moves `fd` (taking it over, also on failure) to a hidden number, or if there
 * is none keeps the number it has. Passes a negative `fd` on.
 */
int au_fd_hide(int fd) au_must_check;

/* A hidden duplicate of `fd`, or -errno. */
int au_fd_dup_hidden(int fd) au_must_check;

/* Closes a hidden descriptor; -1 is ignored. */
void au_fd_close_hidden(int fd);

bool au_fd_hidden(int fd);

/*
 * The child of a fork lets go of what serves its parent, but for what it was
 * told to keep.
 */
void au_fd_close_all_hidden(void);
void au_fd_keep(int fd);

/* A file's identity. */
struct au_fd_id {
	uint64_t dev, ino;
};

int au_fd_identify(int fd, struct au_fd_id *id) au_must_check;

/* A number that the program has for that file, -ENOENT, or -errno. */
int au_fd_find(const struct au_fd_id *id);

/* Do both name one open file? False also where that may not be asked. */
bool au_fd_same(int a, int b);

/* Memory that can be mapped by descriptor: a hidden one, of no size yet. */
int au_fd_memory(const char *name) au_must_check;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The liburing front: probes, the version, and the bare system calls.
 */
#include <stdlib.h>

#include "abi/front.h"
#include "anyuring.h"

/* The liburing whose exported functions and results these are. */
#define VERSION_MAJOR 2
#define VERSION_MINOR 15

/* Room for every opcode that one byte can name. */
#define PROBE_OPS 256

/*
 * NULL if there is no memory or no probe. The result comes from malloc: some
 * programs free() it themselves.
 */
static struct io_uring_probe *get_probe(struct io_uring *ring)
{
	struct io_uring_probe *probe;

	probe = calloc(1, sizeof(*probe) +
				  PROBE_OPS * sizeof(struct io_uring_probe_op));
	if (!probe)
		return NULL;
	if (au_front_register(ring, IORING_REGISTER_PROBE, probe, PROBE_OPS) <
	    0) {
		free(probe);
		return NULL;
	}
	return probe;
}

struct io_uring_probe *io_uring_get_probe_ring(struct io_uring *ring)
{
	return get_probe(ring);
}

struct io_uring_probe *io_uring_get_probe(void)
{
	struct io_uring_params p = { .flags = 0 };
	struct io_uring_probe *probe;
	struct io_uring ring;

	if (au_front_queue_init(2, &ring, &p, NULL, 0) < 0)
		return NULL;
	probe = get_probe(&ring);
	au_front_queue_exit(&ring);
	return probe;
}

void io_uring_free_probe(struct io_uring_probe *probe)
{
	free(probe);
}

int io_uring_major_version(void)
{
	return VERSION_MAJOR;
}

int io_uring_minor_version(void)
{
	return VERSION_MINOR;
}

bool io_uring_check_version(int major, int minor)
{
	return major > VERSION_MAJOR ||
	       (major == VERSION_MAJOR && minor > VERSION_MINOR);
}

/* The system calls: results are -errno, unlike those of libc's wrappers. */

int io_uring_setup(unsigned int entries, struct io_uring_params *p)
{
	return anyuring_setup(entries, p);
}

int io_uring_enter(unsigned int fd, unsigned int to_submit,
		   unsigned int min_complete, unsigned int flags, sigset_t *sig)
{
	return anyuring_enter(fd, to_submit, min_complete, flags, sig,
			      FRONT_SIGSET_SIZE);
}

int io_uring_enter2(unsigned int fd, unsigned int to_submit,
		    unsigned int min_complete, unsigned int flags, void *arg,
		    size_t sz)
{
	return anyuring_enter(fd, to_submit, min_complete, flags, arg, sz);
}

int io_uring_register(unsigned int fd, unsigned int opcode, const void *arg,
		      unsigned int nr_args)
{
	return anyuring_register(fd, opcode, (void *)arg, nr_args);
}

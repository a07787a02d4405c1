/* SPDX-License-Identifier: MIT */
/*
 * The suite read: 4 KiB reads and writes of a cached file, in batches of 32,
 * on a disk's file system and on tmpfs. The rival is a loop of pread(2) or
 * pwrite(2). The file has no name, so nothing is left behind however the
 * command ends.
 *
 * Block n of the file starts and ends with a word that n determines and is
 * checked in every block read. A write stamps another word, and after each
 * slice the blocks of the last batch are read back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <linux/magic.h>
#include <unistd.h>
#include "cli/bench_ring.h"
#include "sys/clock.h"

#define BLOCK 4096U
#define BATCH 32U
#define SHM   "/dev/shm"

/* Divisible into BATCH stripes; small enough to stay cached. */
#define FILE_MIB  64U
#define QUICK_MIB 16U

/* What a case does, in bench_case.arg. */
enum {
	RW_SEQUENTIAL = 1 << 0,
	RW_WRITE = 1 << 1,
	RW_SHM = 1 << 2,
};

struct rw {
	int fd;
	bool write, sequential;
	uint64_t blocks;
	uint64_t at; /* sequential: the next block */
	uint64_t seed;
	uint64_t stamp; /* what writes add to a block's word */
	uint64_t block[BATCH]; /* of the batch at hand */
	char *buf; /* BATCH blocks */
};

static uint64_t rw_word(uint64_t block)
{
	return (block + 1) * 0x9e3779b97f4a7c15ULL;
}

static void rw_stamp(char *block, uint64_t word)
{
	memcpy(block, &word, sizeof(word));
	memcpy(block + BLOCK - sizeof(word), &word, sizeof(word));
}

static bool rw_has(const char *block, uint64_t word)
{
	return !memcmp(block, &word, sizeof(word)) &&
	       !memcmp(block + BLOCK - sizeof(word), &word, sizeof(word));
}

static inline char *rw_buf(const struct rw *rw, unsigned int i)
{
	return rw->buf + (size_t)i * BLOCK;
}

static inline off_t rw_offset(const struct rw *rw, unsigned int i)
{
	return (off_t)(rw->block[i] * BLOCK);
}

static inline uint64_t rw_random(struct rw *rw)
{
	rw->seed ^= rw->seed << 13;
	rw->seed ^= rw->seed >> 7;
	rw->seed ^= rw->seed << 17;
	return rw->seed;
}

/*
 * Chooses the blocks of a batch; a random batch has one out of each of BATCH
 * stripes, so that no block comes twice.
 */
static void rw_choose(struct rw *rw)
{
	uint64_t stripe = rw->blocks / BATCH;

	for (unsigned int i = 0; i < BATCH; i++) {
		if (rw->sequential)
			rw->block[i] = (rw->at + i) % rw->blocks;
		else
			rw->block[i] = i * stripe + rw_random(rw) % stripe;
		if (rw->write)
			rw_stamp(rw_buf(rw, i),
				 rw_word(rw->block[i]) + rw->stamp);
	}
	rw->at += BATCH;
}

static int rw_check(const struct rw *rw)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		if (!rw_has(rw_buf(rw, i), rw_word(rw->block[i])))
			return -1;
	}
	return 0;
}

/* Are the blocks of the last batch in the file? */
static bool rw_written(struct bench_job *job, const struct rw *rw,
		       const char *who)
{
	char block[BLOCK];

	for (unsigned int i = 0; i < BATCH; i++) {
		if (pread(rw->fd, block, BLOCK, rw_offset(rw, i)) != BLOCK ||
		    !rw_has(block, rw_word(rw->block[i]) + rw->stamp)) {
			bench_fail(job,
				   "%s: block %llu is not what was written",
				   who, (unsigned long long)rw->block[i]);
			return false;
		}
	}
	return true;
}

static bool rw_ring_batch(struct bench_job *job, struct bench_ring *r,
			  struct rw *rw)
{
	uint8_t op = rw->write ? IORING_OP_WRITE : IORING_OP_READ;

	rw_choose(rw);
	for (unsigned int i = 0; i < BATCH; i++)
		bench_prep(bench_ring_sqe(r), op, rw->fd, rw_buf(rw, i), BLOCK,
			   (uint64_t)rw_offset(rw, i), i);
	if (!bench_ring_submit(job, r, BATCH))
		return false;

	/* Reads and writes that had to wait come in any order. */
	uint32_t seen = 0;

	for (unsigned int i = 0; i < BATCH; i++) {
		const struct io_uring_cqe *cqe = bench_ring_cqe(r, i);

		if (au_unlikely(cqe->user_data >= BATCH ||
				seen & (1U << cqe->user_data) ||
				cqe->res != (int32_t)BLOCK))
			return bench_ring_wrong(job, r, cqe, BLOCK);
		seen |= 1U << cqe->user_data;
	}
	bench_ring_advance(r, BATCH);
	if (!rw->write && rw_check(rw) < 0)
		return bench_bad(job, r->b, "wrong data was read");
	return true;
}

static double rw_ring(struct bench_job *job, const struct bench_backend *b)
{
	struct rw *rw = job->state;
	uint64_t start, now, done = 0;
	struct bench_ring r;
	bool ok;

	if (!bench_ring_open(job, &r, b, 64, 0))
		return -1;
	rw->stamp++;
	ok = rw_ring_batch(job, &r, rw);
	start = now = au_now_ns();
	while (ok && now - start < job->slice_ns) {
		ok = rw_ring_batch(job, &r, rw);
		done += BATCH;
		now = au_now_ns();
	}
	bench_ring_close(&r);
	if (ok && rw->write)
		ok = rw_written(job, rw,
				b->is == BENCH_USER ? "anyuring" : "kernel");
	return ok ? (double)done * 1e9 / (double)(now - start) : -1;
}

static double rw_rival(struct bench_job *job)
{
	struct rw *rw = job->state;
	uint64_t start, now, done = 0;

	rw->stamp++;
	start = now = au_now_ns();
	while (now - start < job->slice_ns) {
		rw_choose(rw);
		for (unsigned int i = 0; i < BATCH; i++) {
			ssize_t n = rw->write ?
					    pwrite(rw->fd, rw_buf(rw, i), BLOCK,
						   rw_offset(rw, i)) :
					    pread(rw->fd, rw_buf(rw, i), BLOCK,
						  rw_offset(rw, i));

			if (n != BLOCK)
				return bench_fail(job, "%s: short",
						  job->c->rival_name);
		}
		if (!rw->write && rw_check(rw) < 0)
			return bench_fail(job, "%s: wrong data was read",
					  job->c->rival_name);
		done += BATCH;
		now = au_now_ns();
	}
	if (rw->write && !rw_written(job, rw, job->c->rival_name))
		return -1;
	return (double)done * 1e9 / (double)(now - start);
}

/* Opening */

/* A file without a name, or one that loses it at once. -1 if neither works. */
static int rw_file(const char *dir)
{
	char path[4096];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	if (snprintf(path, sizeof(path), "%s/anyuring-bench-XXXXXX", dir) >=
	    (int)sizeof(path))
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static bool rw_fill(struct rw *rw)
{
	memset(rw->buf, 0x5a, BATCH * (size_t)BLOCK);
	for (uint64_t n = 0; n < rw->blocks; n += BATCH) {
		for (unsigned int i = 0; i < BATCH; i++)
			rw_stamp(rw_buf(rw, i), rw_word(n + i));
		if (pwrite(rw->fd, rw->buf, BATCH * (size_t)BLOCK,
			   (off_t)(n * BLOCK)) != (ssize_t)(BATCH * BLOCK))
			return false;
	}
	return true;
}

static void rw_close(struct bench_job *job)
{
	struct rw *rw = job->state;

	if (rw->fd >= 0)
		close(rw->fd);
	free(rw->buf);
	free(rw);
}

static bool is_tmpfs(const char *dir)
{
	struct statfs fs;

	return !statfs(dir, &fs) && fs.f_type == TMPFS_MAGIC;
}

static bool rw_open(struct bench_job *job)
{
	const char *dir = job->c->arg & RW_SHM ? SHM : job->opt->dir;
	struct rw *rw;

	if (dir != job->opt->dir && !is_tmpfs(dir)) {
		bench_fail(job, "%s is no tmpfs", dir);
		return false;
	}
	rw = calloc(1, sizeof(*rw));
	if (!rw) {
		bench_fail(job, "no memory");
		return false;
	}
	job->state = rw;
	rw->seed = 88172645463325252ULL;
	rw->write = job->c->arg & RW_WRITE;
	rw->sequential = job->c->arg & RW_SEQUENTIAL;
	rw->blocks = (uint64_t)(job->opt->quick ? QUICK_MIB : FILE_MIB) *
		     ((1U << 20) / BLOCK);
	rw->buf = aligned_alloc(BLOCK, BATCH * (size_t)BLOCK);
	rw->fd = rw_file(dir);
	if (rw->fd < 0) {
		bench_fail(job, "%s takes no file", dir);
	} else if (!rw->buf) {
		bench_fail(job, "no memory");
	} else if (!rw_fill(rw)) {
		bench_fail(job, "%s has no room for %llu MiB", dir,
			   (unsigned long long)(rw->blocks * BLOCK >> 20));
	} else {
		return true;
	}
	rw_close(job);
	return false;
}

void bench_filesystem(const char *dir, char *buf, size_t size)
{
	static const struct {
		long magic;
		const char *name;
	} known[] = {
		{ EXT4_SUPER_MAGIC, "ext4" },
		{ XFS_SUPER_MAGIC, "xfs" },
		{ BTRFS_SUPER_MAGIC, "btrfs" },
		{ TMPFS_MAGIC, "tmpfs" },
		{ OVERLAYFS_SUPER_MAGIC, "overlayfs" },
		{ F2FS_SUPER_MAGIC, "f2fs" },
		{ NFS_SUPER_MAGIC, "nfs" },
		{ 0x2fc12fc1, "zfs" },
	};
	struct statfs fs;

	if (statfs(dir, &fs)) {
		snprintf(buf, size, "unknown");
		return;
	}
	for (size_t i = 0; i < AU_ARRAY_SIZE(known); i++) {
		if (fs.f_type == known[i].magic) {
			snprintf(buf, size, "%s", known[i].name);
			return;
		}
	}
	snprintf(buf, size, "0x%lx", (unsigned long)fs.f_type);
}

#define RW_CASE(key, title, arg, rival)                                  \
	{                                                                \
		"read", key, title, false, arg, rival, rw_open, rw_ring, \
			rw_rival, rw_close                               \
	}

const struct bench_case bench_read_cases[] = {
	RW_CASE("read_random", "random reads", 0, "pread"),
	RW_CASE("read_sequential", "sequential reads", RW_SEQUENTIAL, "pread"),
	RW_CASE("write_random", "random writes", RW_WRITE, "pwrite"),
	RW_CASE("tmpfs_read_random", "tmpfs, random reads", RW_SHM, "pread"),
	RW_CASE("tmpfs_read_sequential", "tmpfs, sequential reads",
		RW_SHM | RW_SEQUENTIAL, "pread"),
	RW_CASE("tmpfs_write_random", "tmpfs, random writes", RW_SHM | RW_WRITE,
		"pwrite"),
	{ .suite = NULL },
};

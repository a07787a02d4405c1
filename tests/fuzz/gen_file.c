/* SPDX-License-Identifier: MIT */
/* Regular files, names, and their extended attributes. */
#include <fcntl.h>
#include <sys/stat.h>
#include "gen.h"

static void rw_offset(struct fsqe *q)
{
	q->off = arg(ARG_NUM, chance(30) ? ~0ULL : rnd(9000));
}

/* Into a selected buffer; a file is never waited for. */
static bool file_select(struct fsqe *q)
{
	int group = chance(20) ? take_group() : -1;

	if (group < 0)
		return false;
	rw_offset(q);
	select_group(q, group);
	/* In a worker the kernel takes two when the first try gave up. */
	q->len = chance(30) ? 0 : rnd(1500);
	if (q->op == IORING_OP_READV) {
		q->addr = arg(ARG_IOV1, q->len);
		q->len = 1;
	}
	return true;
}

static bool is_fixed(uint8_t op)
{
	return op == IORING_OP_READ_FIXED || op == IORING_OP_WRITE_FIXED ||
	       op == IORING_OP_READV_FIXED || op == IORING_OP_WRITEV_FIXED;
}

/* One that exists or not; the last is for channels. */
static uint16_t fixed_index(void)
{
	uint16_t i = (uint16_t)rnd(NR_BUFS + 1);

	return i == CHAN_BUF ? 0 : i;
}

static void file_one(int obj)
{
	static const uint8_t ops[] = {
		IORING_OP_READ,         IORING_OP_WRITE,
		IORING_OP_READV,        IORING_OP_WRITEV,
		IORING_OP_READ_FIXED,   IORING_OP_WRITE_FIXED,
		IORING_OP_FSYNC,        IORING_OP_FALLOCATE,
		IORING_OP_FADVISE,      IORING_OP_SYNC_FILE_RANGE,
		IORING_OP_FTRUNCATE,    IORING_OP_READV_FIXED,
		IORING_OP_WRITEV_FIXED, IORING_OP_READ_MULTISHOT,
	};
	uint8_t op = ops[rnd(sizeof(ops))];
	struct fsqe *q;
	int group;

	if (!has(op) || (is_fixed(op) && !take_fixed()))
		op = IORING_OP_READ;
	q = add(op);
	set_fd(q, obj);
	if ((op == IORING_OP_READ || op == IORING_OP_READV) && file_select(q))
		return;
	switch (op) {
	case IORING_OP_READ:
	case IORING_OP_READV:
	case IORING_OP_WRITE:
	case IORING_OP_WRITEV:
		rw_offset(q);
		if (op == IORING_OP_READ || op == IORING_OP_WRITE) {
			q->addr = arg(ARG_MEM, mem());
			q->len = chance(10) ? 0 : rnd(PAGE + 1);
		} else {
			q->addr = arg(ARG_IOV, mem_pages(3));
			q->len = rnd(4);
		}
		break;
	case IORING_OP_READ_FIXED:
	case IORING_OP_WRITE_FIXED:
		rw_offset(q);
		q->buf_index = fixed_index();
		q->addr = arg(ARG_MEM,
			      FIXED_PAGE * PAGE + rnd(5) * PAGE + rnd(200));
		q->len = rnd(1000);
		break;
	case IORING_OP_FALLOCATE:
		q->addr = arg(ARG_NUM, rnd(20000));
		q->off = arg(ARG_NUM, rnd(20000));
		q->len = rnd(3); /* mode */
		break;
	case IORING_OP_FADVISE:
	case IORING_OP_SYNC_FILE_RANGE:
		q->len = rnd(5000);
		q->opflags = rnd(8);
		break;
	case IORING_OP_FTRUNCATE:
		q->off = arg(ARG_NUM, rnd(16000));
		break;
	case IORING_OP_FSYNC:
		q->opflags = rnd(8) ? rnd(2) : 2;
		break;
	case IORING_OP_READ_MULTISHOT: /* no file for it */
		group = take_group();
		if (group >= 0)
			select_group(q, group);
		break;
	default: /* the vectored fixed ones: bounds are what is interesting */
		rw_offset(q);
		q->buf_index = fixed_index();
		q->addr = arg(ARG_FIOV, rnd(16));
		q->len = rnd(4);
		break;
	}
	if (chance(4))
		q->addr = arg(ARG_NUM, chance(50) ? 0 : 8);
}

static bool take_file(int obj)
{
	/* The fourth has two descriptors. */
	return take(obj) &&
	       (obj < OBJ_FILE + 3 ||
		take(obj == OBJ_RDONLY ? OBJ_FILE + 3 : OBJ_RDONLY));
}

/* It is disarmed. One of no time at all depends on the page cache. */
static void useless_timeout(void)
{
	struct fsqe *q;

	if (!room() || !chance(8))
		return;
	q = add(IORING_OP_LINK_TIMEOUT);
	q->addr = arg(ARG_TIME, FOREVER_NS);
	q->len = 1;
}

void chain_file(uint32_t n)
{
	int obj = OBJ_FILE + (int)rnd(5);

	if (!take_file(obj))
		return;
	while (n-- && room())
		file_one(obj);
	useless_timeout();
}

static void path_one(void)
{
	static const uint8_t ops[] = {
		IORING_OP_OPENAT,    IORING_OP_OPENAT2,  IORING_OP_STATX,
		IORING_OP_MKDIRAT,   IORING_OP_UNLINKAT, IORING_OP_RENAMEAT,
		IORING_OP_SYMLINKAT, IORING_OP_LINKAT,
	};
	static const uint32_t modes[] = {
		O_RDONLY,
		O_RDWR,
		O_RDWR | O_CREAT,
		O_WRONLY | O_CREAT | O_EXCL,
		O_RDWR | O_TRUNC,
		O_RDONLY | O_DIRECTORY,
		O_RDONLY | O_NOFOLLOW,
		O_PATH,
		O_RDWR | O_CREAT | O_CLOEXEC,
	};
	uint8_t op = ops[rnd(sizeof(ops))];
	uint64_t a = rnd(NR_PATHS), b = rnd(NR_PATHS);
	struct fsqe *q;

	if (!has(op))
		op = IORING_OP_OPENAT;
	q = add(op);
	q->fd = arg(ARG_NUM, (uint32_t)AT_FDCWD);
	if (chance(10))
		q->fd = arg(ARG_OBJ, OBJ_DIR);
	q->addr = chance(4) ? arg(ARG_NUM, 8) : arg(ARG_PATH, a);
	switch (op) {
	case IORING_OP_OPENAT:
		q->opflags = modes[rnd(9)];
		q->len = 0640;
		break;
	case IORING_OP_OPENAT2:
		q->off = arg(ARG_HOW, modes[rnd(9)]);
		q->len = 24;
		break;
	case IORING_OP_STATX:
		q->off = arg(ARG_STATX, 0);
		q->len = 0x7ff;
		q->opflags = chance(30) ? AT_SYMLINK_NOFOLLOW : 0;
		break;
	case IORING_OP_MKDIRAT:
		q->len = 0755;
		break;
	case IORING_OP_UNLINKAT:
		q->opflags = chance(40) ? AT_REMOVEDIR : 0;
		break;
	case IORING_OP_SYMLINKAT:
		q->off = arg(ARG_PATH, b);
		break;
	default: /* rename and link: two directories, two names */
		q->off = arg(ARG_PATH, b);
		q->len = (uint32_t)AT_FDCWD;
		q->opflags = chance(20) ? 1 : 0;
		break;
	}
	if ((op == IORING_OP_OPENAT || op == IORING_OP_OPENAT2) &&
	    g.registered[g.step->ring] && chance(30) && take_slots())
		q->file_index = chance(70) ? 9 + rnd(2) : rnd(14);
}

/* Names are everybody's: one such chain in a step. */
static bool take_names(void)
{
	if (g.names_busy || !take(OBJ_DIR))
		return false;
	g.names_busy = true;
	return true;
}

void chain_path(uint32_t n)
{
	if (!take_names())
		return;
	while (n-- && room())
		path_one();
	useless_timeout();
}

void chain_xattr(uint32_t n)
{
	static const uint8_t ops[] = {
		IORING_OP_FSETXATTR,
		IORING_OP_SETXATTR,
		IORING_OP_FGETXATTR,
		IORING_OP_GETXATTR,
	};

	/* A path may name any of the files. */
	if (!take_names())
		return;
	for (int i = 0; i < 4; i++) {
		if (!take_file(OBJ_FILE + i))
			return;
	}
	while (n-- && room()) {
		uint8_t op = ops[rnd(4)];
		struct fsqe *q = add(op);
		bool sets = op == IORING_OP_FSETXATTR ||
			    op == IORING_OP_SETXATTR;

		if (op == IORING_OP_FSETXATTR || op == IORING_OP_FGETXATTR)
			set_fd(q,
			       chance(90) ? OBJ_FILE + (int)rnd(5) : OBJ_DIR);
		else
			q->addr3 = arg(ARG_PATH, rnd(NR_PATHS));
		q->addr = chance(4) ? arg(ARG_NUM, 8) :
				      arg(ARG_NAME, rnd(NR_NAMES));
		q->off = chance(4) ? arg(ARG_NUM, 8) : arg(ARG_MEM, mem());
		q->len = chance(80) ? rnd(100) : chance(50) ? 0 : 70000;
		/* What is written lies in the arena, however short. */
		if (!sets && q->len > PAGE)
			q->len = PAGE;
		if (sets || chance(10))
			q->opflags = chance(60) ? 0 : rnd(4);
	}
}

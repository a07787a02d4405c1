/* SPDX-License-Identifier: MIT */
/*
 * What a program finds: files, sockets, pipes and memory, the same each time;
 * what its arguments mean; and what became of it all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "program.h"

#ifndef FUTEX_32
#define FUTEX_32 2
#endif

unsigned char *arena;

const int slot_objs[NR_SLOTS] = {
	OBJ_FILE,      OBJ_FILE + 1, OBJ_CHAN,   OBJ_CHAN + 1, OBJ_CHAN + 10,
	OBJ_CHAN + 11, OBJ_EVENTFD,  OBJ_RDONLY, -1,           -1,
};

static const char *const paths[NR_PATHS] = {
	"p0",       "p1", "p2",   "p3", "dir",       "dir/p4",
	"absent/p", "f0", "link", "",   "dir/../p5", "loop",
};

static const char *const addresses[3] = { "sock", "sock1", "sock2" };

static const char *const attrs[NR_NAMES] = {
	"user.a", "user.b", "user.", "trusted.t", "", "none", "security.x",
};

static uint32_t hash(const void *data, size_t len)
{
	const unsigned char *c = data;
	uint32_t h = 2166136261U;

	while (len--)
		h = (h ^ *c++) * 16777619U;
	return h;
}

static void pattern(unsigned char *at, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++)
		at[i] = (unsigned char)((i * 131 + (i >> 8) * 17 + seed * 29) %
					251);
}

/* --- the world ---------------------------------------------------------- */

static void place(int obj, int fd)
{
	if (fd < 0 || dup2(fd, FD_BASE + obj) < 0) {
		put("no object %d: %d\n", obj, errno);
		return;
	}
	close(fd);
}

static void make_files(void)
{
	unsigned char data[2 * PAGE];
	char name[8];

	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		pattern(data, sizeof(data), (uint32_t)i + 7);
		place(OBJ_FILE + i,
		      open(name, O_RDWR | O_CREAT | O_TRUNC, 0644));
		if (pwrite(FD_BASE + OBJ_FILE + i, data, sizeof(data), 0) < 0)
			put("no data\n");
	}
	place(OBJ_RDONLY, open("f3", O_RDONLY));
	if (mkdir("dir", 0755) || symlink("p0", "link") ||
	    symlink("loop", "loop"))
		put("no paths\n");
	place(OBJ_DIR, open("dir", O_RDONLY | O_DIRECTORY));
}

static void make_sockets(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX, .sun_path = "sock" };
	int s[2];

	for (int c = 0; c < CHAN_TCP; c++) {
		int rd = OBJ_CHAN + 2 * c, r;

		/* Channels 0 and 1 (2 and 3) are the two ways of one pair. */
		if (c < 4 && (c & 1)) {
			place(rd, dup(FD_BASE + rd - 1));
			place(rd + 1, dup(FD_BASE + rd - 2));
			continue;
		}
		r = c < 5 ? socketpair(AF_UNIX,
				       c < 4 ? SOCK_STREAM : SOCK_DGRAM, 0, s) :
			    pipe(s);
		if (r)
			put("no channel\n");
		place(rd, s[0]);
		place(rd + 1, s[1]);
	}
	place(OBJ_LISTENER, socket(AF_UNIX, SOCK_STREAM, 0));
	if (bind(FD_BASE + OBJ_LISTENER, (void *)&sun, sizeof(sun)) ||
	    listen(FD_BASE + OBJ_LISTENER, 8))
		put("no listener\n");
	for (int i = 0; i < 4; i++)
		place(OBJ_FRESH + i, socket(AF_UNIX, SOCK_STREAM, 0));
}

/* A pair by the loopback: only IP sends without a copy. */
static void make_tcp(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int l = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	int s = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(l, (void *)&sin, len) || listen(l, 1) ||
	    getsockname(l, (void *)&sin, &len) ||
	    connect(s, (void *)&sin, len) ||
	    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		put("no TCP\n");
	place(OBJ_TCP, accept(l, NULL, NULL));
	place(OBJ_TCP + 1, s);
	close(l);
}

void world_make(void)
{
	uint32_t *words;
	uint64_t one = 1;

	make_files();
	make_sockets();
	make_tcp();
	for (int i = 0; i < 2; i++)
		place(OBJ_EVENTFD + i, eventfd(0, 0));
	place(OBJ_EPOLL, epoll_create1(0));
	for (int i = 0; i < 4; i++)
		place(OBJ_SPARE + i, open("/dev/null", O_RDWR));
	place(OBJ_ZERO, open("/dev/zero", O_RDWR));
	arena = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	for (uint32_t i = 0; i < PAGES; i++)
		pattern(arena + i * PAGE, PAGE, i);
	words = (void *)(arena + WORD_PAGE * PAGE);
	for (int i = 0; i < NR_FUTEXES; i++)
		words[i] = FUTEX_VALUE;
	memcpy(arena + WORD_PAGE * PAGE + WORD_ONE, &one, sizeof(one));
}

/* --- what arguments mean ------------------------------------------------ */

/* Things pointed to live as long as the run: the child's memory is its own. */
static void *keep(const void *data, size_t len)
{
	void *at = malloc(len);

	memcpy(at, data, len);
	return at;
}

static struct iovec *iovecs(uint64_t page)
{
	struct iovec v[3];

	for (uint32_t i = 0; i < 3; i++) {
		v[i].iov_base = arena + (page + i) % FIXED_PAGE * PAGE;
		v[i].iov_len = i == 0 ? 100 : i == 1 ? 200 : 50;
	}
	return keep(v, sizeof(v));
}

static uint64_t ptr(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static uint64_t fds_table(void)
{
	int fds[NR_SLOTS];

	for (int i = 0; i < NR_SLOTS; i++)
		fds[i] = slot_objs[i] < 0 ? -1 : FD_BASE + slot_objs[i];
	return ptr(keep(fds, sizeof(fds)));
}

static uint64_t bufs_table(void)
{
	struct iovec v[NR_BUFS] = {
		{ arena + FIXED_PAGE * PAGE, PAGE },
		{ arena + (FIXED_PAGE + 1) * PAGE, 3 * PAGE },
		{ NULL, 0 },
		{ arena + (FIXED_PAGE + 4) * PAGE + 100, 1000 },
		{ arena + CHAN_BUF_PAGE * PAGE, PAGE },
	};

	return ptr(keep(v, sizeof(v)));
}

/* Within the second buffer, but for the last part of one in four. */
static uint64_t fixed_iovecs(uint64_t n)
{
	unsigned char *at = arena + (FIXED_PAGE + 1) * PAGE + n * 500;
	struct iovec v[3] = {
		{ at, 100 },
		{ at + 1000, 2000 },
		{ at + 200, n % 4 == 3 ? 20000 : 300 },
	};

	return ptr(keep(v, sizeof(v)));
}

static uint64_t futexes(uint64_t mask)
{
	struct futex_waitv v[NR_FUTEXES] = { 0 };
	int n = 0;

	for (int i = 0; i < NR_FUTEXES; i++) {
		if (!(mask & 1U << i))
			continue;
		v[n++] = (struct futex_waitv){
			.val = FUTEX_VALUE,
			.uaddr = ptr(arena + WORD_PAGE * PAGE + 4 * i),
			.flags = FUTEX_32,
		};
	}
	return ptr(keep(v, sizeof(v)));
}

/* One vector, and a message of it: only its length means something. */
static void *one_vector(uint64_t len)
{
	struct iovec v = { NULL, len };

	return keep(&v, sizeof(v));
}

static uint64_t one_message(uint64_t len)
{
	struct msghdr msg = { .msg_iov = one_vector(len), .msg_iovlen = 1 };

	return ptr(keep(&msg, sizeof(msg)));
}

uint64_t world_value(struct arg a)
{
	struct au_timespec ts = { (int64_t)(a.val / 1000000000),
				  (long long)(a.val % 1000000000) };
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct epoll_event ev = { .events = (uint32_t)a.val, .data.u64 = 7 };
	uint64_t how[3] = { a.val, a.val & O_CREAT ? 0644 : 0, 0 };
	struct msghdr msg = { 0 };

	switch (a.kind) {
	case ARG_OBJ:
		return FD_BASE + a.val;
	case ARG_MEM:
		return ptr(arena + a.val % (PAGES * PAGE));
	case ARG_IOV:
		return ptr(iovecs(a.val));
	case ARG_MSG:
		msg.msg_iov = iovecs(a.val);
		msg.msg_iovlen = 3;
		return ptr(keep(&msg, sizeof(msg)));
	case ARG_PATH:
		return ptr(paths[a.val % NR_PATHS]);
	case ARG_TIME:
		return ptr(keep(&ts, sizeof(ts)));
	case ARG_SUN:
		strcpy(sun.sun_path, addresses[a.val % 3]);
		return ptr(keep(&sun, sizeof(sun)));
	case ARG_HOW:
		return ptr(keep(how, sizeof(how)));
	case ARG_EV:
		return ptr(keep(&ev, sizeof(ev)));
	case ARG_FDS:
		return fds_table() + 4 * a.val;
	case ARG_BUFS:
		return bufs_table() + 16 * a.val;
	case ARG_STATX:
		return ptr(malloc(512));
	case ARG_FIOV:
		return fixed_iovecs(a.val % 16);
	case ARG_IOV1:
		return ptr(one_vector(a.val));
	case ARG_MSG1:
		return one_message(a.val);
	case ARG_NAME:
		return ptr(attrs[a.val % NR_NAMES]);
	case ARG_FUTEX:
		return ptr(arena + WORD_PAGE * PAGE + 4 * (a.val % NR_FUTEXES));
	case ARG_FUTEXV:
		return futexes(a.val);
	case ARG_LEN:
		return ptr(keep(&(socklen_t){ (socklen_t)a.val },
				sizeof(socklen_t)));
	default:
		return a.val;
	}
}

/* --- the end ------------------------------------------------------------ */

static void show_dir(const char *dir, int depth)
{
	struct dirent **names;
	char path[512], target[64], value[PAGE];
	int n = scandir(dir, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		struct stat st;
		ssize_t t;

		if (names[i]->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		if (lstat(path, &st))
			continue;
		put("%s mode %o links %u size %lld", path, st.st_mode,
		    (unsigned int)st.st_nlink,
		    S_ISDIR(st.st_mode) ? 0LL : (long long)st.st_size);
		t = readlink(path, target, sizeof(target) - 1);
		if (t >= 0)
			put(" -> %.*s", (int)t, target);
		if (S_ISREG(st.st_mode) && st.st_size < 1 << 22) {
			int fd = open(path, O_RDONLY);
			unsigned char *c = malloc((size_t)st.st_size + 1);

			t = read(fd, c, (size_t)st.st_size);
			put(" data %#x", t < 0 ? 0 : hash(c, (size_t)t));
			free(c);
			close(fd);
		}
		for (int x = 0; x < 2; x++) {
			ssize_t v =
				lgetxattr(path, attrs[x], value, sizeof(value));

			if (v >= 0)
				put(" %s %zd %#x", attrs[x], v,
				    hash(value, (size_t)v));
		}
		put("\n");
		if (S_ISDIR(st.st_mode) && depth < 3)
			show_dir(path, depth + 1);
	}
}

static void show_left(int obj)
{
	static unsigned char data[1 << 20];
	struct pollfd pfd = { .fd = FD_BASE + obj, .events = POLLIN };
	size_t len = 0;

	while (poll(&pfd, 1, 0) == 1 && (pfd.revents & POLLIN) &&
	       len < sizeof(data)) {
		ssize_t r = read(pfd.fd, data + len, sizeof(data) - len);

		if (r <= 0)
			break;
		len += (size_t)r;
	}
	put("object %d left %zu data %#x events %#x\n", obj, len,
	    hash(data, len), (unsigned int)pfd.revents);
}

void world_show(void)
{
	unsigned char fresh[PAGE];

	for (int i = OBJ_FILE; i <= OBJ_RDONLY; i++)
		put("file %d at %lld\n", i,
		    (long long)lseek(FD_BASE + i, 0, SEEK_CUR));
	for (int c = 0; c < NR_CHANS; c++)
		show_left(chan_obj(c));
	for (int i = 0; i < 2; i++)
		show_left(OBJ_EVENTFD + i);
	for (int i = 0; i < NR_OBJS; i++) {
		if (fcntl(FD_BASE + i, F_GETFD) < 0)
			put("object %d closed\n", i);
	}
	for (uint32_t i = 0; i < WORD_PAGE; i++) {
		pattern(fresh, PAGE, i);
		if (memcmp(fresh, arena + i * PAGE, PAGE))
			put("page %u %#x\n", i, hash(arena + i * PAGE, PAGE));
	}
	show_dir(".", 0);
}

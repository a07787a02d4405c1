/* SPDX-License-Identifier: MIT */
/* Reads /proc/self/maps: "START-END rwxs ...", a mapping a line. */
#include "sys/maps.h"

#include <fcntl.h>
#include "sys/syscall.h"

struct maps_line {
	uint64_t value[2]; /* start, end */
	unsigned int field; /* 0 start, 1 end, 2 permissions, 3 the rest */
	unsigned int column; /* within the permissions */
	bool shared;
};

static int maps_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Takes in one more character; true at the end of a line. */
static bool maps_feed(struct maps_line *l, char c)
{
	if (c == '\n')
		return true;
	if (l->field < 2) {
		int d = maps_digit(c);

		if (d < 0)
			l->field++;
		else
			l->value[l->field] = l->value[l->field] << 4 |
					     (unsigned int)d;
	} else if (l->field == 2) {
		if (l->column++ == 3) {
			l->shared = c == 's';
			l->field++;
		}
	}
	return false;
}

static bool maps_find(int fd, uint64_t addr, struct au_mapping *m)
{
	struct maps_line line = { 0 };
	char buf[4096];
	long n;

	while ((n = au_syscall(SYS_read, fd, buf, sizeof(buf))) > 0) {
		for (long i = 0; i < n; i++) {
			if (!maps_feed(&line, buf[i]))
				continue;
			if (addr >= line.value[0] && addr < line.value[1]) {
				*m = (struct au_mapping){ line.value[0],
							  line.value[1],
							  line.shared };
				return true;
			}
			line = (struct maps_line){ 0 };
		}
	}
	return false;
}

static bool maps_within(const struct au_mapping *m, uint64_t addr, size_t n)
{
	return addr >= m->start && addr < m->end && n <= m->end - addr;
}

bool au_memory_shared(uint64_t addr, size_t n, struct au_mapping *last)
{
	int fd;

	if (!maps_within(last, addr, n)) {
		*last = (struct au_mapping){ 0 };
		fd = (int)au_syscall(SYS_openat, AT_FDCWD, "/proc/self/maps",
				     O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return false;
		(void)maps_find(fd, addr, last);
		(void)au_syscall(SYS_close, fd);
	}
	return maps_within(last, addr, n) && last->shared;
}

/* SPDX-License-Identifier: MIT */
/*
 * Whether a preload reaches a program: the ELF header, the privilege bits and
 * the chain of `#!` lines, read as the kernel and the dynamic loader will.
 *
 * The measure is this command itself: its own machine, word size and loader
 * are those the preload object was built for.
 */
#include "cli/program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "sys/syscall.h"

/* The kernel follows no more; a longer chain fails to execute. */
#define SCRIPT_DEPTH 5

/* As the kernel: longer `#!` lines are cut there. */
#define SCRIPT_LINE 256

struct image {
	unsigned char class;
	unsigned char data;
	uint16_t machine;
	char loader[PATH_MAX]; /* PT_INTERP; empty for a static program */
};

static bool read_at(int fd, void *buf, size_t size, uint64_t off)
{
	return pread(fd, buf, size, (off_t)off) == (ssize_t)size;
}

static void loader_read(int fd, uint64_t off, uint64_t size, struct image *im)
{
	if (size && size <= sizeof(im->loader) &&
	    read_at(fd, im->loader, size, off))
		im->loader[size - 1] = 0;
	else
		im->loader[0] = 0;
}

/*
 * Only for our own word size and byte order: any other program is out of
 * reach whatever its headers say.
 */
static void headers_read(int fd, struct image *im)
{
	Elf64_Ehdr eh;
	unsigned int i;

	if (!read_at(fd, &eh, sizeof(eh), 0))
		return;
	for (i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;

		if (!read_at(fd, &ph, sizeof(ph),
			     eh.e_phoff + (uint64_t)i * eh.e_phentsize))
			return;
		if (ph.p_type == PT_INTERP) {
			loader_read(fd, ph.p_offset, ph.p_filesz, im);
			return;
		}
	}
}

/* Whether the file is an ELF program; then `im` describes it. */
static bool image_read(int fd, struct image *im)
{
	/* The same in both word sizes, up to e_machine. */
	Elf32_Ehdr eh;

	memset(im, 0, sizeof(*im));
	if (!read_at(fd, &eh, sizeof(eh), 0) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	im->class = eh.e_ident[EI_CLASS];
	im->data = eh.e_ident[EI_DATA];
	im->machine = eh.e_machine;
	if (im->class == ELFCLASS64)
		headers_read(fd, im);
	return true;
}

static bool image_self(struct image *im)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	bool ok = fd >= 0 && image_read(fd, im);

	if (fd >= 0)
		close(fd);
	return ok;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * The loader drops preloads in "secure execution": when executing changes the
 * user or group, or gives capabilities to somebody who is not root. On a
 * nosuid mount, and with no_new_privs, the bits and capabilities are void.
 */
static const char *privileged(int fd)
{
	const char *caps = "security.capability";
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st) || fstatvfs(fd, &fs))
		return NULL;
	if ((fs.f_flag & ST_NOSUID) ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return NULL;
	if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
		return "set-user-ID";
	/* Without group execution the bit once meant mandatory locks. */
	if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
	    st.st_gid != getgid())
		return "set-group-ID";
	if (getuid() && fgetxattr(fd, caps, NULL, 0) > 0)
		return "given file capabilities";
	return NULL;
}

static bool image_unreachable(int fd, const char *path, const struct image *im,
			      char *why, size_t size)
{
	const char *bits = privileged(fd);
	struct image self;

	if (bits) {
		snprintf(why, size, "%s, and the loader ignores preloads then",
			 bits);
		return true;
	}
	if (!image_self(&self))
		return false;
	if (im->class != self.class || im->data != self.data ||
	    im->machine != self.machine) {
		snprintf(why, size, "built for another word size or machine");
		return true;
	}
	if (!im->loader[0]) {
		/* The loader itself, as a command, does load preloads. */
		if (!strcmp(base_name(path), base_name(self.loader)))
			return false;
		snprintf(why, size, "statically linked");
		return true;
	}
	if (self.loader[0] &&
	    strcmp(base_name(im->loader), base_name(self.loader)) != 0) {
		snprintf(why, size, "linked with another C library (%s)",
			 base_name(im->loader));
		return true;
	}
	return false;
}

/* The interpreter of a `#!` file, or false. */
static bool script_interpreter(int fd, char path[PATH_MAX])
{
	char line[SCRIPT_LINE];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	char *start;
	size_t len;

	if (n < 2 || memcmp(line, "#!", 2) != 0)
		return false;
	line[n] = 0;
	start = line + 2;
	start += strspn(start, " \t");
	len = strcspn(start, " \t\r\n");
	if (!len)
		return false;
	memcpy(path, start, len);
	path[len] = 0;
	return true;
}

bool program_unreachable(const char *path, char *why, size_t size)
{
	char at[PATH_MAX];
	int depth;

	snprintf(at, sizeof(at), "%s", path);
	for (depth = 0; depth < SCRIPT_DEPTH; depth++) {
		struct image im;
		bool is_elf, is_script = false, unreachable = false;
		int fd = open(at, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return false;
		is_elf = image_read(fd, &im);
		if (is_elf)
			unreachable = image_unreachable(fd, at, &im, why, size);
		else
			is_script = script_interpreter(fd, at);
		close(fd);
		if (is_elf || !is_script)
			return unreachable;
	}
	return false;
}

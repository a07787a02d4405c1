/* SPDX-License-Identifier: MIT */
#include "sys/uaccess.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include "base/atomic.h"
#include "sys/syscall.h"

#define PAGE 4096UL

static bool range_within(uint64_t addr, size_t n, uint64_t lo, uint64_t hi)
{
	return AU_UACCESS_PLAIN && addr >= lo && addr < hi && n <= hi - addr;
}

__thread struct au_stack au_stack; /* hi 0 is not asked yet */

static au_cold void stack_bounds(void)
{
	pthread_attr_t attr;
	void *lo;
	size_t size;

	au_stack.hi = 1; /* nothing is within, should the question fail */
	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	if (!pthread_attr_getstack(&attr, &lo, &size)) {
		au_stack.lo = (uint64_t)(uintptr_t)lo;
		au_stack.hi = au_stack.lo + size;
	}
	pthread_attr_destroy(&attr);
}

/*
 * Everything between this frame and the end of the thread's stack is mapped.
 * On a stack the thread switched to by itself (a coroutine's) only the page
 * that holds the frame is certain.
 */
static bool range_on_stack(uint64_t addr, size_t n)
{
	uint64_t sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	uint64_t end = (sp | (PAGE - 1)) + 1;

	if (au_unlikely(!au_stack.hi))
		stack_bounds();
	if (sp >= au_stack.lo && sp < au_stack.hi)
		end = au_stack.hi;
	return range_within(addr, n, sp, end);
}

/* Writable data of the main program (.data, .bss), found once. */
static struct {
	uint64_t lo, hi;
	int known;
} uaccess_data;

static au_cold void data_bounds(void)
{
	const ElfW(Phdr) *ph = au_ptr(getauxval(AT_PHDR));
	uint64_t bias = 0, lo = 0, hi = 0;

	for (unsigned long i = 0; ph && i < getauxval(AT_PHNUM); i++) {
		if (ph[i].p_type == PT_PHDR)
			bias = getauxval(AT_PHDR) - ph[i].p_vaddr;
	}
	for (unsigned long i = 0; ph && i < getauxval(AT_PHNUM); i++) {
		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_W)) {
			lo = bias + ph[i].p_vaddr;
			hi = lo + ph[i].p_memsz;
		}
		/* What the linker makes read-only later stays readable. */
	}
	uaccess_data.lo = lo;
	uaccess_data.hi = hi;
	au_store_release(&uaccess_data.known, 1);
}

static bool range_in_data(uint64_t addr, size_t n)
{
	/* pairs with the release in data_bounds() */
	if (au_unlikely(!au_load_acquire(&uaccess_data.known)))
		data_bounds();
	return range_within(addr, n, uaccess_data.lo, uaccess_data.hi);
}

static bool range_known(uint64_t addr, size_t n)
{
	return range_on_stack(addr, n) || range_in_data(addr, n);
}

/* Sticky: process_vm_readv is missing or filtered here. */
static int uaccess_no_vm;

/* Bytes go through a pipe, page by page; either end answers EFAULT. */
static au_cold int copy_by_pipe(void *dst, const void *src, size_t n)
{
	int fds[2];
	int r = (int)au_syscall(SYS_pipe2, fds, O_CLOEXEC);

	if (r < 0)
		return -EFAULT;
	while (n) {
		size_t part = n < PAGE ? n : PAGE;
		long w = au_syscall(SYS_write, fds[1], src, part);
		long got = w > 0 ? au_syscall(SYS_read, fds[0], dst, w) : w;

		if (got <= 0 || got != w) {
			r = -EFAULT;
			break;
		}
		dst = (char *)dst + w;
		src = (const char *)src + w;
		n -= (size_t)w;
	}
	(void)au_syscall(SYS_close, fds[0]);
	(void)au_syscall(SYS_close, fds[1]);
	return r;
}

static int copy_slow(long nr, void *local, uint64_t remote, size_t n)
{
	struct iovec l = { .iov_base = local, .iov_len = n };
	struct iovec r = { .iov_base = au_ptr(remote), .iov_len = n };
	long got, pid;

	if (!au_load_relaxed(&uaccess_no_vm)) {
		pid = au_syscall(SYS_getpid);
		got = au_syscall(nr, pid, &l, 1, &r, 1, 0);
		if (got == (long)n)
			return 0;
		if (got != -ENOSYS && got != -EPERM)
			return -EFAULT;
		au_store_relaxed(&uaccess_no_vm, 1);
	}
	return nr == SYS_process_vm_readv ?
		       copy_by_pipe(local, au_ptr(remote), n) :
		       copy_by_pipe(au_ptr(remote), local, n);
}

int au_copy_from_user_slow(void *dst, uint64_t src, size_t n)
{
	if (range_known(src, n)) {
		memcpy(dst, au_ptr(src), n);
		return 0;
	}
	return n ? copy_slow(SYS_process_vm_readv, dst, src, n) : 0;
}

int au_copy_to_user(uint64_t dst, const void *src, size_t n)
{
	if (au_likely(range_on_stack(dst, n))) {
		memcpy(au_ptr(dst), src, n);
		return 0;
	}
	return n ? copy_slow(SYS_process_vm_writev, (void *)(uintptr_t)src, dst,
			     n) :
		   0;
}

long au_strncpy_from_user(char *dst, uint64_t src, size_t max)
{
	size_t done = 0;

	while (done < max) {
		/* Never past the page that holds the next byte. */
		size_t part = PAGE - (size_t)((src + done) & (PAGE - 1));
		char *end;

		if (part > max - done)
			part = max - done;
		if (au_copy_from_user(dst + done, src + done, part))
			return -EFAULT;
		end = memchr(dst + done, 0, part);
		if (end)
			return end - dst;
		done += part;
	}
	return -ENAMETOOLONG;
}

/*
 * Where user addresses end. With five levels of page tables that is 2^56; only
 * then is there memory to be had above 2^47.
 */
static au_cold uint64_t user_end_ask(void)
{
#if defined(__x86_64__)
	const uint64_t four = 1UL << 47, five = 1UL << 56;
	long r = au_syscall(SYS_mmap, 1UL << 50, PAGE, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS |
				    MAP_FIXED_NOREPLACE,
			    -1, 0);

	if (r < 0 && r > -4096)
		return r == -EEXIST ? five : four;
	(void)au_syscall(SYS_munmap, r, PAGE);
	return (uint64_t)r >= four ? five : four;
#else
	return 1UL << 63;
#endif
}

bool au_user_range(uint64_t addr, uint64_t n)
{
	static uint64_t end;
	uint64_t e = au_load_relaxed(&end);

	if (au_unlikely(!e)) {
		e = user_end_ask();
		au_store_relaxed(&end, e);
	}
	/* The last page is nobody's. */
	return addr + n >= addr && addr + n <= e - PAGE;
}

int au_user_writable(uint64_t addr, size_t n)
{
	uint64_t start = addr & ~(PAGE - 1);
	uint64_t end = au_align_up((size_t)(addr + n), PAGE);
	long r;

	if (addr + n < addr)
		return -EFAULT;
	r = au_syscall(SYS_madvise, start, end - start, MADV_POPULATE_WRITE);
	if (r == 0)
		return 0;
	if (r != -EINVAL && r != -ENOSYS && r != -EPERM)
		return -EFAULT;
	/* Before Linux 5.14, or in a sandbox: write every page's first byte back to itself. */
	for (; start < end; start += PAGE) {
		char c;

		if (copy_slow(SYS_process_vm_readv, &c, start, 1) ||
		    copy_slow(SYS_process_vm_writev, &c, start, 1))
			return -EFAULT;
	}
	return 0;
}

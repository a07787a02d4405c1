/* SPDX-License-Identifier: MIT */
/*
 * The forked child of a probe. Its data and its answer live in a shared
 * mapping, so that they survive the child; the caller's copy is updated
 * afterwards.
 */
#include "cli/child.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "sys/syscall.h"

struct child_page {
	int result;
	/* Aligned for whatever the probe keeps here. */
	_Alignas(max_align_t) char data[];
};

int cli_in_child(int (*try)(void *data), void *data, size_t size)
{
	size_t length = sizeof(struct child_page) + size;
	struct child_page *page;
	int result;
	pid_t pid;

	page = mmap(NULL, length, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -ENOMEM;
	page->result = CLI_CHILD_DIED;
	if (size)
		memcpy(page->data, data, size);

	pid = fork();
	if (pid == 0) {
		/* A death that answers the question leaves no core. */
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		page->result = try(page->data);
		_exit(0);
	}
	if (pid < 0) {
		result = -EAGAIN;
	} else {
		while (au_syscall(SYS_wait4, pid, NULL, 0, NULL) == -EINTR)
			;
		result = page->result;
		if (size)
			memcpy(data, page->data, size);
	}
	munmap(page, length);
	return result;
}

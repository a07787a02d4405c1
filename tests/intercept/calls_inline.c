/* SPDX-License-Identifier: MIT */
/*
 * Description: everything by inline `syscall` instructions, as a program with
 * a static liburing makes them: rings, threads, signals, masks that block
 * SIGSYS, new processes of every kind. Runs natively too, without the counts.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <ucontext.h>

#include "helper.h"

extern char **environ;

static __attribute__((noinline)) long sys6(long nr, long a, long b, long c,
					   long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static int trap_is(const char *mode)
{
	const char *v = getenv("ANYURING_TRAP");

	return v && !strcmp(v, mode);
}

/* A filter over text at a fixed address leaves masks and closes alone. */
static int fixed_filter(void)
{
	return trap_is("seccomp") && getenv("AU_TEST_FIXED");
}

/* ---- results and registers ---- */

static void test_results(void)
{
	char buf[8] = "";
	int fds[2];

	errno = 77;
	CHECK(SYS(SYS_getpid, 0, 0, 0, 0, 0, 0) == getpid());
	CHECK(SYS(SYS_close, -1, 0, 0, 0, 0, 0) == -EBADF);
	CHECK(SYS(SYS_io_uring_enter, -1, 0, 0, 0, 0, 0) == -EBADF);
	CHECK(SYS(SYS_read, -1, buf, 8, 0, 0, 0) == -EBADF);
	CHECK(SYS(9999, 1, 2, 3, 4, 5, 6) == -ENOSYS);
	CHECK(SYS(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE, -1, 0) == -EBADF);
	CHECK(SYS(SYS_pipe2, fds, 0, 0, 0, 0, 0) == 0);
	CHECK(SYS(SYS_write, fds[1], "hello", 5, 0, 0, 0) == 5);
	CHECK(SYS(SYS_read, fds[0], buf, 8, 0, 0, 0) == 5);
	CHECK(!strcmp(buf, "hello"));
	CHECK(SYS(SYS_close, fds[0], 0, 0, 0, 0, 0) == 0);
	CHECK(SYS(SYS_close, fds[1], 0, 0, 0, 0, 0) == 0);
	CHECK(errno == 77);
}

/* A system call keeps all but rax, rcx, r11, and the red zone below rsp. */
static void test_registers(long nr, long want)
{
	unsigned long in[8] = { (unsigned long)-1, 2, 3, 4, 5, 6, 7, 8 };
	unsigned long out[8], zone = 0, xmm = 0;
	long ret;

	__asm__ volatile("movq $0x1234567, %%rax\n\t"
			 "movq %%rax, %%xmm9\n\t"
			 "movq 0(%[in]), %%rdi\n\t"
			 "movq 8(%[in]), %%rsi\n\t"
			 "movq 16(%[in]), %%rdx\n\t"
			 "movq 24(%[in]), %%r10\n\t"
			 "movq 32(%[in]), %%r8\n\t"
			 "movq 40(%[in]), %%r9\n\t"
			 "movq 48(%[in]), %%r12\n\t"
			 "movq 56(%[in]), %%r13\n\t"
			 "leaq -512(%%rsp), %%rsp\n\t"
			 "movq $0x55aa55, -128(%%rsp)\n\t"
			 "movq $0x55aa55, -8(%%rsp)\n\t"
			 "movq %[nr], %%rax\n\t"
			 "syscall\n\t"
			 "movq -128(%%rsp), %%rcx\n\t"
			 "addq -8(%%rsp), %%rcx\n\t"
			 "leaq 512(%%rsp), %%rsp\n\t"
			 "movq %%rdi, 0(%[out])\n\t"
			 "movq %%rsi, 8(%[out])\n\t"
			 "movq %%rdx, 16(%[out])\n\t"
			 "movq %%r10, 24(%[out])\n\t"
			 "movq %%r8, 32(%[out])\n\t"
			 "movq %%r9, 40(%[out])\n\t"
			 "movq %%r12, 48(%[out])\n\t"
			 "movq %%r13, 56(%[out])\n\t"
			 "movq %%xmm9, %%rdx\n\t"
			 : "=&a"(ret), "=&c"(zone), "=&d"(xmm)
			 : [in] "r"(in), [out] "r"(out), [nr] "r"(nr)
			 : "rdi", "rsi", "r8", "r9", "r10", "r11", "r12", "r13",
			   "xmm9", "memory");
	CHECK(ret == want);
	CHECK(!memcmp(in, out, sizeof(in)));
	CHECK(zone == 2 * 0x55aa55UL && xmm == 0x1234567);
}

/* ---- signals ---- */

static struct ring sig_ring;
static volatile int sig_seen;
static sigjmp_buf sig_jump;

static void on_alarm(int sig)
{
	sig_seen++;
}

/* Runs with every signal "blocked", and makes calls of its own. */
static void on_alarm_ring(int sig)
{
	ring_nop(&sig_ring);
	sig_seen++;
}

static void on_alarm_jump(int sig)
{
	siglongjmp(sig_jump, 1);
}

static void alarm_ms(int ms)
{
	struct itimerval it = { { 0, 0 }, { 0, ms * 1000 } };

	CHECK(SYS(SYS_setitimer, ITIMER_REAL, &it, 0, 0, 0, 0) == 0);
}

static void catch (int sig, void (*fn)(int), int flags)
{
	struct sigaction act = { .sa_handler = fn, .sa_flags = flags };

	sigfillset(&act.sa_mask);
	CHECK(sigaction(sig, &act, NULL) == 0);
}

static void test_interrupt(void)
{
	struct timespec ts = { 5, 0 };
	struct pollfd p = { -1, 0, 0 };
	uint64_t mask = ~0ULL;

	catch (SIGALRM, on_alarm, 0);
	sig_seen = 0;
	alarm_ms(20);
	CHECK(SYS(426, sig_ring.fd, 0, 1, 1, 0, 0) == -EINTR && sig_seen == 1);
	alarm_ms(20);
	CHECK(SYS(SYS_nanosleep, &ts, 0, 0, 0, 0, 0) == -EINTR);
	catch (SIGALRM, on_alarm_ring, 0);
	alarm_ms(20);
	CHECK(SYS(SYS_poll, &p, 1, 5000, 0, 0, 0) == -EINTR && sig_seen == 3);

	if (fixed_filter())
		mask &= ~(1ULL << (SIGSYS - 1));
	/* A wait with a mask of its own that would block SIGSYS. */
	mask &= ~(1ULL << (SIGALRM - 1));
	alarm_ms(20);
	CHECK(SYS(SYS_ppoll, &p, 1, &ts, &mask, 8, 0) == -EINTR);
	alarm_ms(20);
	CHECK(SYS(426, sig_ring.fd, 0, 1, 1, &mask, 8) == -EINTR);
	alarm_ms(20);
	CHECK(SYS(SYS_rt_sigsuspend, &mask, 8, 0, 0, 0, 0) == -EINTR);
	alarm_ms(20);
	CHECK(ppoll(&p, 1, &ts, (void *)(uint64_t[16]){ mask }) == -1);
	CHECK(sig_seen == 7);

	/* Out of a blocked call, and out of a wait in the engine. */
	catch (SIGALRM, on_alarm_jump, 0);
	for (int i = 0; i < 20; i++) {
		if (!sigsetjmp(sig_jump, 1)) {
			alarm_ms(3);
			if (i & 1)
				SYS(SYS_nanosleep, &ts, 0, 0, 0, 0, 0);
			else
				SYS(426, sig_ring.fd, 0, 1, 1, 0, 0);
			CHECK(0);
		}
	}
	ring_nop(&sig_ring);
	catch (SIGALRM, SIG_DFL, 0);
}

struct ksigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

void test_restorer(void);
__asm__(".text\n.globl test_restorer\n.hidden test_restorer\n"
	"test_restorer:\n\tmovq $15, %rax\n\tsyscall\n");

static void test_masks(void)
{
	struct ksigaction act = { on_alarm_ring, 0x04000000, test_restorer,
				  ~0ULL };
	struct ksigaction old = { 0 };
	uint64_t all = ~0ULL, was = 0, now = 0;
	sigset_t set;

	if (fixed_filter()) {
		all &= ~(1ULL << (SIGSYS - 1));
		act.mask = all;
	}
	/* Inline: fill the mask, keep working, and read it back. */
	CHECK(SYS(SYS_rt_sigprocmask, SIG_SETMASK, &all, &was, 8, 0, 0) == 0);
	ring_nop(&sig_ring);
	CHECK(SYS(SYS_rt_sigprocmask, SIG_BLOCK, 0, &now, 8, 0, 0) == 0);
	CHECK((now | 1ULL << (SIGSYS - 1)) ==
	      (~0ULL & ~(1ULL << (SIGKILL - 1)) & ~(1ULL << (SIGSTOP - 1))));
	CHECK(SYS(SYS_rt_sigprocmask, SIG_SETMASK, &was, 0, 8, 0, 0) == 0);
	CHECK(SYS(SYS_rt_sigprocmask, SIG_BLOCK, 0, &now, 8, 0, 0) == 0);
	CHECK(now == was);
	CHECK(SYS(SYS_rt_sigprocmask, SIG_BLOCK, 16, 0, 8, 0, 0) == -EFAULT);
	CHECK(SYS(SYS_rt_sigprocmask, 99, &all, 0, 8, 0, 0) == -EINVAL);

	/* By libc. */
	sigfillset(&set);
	CHECK(!sigprocmask(SIG_SETMASK, &set, NULL));
	ring_nop(&sig_ring);
	CHECK(!pthread_sigmask(SIG_SETMASK, &set, NULL));
	ring_nop(&sig_ring);
	sigemptyset(&set);
	CHECK(!sigprocmask(SIG_SETMASK, &set, NULL));

	/* A handler installed inline, with a restorer of the program's own. */
	sig_seen = 0;
	CHECK(SYS(SYS_rt_sigaction, SIGUSR1, &act, 0, 8, 0, 0) == 0);
	CHECK(SYS(SYS_kill, getpid(), SIGUSR1, 0, 0, 0, 0) == 0);
	CHECK(sig_seen == 1);
	CHECK(SYS(SYS_rt_sigaction, SIGUSR1, 0, &old, 8, 0, 0) == 0);
	CHECK(old.handler == on_alarm_ring);
}

static volatile int sigsys_seen;

static void on_sigsys(int sig, siginfo_t *info, void *uc)
{
	sigsys_seen += info->si_code <= 0;
}

/* As a browser's sandbox does: emulate a call that its own filter traps. */
static void on_sandbox(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;

	if (info->si_errno == 7)
		uc->uc_mcontext.gregs[REG_RAX] = -ENOTTY;
}

static void sandbox(void)
{
	struct sock_filter insn[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP | 7),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 4, insn };
	struct sigaction act = { .sa_flags = SA_SIGINFO };
	struct ring r;

	act.sa_sigaction = on_sandbox;
	CHECK(!sigaction(SIGSYS, &act, NULL));
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(0); /* no filters here */
	CHECK(syscall(SYS_getpgid, 0) == -1 && errno == ENOTTY);
	CHECK(SYS(SYS_getpgid, 0, 0, 0, 0, 0, 0) == -ENOTTY);
	ring_make(&r);
	ring_nop(&r);
	_exit(0);
}

/* The application has a SIGSYS handler of its own. */
static void test_sigsys(void)
{
	struct sigaction act = { .sa_flags = SA_SIGINFO }, old;
	struct ksigaction k = { 0 };
	int status;
	pid_t pid;

	act.sa_sigaction = on_sigsys;
	CHECK(!sigaction(SIGSYS, &act, NULL));
	CHECK(!sigaction(SIGSYS, NULL, &old) && old.sa_sigaction == on_sigsys);
	CHECK(SYS(SYS_rt_sigaction, SIGSYS, 0, &k, 8, 0, 0) == 0);
	if (!fixed_filter())
		CHECK(*(void **)&k.handler == *(void **)&old.sa_sigaction);
	kill(getpid(), SIGSYS);
	CHECK(sigsys_seen == 1);
	ring_nop(&sig_ring);
	CHECK(signal(SIGSYS, SIG_IGN) != SIG_ERR);
	kill(getpid(), SIGSYS);
	ring_nop(&sig_ring);
	CHECK(signal(SIGSYS, SIG_DFL) == SIG_IGN);
	pid = fork();
	if (!pid)
		sandbox();
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	pid = fork();
	if (!pid) {
		kill(getpid(), SIGSYS);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

static void test_sigaltstack(void)
{
	static char stack[65536];
	stack_t ss = { stack, 0, sizeof(stack) }, old;

	CHECK(SYS(SYS_sigaltstack, &ss, 0, 0, 0, 0, 0) == 0);
	CHECK(SYS(SYS_sigaltstack, 0, &old, 0, 0, 0, 0) == 0);
	CHECK(old.ss_sp == stack && old.ss_flags == 0);
	sig_seen = 0;
	catch (SIGUSR1, on_alarm_ring, SA_ONSTACK);
	SYS(SYS_kill, getpid(), SIGUSR1, 0, 0, 0, 0);
	CHECK(sig_seen == 1);
	ss.ss_flags = SS_DISABLE;
	CHECK(SYS(SYS_sigaltstack, &ss, 0, 0, 0, 0, 0) == 0);
}

/* ---- threads ---- */

static void *thread_rings(void *arg)
{
	struct ring r;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	ring_make(&r);
	for (int i = 0; i < 50; i++)
		ring_nop(&r);
	ring_free(&r);
	if (arg)
		pthread_exit(arg);
	return NULL;
}

static void *thread_wait(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

static int thread_thrd(void *arg)
{
	thread_rings(NULL);
	return 42;
}

static void test_threads(void)
{
	unsigned long before = count(PASS_SETUP);
	pthread_attr_t attr;
	pthread_t t[4];
	char mark[4];
	sigset_t all;
	thrd_t c11;
	void *ret;
	int code;

	pthread_attr_init(&attr);
	CHECK(!pthread_attr_setstacksize(&attr, 16384));
	sigfillset(&all);
	pthread_attr_setsigmask_np(&attr, &all);
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], i & 1 ? &attr : NULL, thread_rings,
				      &mark[i]));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(t[i], &ret) && ret == &mark[i]);
	CHECK(thrd_create(&c11, thread_thrd, NULL) == thrd_success);
	CHECK(thrd_join(c11, &code) == thrd_success && code == 42);
	CHECK(!pthread_create(&t[0], NULL, thread_wait, NULL));
	CHECK(!pthread_cancel(t[0]));
	CHECK(!pthread_join(t[0], &ret) && ret == PTHREAD_CANCELED);
	pthread_attr_destroy(&attr);
	if (under_preload())
		CHECK(count(PASS_SETUP) - before == 5);
}

/* ---- processes ---- */

static void reaped(pid_t pid)
{
	int status = -1;

	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (status)
		dprintf(2, "status %x\n", status);
	CHECK(status == 0);
}

static void child_rings(void)
{
	unsigned long before = count(PASS_SETUP);
	struct ring r;

	ring_make(&r);
	ring_nop(&r);
	/* The parent's is the child's as well. */
	ring_nop(&sig_ring);
	ring_free(&r);
	CHECK(count(PASS_SETUP) == before + (unsigned long)under_preload());
	CHECK(count(PASS_FORKS) == (unsigned long)under_preload());
	_exit(0);
}

static void test_forks(void)
{
	unsigned long forks = count(PASS_FORKS);
	pid_t pid;

	pid = fork();
	if (!pid)
		child_rings();
	reaped(pid);
	ring_nop(&sig_ring);
	if (trap_is("seccomp") || getenv("AU_TEST_FALLBACK"))
		return; /* an inline fork is not seen, by design */
	pid = (pid_t)SYS(SYS_fork, 0, 0, 0, 0, 0, 0);
	if (!pid)
		child_rings();
	reaped(pid);
	ring_nop(&sig_ring);
	pid = (pid_t)SYS(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
	if (!pid)
		child_rings();
	reaped(pid);
	ring_nop(&sig_ring);
	CHECK(count(PASS_FORKS) == forks);
}

/* vfork and exec, by hand: the child overwrites the stack below. */
static __attribute__((noinline)) void inline_vfork(char **env)
{
	static char *argv[] = { "true", NULL };
	long pid;

	__asm__ volatile("movl $58, %%eax\n\tsyscall"
			 : "=a"(pid)
			 :
			 : "rcx", "r11", "memory");
	if (!pid) {
		volatile char junk[512];

		memset((char *)junk, 0xa5, sizeof(junk));
		SYS(SYS_close, 100, 0, 0, 0, 0, 0);
		SYS(SYS_execve, "/bin/true", argv, env, 0, 0, 0);
		SYS(SYS_exit_group, 9, 0, 0, 0, 0, 0);
	}
	reaped((pid_t)pid);
}

static volatile int clone_ran;
static char clone_stack[65536] __attribute__((aligned(16)));

/* A bare thread on a stack of its own, which writes a word and ends. */
static void test_clone(void)
{
	unsigned long args[11] = { 0 };
	unsigned long flags = CLONE_VM | CLONE_FS | CLONE_FILES |
			      CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	register volatile int *word __asm__("r12") = &clone_ran;
	char *top = clone_stack + sizeof(clone_stack) - 64;
	long ret;

	for (int i = 0; i < 10; i++) {
		clone_ran = 0;
		__asm__ volatile("xorl %%edx, %%edx\n\t"
				 "xorl %%r10d, %%r10d\n\t"
				 "xorl %%r8d, %%r8d\n\t"
				 "syscall\n\t"
				 "testq %%rax, %%rax\n\t"
				 "jnz 1f\n\t"
				 "movl $7, (%%r12)\n\t"
				 "movl $60, %%eax\n\t"
				 "xorl %%edi, %%edi\n\t"
				 "syscall\n"
				 "1:"
				 : "=a"(ret)
				 : "a"(SYS_clone), "D"(flags), "S"(top),
				   "r"(word)
				 : "rcx", "r11", "rdx", "r8", "r10", "memory");
		CHECK(ret > 0);
		while (clone_ran != 7)
			sched_yield();
		usleep(1000);
		ring_nop(&sig_ring);
	}
	args[0] = flags;
	args[5] = (unsigned long)clone_stack;
	args[6] = sizeof(clone_stack) - 64;
	clone_ran = 0;
	__asm__ volatile("syscall\n\t"
			 "testq %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "movl $8, (%%r12)\n\t"
			 "movl $60, %%eax\n\t"
			 "xorl %%edi, %%edi\n\t"
			 "syscall\n"
			 "1:"
			 : "=a"(ret)
			 : "a"(435L), "D"(args), "S"(64L), "r"(word)
			 : "rcx", "r11", "memory");
	CHECK(ret > 0);
	while (clone_ran != 8)
		sched_yield();
	ring_nop(&sig_ring);
	CHECK(SYS(435, 16, 64, 0, 0, 0, 0) == -EFAULT);
}

static void test_execs(const char *self)
{
	static char *argv[] = { "true", NULL };
	static char *none[] = { NULL };
	char *again[] = { (char *)self, "child", NULL };
	pid_t pid;

	CHECK(!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ));
	reaped(pid);
	CHECK(!posix_spawn(&pid, "/bin/true", NULL, NULL, argv, none));
	reaped(pid);
	CHECK(system("true") == 0);
	for (int i = 0; i < 10; i++) {
		inline_vfork(environ);
		if (!fixed_filter())
			inline_vfork(none);
	}
	pid = vfork();
	if (!pid) {
		execve("/bin/true", argv, none);
		_exit(9);
	}
	reaped(pid);
	/* This program again, its io_uring calls with and without us. */
	CHECK(!posix_spawn(&pid, self, NULL, NULL, again, environ));
	reaped(pid);
	if (!getenv("AU_TEST_REFUSED")) {
		CHECK(!posix_spawn(&pid, self, NULL, NULL, again, none));
		reaped(pid);
	}
	ring_nop(&sig_ring);
}

static void test_descriptors(void)
{
	struct pollfd p = { sig_ring.fd, POLLOUT, 0 };
	unsigned long watched = count(PASS_WATCHED);
	int hid = hidden_fd();

	CHECK(SYS(SYS_poll, &p, 1, 0, 0, 0, 0) == 1);
	CHECK(SYS(SYS_poll, 16, 1, 0, 0, 0, 0) == -EFAULT);
	CHECK(SYS(SYS_close, 600, 0, 0, 0, 0, 0) == -EBADF);
	CHECK(SYS(SYS_dup2, 0, 601, 0, 0, 0, 0) == 601);
	CHECK(SYS(436, 590, 610, 0, 0, 0, 0) == 0);
	CHECK(SYS(SYS_close, 601, 0, 0, 0, 0, 0) == -EBADF);
	if (!under_preload())
		return;
	CHECK(hid >= 0);
	CHECK(SYS(SYS_fcntl, hid, F_GETFD, 0, 0, 0, 0) >= 0);
	if (!fixed_filter()) {
		CHECK(count(PASS_WATCHED) == watched + 1);
		CHECK(SYS(SYS_close, hid, 0, 0, 0, 0, 0) == -EBADF);
		CHECK(SYS(436, hid, hid, 0, 0, 0, 0) == 0);
		CHECK(SYS(SYS_fcntl, hid, F_GETFD, 0, 0, 0, 0) >= 0);
	}
}

/* Under a filter that answers EPERM: the call must reach the engine first. */
static int denied(void)
{
	struct io_uring_params p = { 0 };

	CHECK(under_preload());
	CHECK(SYS(425, 8, &p, 0, 0, 0, 0) == -EPERM);
	CHECK(count(PASS_SETUP) == 1);
	CHECK(syscall(425, 8, &p) == -1 && errno == EPERM);
	CHECK(count(PASS_SETUP) == 2);
	return 0;
}

/* A call with its number and arguments in place, as compilers inline it. */
static __attribute__((noinline)) int enter_in_place(int fd)
{
	register long r10 __asm__("r10") = 0;
	register long r8 __asm__("r8") = 0;
	register long r9 __asm__("r9") = 0;
	int ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(SYS_io_uring_enter), "D"(fd), "S"(0), "d"(0),
			   "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/*
 * AU_TEST_PATCH: 1, sites are patched and io_uring's calls do not trap; 0,
 * every one does. Others trap in any case.
 */
static void test_patched(void)
{
	const char *v = getenv("AU_TEST_PATCH");
	unsigned long traps = count(PASS_TRAPS);
	unsigned long enters = count(PASS_ENTER);
	double kept = (double)traps / 3 + 0.1;
	const unsigned long want = v && *v == '0' ? 200 : 0;

	if (!v || !under_preload())
		return;
	for (int i = 0; i < 100; i++) {
		double d = kept * i; /* in an xmm register across the call */

		CHECK(enter_in_place(-1) == -EBADF);
		CHECK(d == kept * i);
		ring_nop(&sig_ring);
	}
	CHECK(count(PASS_ENTER) - enters == 200);
	CHECK(count(PASS_TRAPS) - traps == want);
	traps = count(PASS_TRAPS);
	CHECK(SYS(SYS_close, -1, 0, 0, 0, 0, 0) == -EBADF);
	if (!fixed_filter())
		CHECK(count(PASS_TRAPS) == traps + 1);
}

int main(int argc, char **argv)
{
	unsigned long enters;

	alarm(20);
	/* Call sites as they come out of the compiler, threads it never saw. */
	if (sanitized() &&
	    (getenv("AU_TEST_PATCH") || getenv("AU_TEST_REFUSED"))) {
		puts("skipped: a sanitizer's code stands between the calls");
		return 77;
	}
	if (argc > 1 && !strcmp(argv[1], "denied"))
		return denied();
	ring_make(&sig_ring);
	enters = count(PASS_ENTER);
	for (int i = 0; i < 100; i++)
		ring_nop(&sig_ring);
	if (under_preload()) {
		CHECK(count(PASS_SETUP) == 1 && count(PASS_MMAP) == 2);
		CHECK(count(PASS_ENTER) - enters == 100);
	}
	if (argc > 1)
		return 0;
	test_patched();
	test_results();
	test_registers(SYS_getppid, getppid());
	test_registers(SYS_close, -EBADF);
	test_registers(SYS_io_uring_enter, -EBADF);
	test_descriptors();
	test_masks();
	test_interrupt();
	test_sigaltstack();
	test_sigsys();
	test_threads();
	test_forks();
	test_clone();
	test_execs(argv[0]);
	ring_free(&sig_ring);
	return 0;
}

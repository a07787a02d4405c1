/* SPDX-License-Identifier: MIT */
#include "sys/syscall.h"

au_syscall_fn au_syscall_gate = syscall;

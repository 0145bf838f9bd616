/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * The registers of a thread's user code, in the record from which user space walks its stack. Needs no map.
 */
#ifndef DWELL_REGISTERS_BPF_H
#define DWELL_REGISTERS_BPF_H

#include "scope.bpf.h"

static __always_inline void set_registers(struct record_registers *record, struct pt_regs *regs)
{
	u64 *to = record->registers;

	record->ip = regs->ip;
	to[0] = regs->ax, to[1] = regs->dx, to[2] = regs->cx, to[3] = regs->bx;
	to[4] = regs->si, to[5] = regs->di, to[6] = regs->bp, to[7] = regs->sp;
	to[8] = regs->r8, to[9] = regs->r9, to[10] = regs->r10, to[11] = regs->r11;
	to[12] = regs->r12, to[13] = regs->r13, to[14] = regs->r14, to[15] = regs->r15;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
 *
 * Names of Unix sockets. Include after checked.bpf.h.
 */
#ifndef DWELL_UNIX_NAME_BPF_H
#define DWELL_UNIX_NAME_BPF_H

#define UNIX_NAME_BYTES 108

/*
 * The name of a Unix socket: its own, else the other end's, since the accepting side has none. Only its length ends an abstract
 * one, and behind that is other memory of the kernel's. Returns its bytes.
 */
static __always_inline u32 read_unix_name(char *name, struct sock *sk)
{
	struct unix_address *address = BPF_CORE_READ((struct unix_sock *)sk, addr);
	u64 bytes;

	if (!address) {
		struct unix_sock *peer = (struct unix_sock *)BPF_CORE_READ((struct unix_sock *)sk, peer);

		address = BPF_CORE_READ(peer, addr);
	}
	if (!address)
		return 0;
	bytes = (u32)(BPF_CORE_READ(address, len) - 2); /* behind the family */
	if (!IS_AT_MOST(bytes, UNIX_NAME_BYTES))
		return 0;
	bpf_probe_read_kernel(name, AT_MOST(bytes, UNIX_NAME_BYTES),
			      (void *)address + bpf_core_field_offset(struct unix_address, name) + 2);
	return bytes;
}

#endif

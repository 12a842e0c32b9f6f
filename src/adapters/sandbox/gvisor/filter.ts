/** CLONE_NEWUSER of clone(2). */
const NEW_USER_NAMESPACE = 0x1000_0000;
/** The part of an argument that the kernel reads as an int. */
const INT = 0xffff_ffff;
const FIRST_PROCESS = 1;
/** F_SETOWN and F_SETOWN_EX of fcntl(2), FIOSETOWN and SIOCSPGRP of ioctl(2): who gets signals of a file. */
const OWNERSHIP: readonly (readonly [string, number])[] = [
  ['fcntl', 8],
  ['fcntl', 15],
  ['ioctl', 0x8901],
  ['ioctl', 0x8902],
];

/**
 * Builds the filter of system calls that gVisor's kernel refuses inside, beyond those that it does not have: user namespaces, in which a program
 * would be root for more of that kernel's code; and tracing, as in other local sandboxes. In the notation of OCI's `linux.seccomp`.
 *
 * @param isWorkspace whether the first process has to be out of reach of the others: gVisor, unlike Linux, delivers all signals to it.
 */
export function buildFilter(isWorkspace: boolean): object {
  return {
    defaultAction: 'SCMP_ACT_ALLOW',
    architectures: process.arch === 'arm64' ? ['SCMP_ARCH_AARCH64'] : ['SCMP_ARCH_X86_64'],
    syscalls: [
      refuse('unshare', 'setns', 'ptrace'),
      refuseWhere('clone', 0, NEW_USER_NAMESPACE, NEW_USER_NAMESPACE),
      // There is no tracer, so this answers ENOSYS: the C library then falls back from clone3, whose flags are in memory where no filter
      // sees them, to clone. Versions that ignore errnoRet would answer EPERM, and no thread could be started.
      { names: ['clone3'], action: 'SCMP_ACT_TRACE' },
      ...(isWorkspace ? protectFirstProcess() : []),
    ],
  };
}

function protectFirstProcess(): readonly object[] {
  const calls = ['kill', 'tkill', 'tgkill', 'rt_sigqueueinfo', 'rt_tgsigqueueinfo', 'prlimit64'];
  return [
    ...calls.map((call) => refuseWhere(call, 0, INT, FIRST_PROCESS)),
    ...OWNERSHIP.map(([call, request]) => refuseWhere(call, 1, INT, request)),
  ];
}

function refuse(...names: readonly string[]): object {
  return { names, action: 'SCMP_ACT_ERRNO' };
}

/** @param index of the argument. @param mask of the bits that are compared. */
function refuseWhere(name: string, index: number, mask: number, value: number): object {
  return { ...refuse(name), args: [{ index, value: mask, valueTwo: value, op: 'SCMP_CMP_MASKED_EQ' }] };
}

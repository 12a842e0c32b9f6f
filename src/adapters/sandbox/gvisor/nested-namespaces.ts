/** CLONE_NEWUSER of clone(2). */
const NEW_USER_NAMESPACE = 0x1000_0000;
/** ENOSYS: the C library then falls back from clone3, whose flags lie in memory where no filter sees them, to clone. */
const NOT_IMPLEMENTED = 38;

/**
 * What gVisor's kernel refuses inside, beyond what it does not have: user namespaces, in which a program would be root to
 * more of that kernel's code. In the notation of OCI's `linux.seccomp`.
 */
export const FILTER = {
  defaultAction: 'SCMP_ACT_ALLOW',
  architectures: process.arch === 'arm64' ? ['SCMP_ARCH_AARCH64'] : ['SCMP_ARCH_X86_64'],
  syscalls: [
    { names: ['unshare', 'setns'], action: 'SCMP_ACT_ERRNO' },
    {
      names: ['clone'],
      action: 'SCMP_ACT_ERRNO',
      args: [{ index: 0, value: NEW_USER_NAMESPACE, valueTwo: NEW_USER_NAMESPACE, op: 'SCMP_CMP_MASKED_EQ' }],
    },
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: NOT_IMPLEMENTED },
  ],
};

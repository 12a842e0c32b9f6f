/** Processors by the names that Node has for them. */
export type Architecture = 'x64' | 'arm64';

export interface RefusedSystemCall {
  readonly name: string;
  /** Its number on each processor; absent where there is none of that name. */
  readonly x64?: number;
  readonly arm64?: number;
  /** Refused only when this holds; always when it is left out. */
  readonly when?: ArgumentCondition;
  /**
   * The error that the program gets: EPERM; ENOSYS, where C libraries then use another call; for sockets, the errors of a kernel without
   * that family or protocol.
   */
  readonly answer: 'EPERM' | 'ENOSYS' | 'EAFNOSUPPORT' | 'EPROTONOSUPPORT';
  readonly reason: string;
}

/**
 * A condition on one argument, counted from 0, of which the kernel reads the lower 32 bits. `hasAny`: it has one of these bits. `isNoneOf`: it is
 * none of these numbers. `isOneOf`: it is one of them.
 */
export type ArgumentCondition = { readonly argument: 0 | 1 | 2 } & (
  { readonly hasAny: number } | { readonly isNoneOf: readonly number[] } | { readonly isOneOf: readonly number[] }
);

/** CLONE_NEWUSER and all other namespaces: each exposes more of the kernel, and none is useful without privileges. */
const NEW_NAMESPACES = 0x7e02_0000;
/** CLONE_PARENT. */
const SIBLING = 0x8000;
/** AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK, by which C libraries query the addresses of the machine. */
const SOCKET_FAMILIES: readonly number[] = [1, 2, 10, 16];
/** The family's default, ICMP, TCP, UDP and ICMPv6. Those of netlink have other meanings, and routes are 0. */
const SOCKET_PROTOCOLS: readonly number[] = [0, 1, 6, 17, 58];
/** F_SETLEASE and F_NOTIFY of fcntl(2). */
const WATCHING_COMMANDS: readonly number[] = [1024, 1026];
/** The argument of C libraries' getrlimit and setrlimit: the process itself. */
const OWN_PROCESS = 0;

const NESTED = 'namespaces inside of namespaces: the usual first step of an attack on the kernel';
const MOUNTS = 'the view of the file system is made once, before the program starts';
const OTHERS = 'no process may read another or take its resources';
const KEYS = 'keyrings belong to users, not to sandboxes';
const PROGRAMS = 'programs that run in the kernel';
const RINGS = 'does what other calls do, without passing this filter';
const MODULES = 'the kernel’s modules belong to the host';
const WATCHES = 'shows which files the host opens, and the number of watchers is limited for the user, not for the sandbox';
const FAMILIES = 'some reach past the network namespace (AF_VSOCK: the hypervisor), others are old code that nothing here needs';
const PROTOCOLS = 'the kernel loads a module for a requested protocol: SCTP, SMC and others are much code that few people review';
const MACHINE = 'the state of the machine belongs to the host';

/**
 * System calls that no program in a local sandbox may make, whatever privileges it has inside. Most of them fail without capabilities anyway; the
 * filter protects where the kernel's own check has a gap.
 *
 * A call may occur here more than once, with several conditions: the first true one decides.
 *
 * Numbers: arch/x86/entry/syscalls/syscall_64.tbl and scripts/syscall.tbl of Linux.
 */
export const REFUSED_SYSTEM_CALLS: readonly RefusedSystemCall[] = [
  { name: 'unshare', x64: 272, arm64: 97, answer: 'EPERM', reason: NESTED },
  { name: 'setns', x64: 308, arm64: 268, answer: 'EPERM', reason: NESTED },
  {
    name: 'clone',
    x64: 56,
    arm64: 220,
    when: { argument: 0, hasAny: NEW_NAMESPACES | SIBLING },
    answer: 'EPERM',
    reason: `${NESTED}; and a sibling instead of a child would be reaped by the zygote, and its time not be counted`,
  },
  {
    name: 'clone3',
    x64: 435,
    arm64: 435,
    answer: 'ENOSYS',
    reason: 'its flags lie in memory, where no filter sees them; C libraries fall back to clone',
  },
  { name: 'mount', x64: 165, arm64: 40, answer: 'EPERM', reason: MOUNTS },
  { name: 'umount2', x64: 166, arm64: 39, answer: 'EPERM', reason: MOUNTS },
  { name: 'pivot_root', x64: 155, arm64: 41, answer: 'EPERM', reason: MOUNTS },
  { name: 'chroot', x64: 161, arm64: 51, answer: 'EPERM', reason: MOUNTS },
  { name: 'open_tree', x64: 428, arm64: 428, answer: 'EPERM', reason: MOUNTS },
  { name: 'move_mount', x64: 429, arm64: 429, answer: 'EPERM', reason: MOUNTS },
  { name: 'fsopen', x64: 430, arm64: 430, answer: 'EPERM', reason: MOUNTS },
  { name: 'fsconfig', x64: 431, arm64: 431, answer: 'EPERM', reason: MOUNTS },
  { name: 'fsmount', x64: 432, arm64: 432, answer: 'EPERM', reason: MOUNTS },
  { name: 'fspick', x64: 433, arm64: 433, answer: 'EPERM', reason: MOUNTS },
  { name: 'mount_setattr', x64: 442, arm64: 442, answer: 'EPERM', reason: MOUNTS },
  { name: 'open_tree_attr', x64: 467, arm64: 467, answer: 'EPERM', reason: MOUNTS },
  { name: 'quotactl', x64: 179, arm64: 60, answer: 'EPERM', reason: MOUNTS },
  { name: 'quotactl_fd', x64: 443, arm64: 443, answer: 'EPERM', reason: MOUNTS },
  { name: 'name_to_handle_at', x64: 303, arm64: 264, answer: 'EPERM', reason: 'a handle names a file whatever is mounted over it' },
  { name: 'open_by_handle_at', x64: 304, arm64: 265, answer: 'EPERM', reason: 'a handle names a file whatever is mounted over it' },
  { name: 'ptrace', x64: 101, arm64: 117, answer: 'EPERM', reason: OTHERS },
  { name: 'process_vm_readv', x64: 310, arm64: 270, answer: 'EPERM', reason: OTHERS },
  { name: 'process_vm_writev', x64: 311, arm64: 271, answer: 'EPERM', reason: OTHERS },
  { name: 'process_madvise', x64: 440, arm64: 440, answer: 'EPERM', reason: OTHERS },
  { name: 'prlimit64', x64: 302, arm64: 261, when: { argument: 0, isNoneOf: [OWN_PROCESS] }, answer: 'EPERM', reason: OTHERS },
  { name: 'kcmp', x64: 312, arm64: 272, answer: 'EPERM', reason: OTHERS },
  { name: 'pidfd_getfd', x64: 438, arm64: 438, answer: 'EPERM', reason: OTHERS },
  { name: 'add_key', x64: 248, arm64: 217, answer: 'EPERM', reason: KEYS },
  { name: 'request_key', x64: 249, arm64: 218, answer: 'EPERM', reason: KEYS },
  { name: 'keyctl', x64: 250, arm64: 219, answer: 'EPERM', reason: KEYS },
  { name: 'bpf', x64: 321, arm64: 280, answer: 'EPERM', reason: PROGRAMS },
  { name: 'perf_event_open', x64: 298, arm64: 241, answer: 'EPERM', reason: 'counters show the activity of the whole machine' },
  {
    name: 'userfaultfd',
    x64: 323,
    arm64: 282,
    answer: 'EPERM',
    reason: 'can stop the kernel in the middle of a copy, which helps to exploit races',
  },
  { name: 'fanotify_init', x64: 300, arm64: 262, answer: 'EPERM', reason: WATCHES },
  { name: 'inotify_init', x64: 253, answer: 'EPERM', reason: WATCHES },
  { name: 'inotify_init1', x64: 294, arm64: 26, answer: 'EPERM', reason: WATCHES },
  { name: 'fcntl', x64: 72, arm64: 25, when: { argument: 1, isOneOf: WATCHING_COMMANDS }, answer: 'EPERM', reason: WATCHES },
  {
    name: 'mq_open',
    x64: 240,
    arm64: 180,
    answer: 'EPERM',
    reason: 'the room in message queues is limited for the user, not for the sandbox',
  },
  { name: 'socket', x64: 41, arm64: 198, when: { argument: 0, isNoneOf: SOCKET_FAMILIES }, answer: 'EAFNOSUPPORT', reason: FAMILIES },
  { name: 'socket', x64: 41, arm64: 198, when: { argument: 2, isNoneOf: SOCKET_PROTOCOLS }, answer: 'EPROTONOSUPPORT', reason: PROTOCOLS },
  { name: 'socketpair', x64: 53, arm64: 199, when: { argument: 0, isNoneOf: SOCKET_FAMILIES }, answer: 'EAFNOSUPPORT', reason: FAMILIES },
  { name: 'io_uring_setup', x64: 425, arm64: 425, answer: 'ENOSYS', reason: RINGS },
  { name: 'io_uring_enter', x64: 426, arm64: 426, answer: 'ENOSYS', reason: RINGS },
  { name: 'io_uring_register', x64: 427, arm64: 427, answer: 'ENOSYS', reason: RINGS },
  { name: 'init_module', x64: 175, arm64: 105, answer: 'EPERM', reason: MODULES },
  { name: 'finit_module', x64: 313, arm64: 273, answer: 'EPERM', reason: MODULES },
  { name: 'delete_module', x64: 176, arm64: 106, answer: 'EPERM', reason: MODULES },
  { name: 'kexec_load', x64: 246, arm64: 104, answer: 'EPERM', reason: MODULES },
  { name: 'kexec_file_load', x64: 320, arm64: 294, answer: 'EPERM', reason: MODULES },
  { name: 'reboot', x64: 169, arm64: 142, answer: 'EPERM', reason: MACHINE },
  { name: 'swapon', x64: 167, arm64: 224, answer: 'EPERM', reason: MACHINE },
  { name: 'swapoff', x64: 168, arm64: 225, answer: 'EPERM', reason: MACHINE },
  { name: 'acct', x64: 163, arm64: 89, answer: 'EPERM', reason: MACHINE },
  { name: 'syslog', x64: 103, arm64: 116, answer: 'EPERM', reason: 'the kernel’s log shows addresses of the kernel' },
  { name: 'settimeofday', x64: 164, arm64: 170, answer: 'EPERM', reason: MACHINE },
  { name: 'clock_settime', x64: 227, arm64: 112, answer: 'EPERM', reason: MACHINE },
  { name: 'adjtimex', x64: 159, arm64: 171, answer: 'EPERM', reason: MACHINE },
  { name: 'clock_adjtime', x64: 305, arm64: 266, answer: 'EPERM', reason: MACHINE },
  { name: 'sethostname', x64: 170, arm64: 161, answer: 'EPERM', reason: MACHINE },
  { name: 'setdomainname', x64: 171, arm64: 162, answer: 'EPERM', reason: MACHINE },
  { name: 'ioperm', x64: 173, answer: 'EPERM', reason: MACHINE },
  { name: 'iopl', x64: 172, answer: 'EPERM', reason: MACHINE },
  { name: 'modify_ldt', x64: 154, answer: 'EPERM', reason: '16-bit segments: old code of the kernel that nothing here needs' },
  { name: 'move_pages', x64: 279, arm64: 239, answer: 'EPERM', reason: OTHERS },
  { name: 'migrate_pages', x64: 256, arm64: 238, answer: 'EPERM', reason: OTHERS },
];

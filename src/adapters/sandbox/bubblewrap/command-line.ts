import type { SandboxLimits, SandboxTemplate } from '../../../pool/template.ts';
import { INBOX } from '../upload-path.ts';
import { ENVIRONMENT, INSIDE_UID, SYNTHESISED_FILES } from '../local/inside-identity.ts';
import { systemFiles, type SystemView } from '../local/system-view.ts';
import { writableSizes } from '../local/writable-space.ts';

const NAMESPACES = ['--unshare-all', '--unshare-user', '--uid', `${INSIDE_UID}`, '--gid', `${INSIDE_UID}`, '--hostname', 'sandbox'];
/** `--new-session` keeps the program from typing into a terminal that Muster has. */
const PRIVILEGES = ['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--disable-userns'];
const WARDEN_NAMESPACES = [
  '--unshare-user',
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--uid',
  '0',
  '--gid',
  '0',
  '--hostname',
  'zygote',
];
/** Where the warden sees the directories of its sandboxes, and the socket to Muster: in its own /tmp, which programs do not see. */
const SITES = '/tmp/muster-sites';
/**
 * /proc is read-only because a program that root started is still root to /proc/sys and /proc/sysrq-trigger, which ask for
 * the user and not for a capability. / and /dev are read-only because bubblewrap's own tmpfs has no size limit.
 */
const SEALS = ['--remount-ro', '/dev', '--remount-ro', '/'];

/** The host's system directories as mounts: links where the host has links. */
export function systemArguments({ mounts, links }: SystemView): readonly string[] {
  return [
    ...mounts.flatMap(({ source, target }) => ['--ro-bind', source, target]),
    ...links.flatMap(({ at, to }) => ['--symlink', to, at]),
  ];
}

export interface SandboxView {
  readonly system: readonly string[];
  /** Host directory that holds the synthesised files. */
  readonly etc: string;
  /** Host directory that is the sandbox's inbox. */
  readonly inbox: string;
}

/** Where bubblewrap reads the arguments that its command line does not show. */
export const ARGUMENTS_DESCRIPTOR = 4;
/** Where it reads the system-call filter. */
export const FILTER_DESCRIPTOR = 5;

/** bubblewrap's arguments, up to the program: what anyone may read in the process table. */
export function bubblewrapArguments(template: SandboxTemplate, view: SandboxView): readonly string[] {
  return [
    ...NAMESPACES,
    ...(template.network === 'host' ? ['--share-net'] : []),
    ...PRIVILEGES,
    '--seccomp',
    `${FILTER_DESCRIPTOR}`,
    ...fileArguments(template, view),
    '--ro-bind',
    view.inbox,
    INBOX,
    ...mountArguments(template),
    ...SEALS,
    '--remount-ro',
    '/proc',
    '--chdir',
    '/tmp',
    '--',
  ];
}

/**
 * The same for the warden, which makes sandboxes of what it sees. It has the user namespace to itself, with every capability in it,
 * and is root there: only root may mount terminals. It stays in Muster's cgroup namespace, where it moves processes between groups.
 *
 * @param view `inbox` has what it loads for all its sandboxes, at the paths that it will have in each.
 * @param sites host directory that has those of all its sandboxes.
 */
export function wardenArguments(template: SandboxTemplate, view: SandboxView, sites: string): readonly string[] {
  return [
    ...WARDEN_NAMESPACES,
    ...(template.network === 'host' ? [] : ['--unshare-net']),
    '--die-with-parent',
    '--new-session',
    '--cap-add',
    'ALL',
    ...fileArguments(template, view),
    '--ro-bind',
    view.inbox,
    INBOX,
    '--ro-bind',
    sites,
    SITES,
    ...mountArguments(template),
    ...SEALS,
    '--chdir',
    '/',
    '--',
  ];
}

/** What a warden is given, and no more, to try whether this machine lets it do its work. */
export function wardenTrialArguments(system: readonly string[]): readonly string[] {
  return [...WARDEN_NAMESPACES, '--unshare-net', '--cap-add', 'ALL', ...system, '--proc', '/proc', '--dev', '/dev', '--dir', '/tmp'];
}

/** The system, and what is made for each sandbox. */
function fileArguments(template: SandboxTemplate, view: SandboxView): readonly string[] {
  return [
    '--args',
    `${ARGUMENTS_DESCRIPTOR}`,
    ...view.system,
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    ...writableArguments(template.limits),
    ...readable('--ro-bind-try', systemFiles(template.network)),
    ...Object.keys(SYNTHESISED_FILES).flatMap((name) => ['--ro-bind', `${view.etc}/${name}`, `/etc/${name}`]),
  ];
}

function mountArguments({ mounts }: SandboxTemplate): readonly string[] {
  return mounts.flatMap(({ source, target }) => ['--ro-bind', source, target]);
}

/** Further arguments, which are kept from the process table: variables hold keys and passwords. */
export function environmentArguments(environment: SandboxTemplate['environment']): readonly string[] {
  return ['--clearenv', ...Object.entries({ ...ENVIRONMENT, ...environment }).flatMap(([name, value]) => ['--setenv', name, value])];
}

function writableArguments(limits: SandboxLimits): readonly string[] {
  const { tmpBytes, sharedBytes } = writableSizes(limits);
  return [...tmpfs('/dev/shm', sharedBytes), ...tmpfs('/tmp', tmpBytes)];
}

function tmpfs(target: string, bytes: number): readonly string[] {
  return ['--perms', '1777', '--size', String(bytes), '--tmpfs', target];
}

function readable(option: string, paths: readonly string[]): readonly string[] {
  return paths.flatMap((path) => [option, path, path]);
}

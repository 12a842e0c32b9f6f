import type { SandboxTemplate } from '../../../../pool/ports/template.ts';
import { INBOX } from '../../upload-path.ts';
import { ENVIRONMENT, INSIDE_UID, SYNTHESISED_FILES } from '../../local/host/inside-identity.ts';
import { listSystemFiles, type SystemView } from '../../local/template/system-view.ts';
import { divideWritableSpace } from '../../local/template/writable-space.ts';

/** The namespaces besides a user namespace and that of the network. */
const NAMESPACES = ['--unshare-pid', '--unshare-ipc', '--unshare-uts'];
/** `--new-session` keeps the program from typing into Muster's terminal. The launcher is the first process, not bubblewrap. */
const PRIVILEGES = ['--die-with-parent', '--as-pid-1', '--new-session', '--cap-drop', 'ALL'];
/** The capabilities that it takes to become another user and to drop all of them. */
const BECOMING = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'];
/**
 * The directory in which the warden sees the directories of its sandboxes, and the socket to Muster. It is in the warden's own /tmp, which programs
 * do not see.
 */
const SITES = '/tmp/muster-sites';
/**
 * /proc is read-only because a program that root started is still root for /proc/sys and /proc/sysrq-trigger, which check the user and not a
 * capability. / and /dev are read-only because bubblewrap's own tmpfs has no size limit.
 */
const SEALS = ['--remount-ro', '/dev', '--remount-ro', '/'];

/** Builds the mounts of the host's system directories, and links where the host has links. */
export function buildSystemArguments({ mounts, links }: SystemView): readonly string[] {
  return [
    ...mounts.flatMap(({ source, target }) => bindWithDirectories(source, target)),
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

/** Bubblewrap reads from here the arguments that its command line does not show. */
export const ARGUMENTS_DESCRIPTOR = 4;
/** Bubblewrap reads the system-call filter from here. */
export const FILTER_DESCRIPTOR = 5;
/** Bubblewrap finds the user namespace here, when root has made one. */
export const NAMESPACE_DESCRIPTOR = 6;

/**
 * Builds bubblewrap's arguments, up to the program: those that every user may read in the process table.
 *
 * @param setpriv path of setpriv(1), where root makes the sandbox: it is root in a user namespace that is there already, until the first process
 * becomes the user of the program.
 */
export function buildBubblewrapArguments(template: SandboxTemplate, view: SandboxView, setpriv: string | undefined): readonly string[] {
  return [
    ...buildIsolationArguments(setpriv),
    ...(template.network === 'host' ? [] : ['--unshare-net']),
    '--seccomp',
    `${FILTER_DESCRIPTOR}`,
    ...buildFileArguments(template, view),
    ...bindWithDirectories(view.inbox, INBOX),
    ...buildMountArguments(template),
    ...buildWorkspaceArguments(template),
    ...SEALS,
    '--remount-ro',
    '/proc',
    '--chdir',
    '/tmp',
    '--',
    // The first process of a workspace becomes that user by itself: its file system need not have the program for it.
    ...(setpriv === undefined || template.workspace ? [] : buildUserChange(setpriv)),
  ];
}

/** Builds the arguments for namespaces, host name and privileges. The caller adds the network's namespace. */
function buildIsolationArguments(setpriv: string | undefined): readonly string[] {
  return [
    ...(setpriv === undefined ? buildUserArguments(INSIDE_UID) : buildUserArguments(0, NAMESPACE_DESCRIPTOR)),
    ...NAMESPACES,
    '--unshare-cgroup-try',
    '--hostname',
    'sandbox',
    ...PRIVILEGES,
    ...(setpriv === undefined ? ['--disable-userns'] : BECOMING.flatMap((capability) => ['--cap-add', capability])),
  ];
}

/** @param namespace descriptor of one that has that user; otherwise a new one is made, in which the caller has this number. */
function buildUserArguments(uid: number, namespace?: number): readonly string[] {
  return [...(namespace === undefined ? ['--unshare-user'] : ['--userns', `${namespace}`]), '--uid', `${uid}`, '--gid', `${uid}`];
}

/** A process that becomes another user no longer dies with bubblewrap, unless it requests that again. */
function buildUserChange(setpriv: string): readonly string[] {
  const user = [`--reuid=${INSIDE_UID}`, `--regid=${INSIDE_UID}`, '--clear-groups'];
  return [setpriv, ...user, '--inh-caps=-all', '--bounding-set=-all', '--pdeathsig=KILL', '--'];
}

/**
 * Builds the arguments for the warden, which makes sandboxes from what it sees. It has its own user namespace, with every capability in it, and is
 * root there: only root may mount terminals. It stays in Muster's cgroup namespace, where it moves processes between groups.
 *
 * @param view `inbox` has what it loads for all its sandboxes, at the paths that it will have in each. @param sites host directory with those of all
 * its sandboxes. @param namespace descriptor of its user namespace, where one has been made for it.
 */
export function buildWardenArguments(template: SandboxTemplate, view: SandboxView, sites: string, namespace?: number): readonly string[] {
  return [
    ...buildNamespaceArguments(namespace),
    ...(template.network === 'host' ? [] : ['--unshare-net']),
    '--die-with-parent',
    '--new-session',
    '--cap-add',
    'ALL',
    ...buildFileArguments(template, view),
    ...bindWithDirectories(view.inbox, INBOX),
    ...bindWithDirectories(sites, SITES),
    ...buildMountArguments(template),
    ...buildWorkspaceArguments(template),
    ...SEALS,
    '--chdir',
    '/',
    '--',
  ];
}

function buildNamespaceArguments(namespace: number | undefined): readonly string[] {
  return [...buildUserArguments(0, namespace), ...NAMESPACES, '--hostname', 'zygote'];
}

/** Builds the isolation of a plain sandbox, to try whether this machine allows it; the program follows. */
export function buildSandboxTrialArguments(system: readonly string[], setpriv: string | undefined): readonly string[] {
  const view = [...system, '--proc', '/proc', '--dev', '/dev', '--remount-ro', '/proc'];
  return [...buildIsolationArguments(setpriv), '--unshare-net', ...view, '--', ...(setpriv === undefined ? [] : buildUserChange(setpriv))];
}

/** Builds exactly the arguments of a warden, to try whether this machine allows its work. */
export function buildWardenTrialArguments(system: readonly string[], namespace?: number): readonly string[] {
  return [
    ...buildNamespaceArguments(namespace),
    '--unshare-net',
    '--cap-add',
    'ALL',
    ...system,
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    '--dir',
    '/tmp',
  ];
}

/** Builds the mounts of the system, and of what is made for each sandbox. */
function buildFileArguments(template: SandboxTemplate, view: SandboxView): readonly string[] {
  return [
    '--args',
    `${ARGUMENTS_DESCRIPTOR}`,
    ...view.system,
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    ...buildWritableArguments(template),
    ...(template.workspace?.root === undefined ? buildConfigurationArguments(template, view) : []),
  ];
}

/** Builds the arguments for files in /etc. Another root file system has its own. */
function buildConfigurationArguments({ network }: SandboxTemplate, { etc }: SandboxView): readonly string[] {
  return [
    ...listSystemFiles(network).flatMap((file) => bindWithDirectories(file, file, '--ro-bind-try')),
    ...Object.keys(SYNTHESISED_FILES).flatMap((name) => bindWithDirectories(`${etc}/${name}`, `/etc/${name}`)),
  ];
}

function buildMountArguments({ mounts }: SandboxTemplate): readonly string[] {
  return mounts.flatMap(({ source, target }) => bindWithDirectories(source, target));
}

/** Builds further arguments, which are kept out of the process table: variables hold keys and passwords. */
export function buildEnvironmentArguments(environment: SandboxTemplate['environment']): readonly string[] {
  return ['--clearenv', ...Object.entries({ ...ENVIRONMENT, ...environment }).flatMap(([name, value]) => ['--setenv', name, value])];
}

function buildWritableArguments(template: SandboxTemplate): readonly string[] {
  const { tmpBytes, sharedBytes } = divideWritableSpace(template.limits, 1 + (template.workspace?.writable.length ?? 0));
  return [...formatTmpfs('/dev/shm', sharedBytes), ...formatTmpfs('/tmp', tmpBytes)];
}

function buildWorkspaceArguments({ workspace, limits }: SandboxTemplate): readonly string[] {
  if (!workspace) return [];
  const { tmpBytes } = divideWritableSpace(limits, 1 + workspace.writable.length);
  return workspace.writable.flatMap((directory) => [...listParentDirectories(directory), ...formatTmpfs(directory, tmpBytes)]);
}

export function formatTmpfs(target: string, bytes: number): readonly string[] {
  return ['--perms', '1777', '--size', String(bytes), '--tmpfs', target];
}

/** Builds mounts in directories that every user may enter. Only its own user may enter those that bubblewrap makes by itself. */
export function bindWithDirectories(
  source: string,
  target: string,
  option: '--ro-bind' | '--ro-bind-try' = '--ro-bind',
): readonly string[] {
  return [...listParentDirectories(target), option, source, target];
}

/** Makes the directories that it is in. */
export function listParentDirectories(target: string): readonly string[] {
  const names = target.split('/').slice(1, -1);
  const directories = names.map((_, i) => `/${names.slice(0, i + 1).join('/')}`);
  return directories.flatMap((directory) => ['--perms', '0755', '--dir', directory]);
}

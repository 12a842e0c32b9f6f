import { randomInt } from 'node:crypto';
import type { SandboxTemplate } from '../../../pool/ports/template.ts';
import { bindWithDirectories, formatTmpfs, listParentDirectories, buildEnvironmentArguments } from '../bubblewrap/command/command-line.ts';
import { buildSystemCallFilter } from '../local/program/system-call-filter.ts';
import { divideWritableSpace } from '../local/template/writable-space.ts';
import { INBOX } from '../upload-path.ts';
import { BROUGHT, getBroughtPath } from './brought-mounts.ts';

/** The kernel counts processes by user, so each sandbox has one of its own. No image has users with these numbers. */
const FIRST_USER = 0x7100_0000;
const USERS = 2 ** 20;
/** The capabilities that it takes to become another user and to drop all of them. */
const BECOMING = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'].flatMap((capability) => ['--cap-add', capability]);
/** Bubblewrap reads the system-call filter from here. */
const FILTER_DESCRIPTOR = 5;
const FILTERS = (['x64', 'arm64'] as const).map((architecture) => Buffer.from(buildSystemCallFilter(architecture)).toString('base64'));
/** Run as root, before the walls are up. Arguments: the user's number, the filters of both processors, then the command. */
const PREPARE = `set -e; umask 022; mkdir -p ${INBOX} ${BROUGHT}; cd ${BROUGHT}
printf 'root:x:0:0:root:/root:/bin/sh\\nsandbox:x:%s:%s:sandbox:/tmp:/bin/sh\\n' "$1" "$1" >passwd; printf 'root:x:0:\\nsandbox:x:%s:\\n' "$1" >group
case $(uname -m) in x86_64) filter=$2;; aarch64) filter=$3;; *) echo "no system-call filter for $(uname -m)" >&2; exit 1;; esac
printf %s "$filter" | base64 -d >filter; exec ${FILTER_DESCRIPTOR}<filter; cd /; shift 3; exec "$@"`;

export function chooseUser(): number {
  return FIRST_USER + randomInt(USERS);
}

/**
 * Builds the command that runs the template's program on a machine or in a privileged container of its own. A step of a build has a network, the
 * metadata server, which hands out tokens of the service account, and the socket of its machine's Docker; a machine at E2B has its daemon. The
 * program gets none of it: bubblewrap gives it a network of its own without any way out, and the visible directories of the image.
 *
 * @param visible directories of the image, where the image has them.
 */
export function buildWalls(template: SandboxTemplate, visible: readonly string[], user: number): readonly string[] {
  const { limits, workspace, command } = template;
  const bounds = ['prlimit', `--nproc=${limits.processes}`, `--data=${limits.memoryBytes}`];
  // The first process of a workspace becomes the user by itself.
  const program = workspace ? [...bounds, ...command, '--user', String(user)] : [...bounds, ...buildUserChange(user), ...command];
  const walls = [
    'bwrap',
    ...buildIsolation(workspace !== undefined),
    ...buildEnvironmentArguments(template.environment),
    ...buildFiles(template, visible),
    '--chdir',
    '/tmp',
    '--',
  ];
  return ['/bin/sh', '-c', PREPARE, 'muster-walls', String(user), ...FILTERS, ...walls, ...program];
}

/** @param isFirst whether the program becomes the first process, which gets no signal from within; otherwise bubblewrap's own is. */
function buildIsolation(isFirst: boolean): readonly string[] {
  const namespaces = ['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-net', '--unshare-cgroup-try', '--hostname', 'sandbox'];
  const first = isFirst ? ['--as-pid-1'] : [];
  const privileges = ['--die-with-parent', ...first, '--new-session', '--cap-drop', 'ALL', ...BECOMING];
  return [...namespaces, ...privileges, '--seccomp', String(FILTER_DESCRIPTOR)];
}

function buildUserChange(user: number): readonly string[] {
  const identity = [`--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
  return ['setpriv', ...identity, '--inh-caps=-all', '--bounding-set=-all', '--no-new-privs', '--pdeathsig=KILL', '--'];
}

/** / and /dev are read-only in the end because bubblewrap's own tmpfs has no size limit. */
function buildFiles(template: SandboxTemplate, visible: readonly string[]): readonly string[] {
  const { limits, workspace, mounts } = template;
  const writable = workspace?.writable ?? [];
  const { tmpBytes, sharedBytes } = divideWritableSpace(limits, 1 + writable.length);
  return [
    ...visible.flatMap((place) => bindWithDirectories(place, place, '--ro-bind-try')),
    ...['passwd', 'group'].flatMap((name) => ['--ro-bind', `${BROUGHT}/${name}`, `/etc/${name}`]),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    ...formatTmpfs('/dev/shm', sharedBytes),
    ...['/tmp', ...writable].flatMap((place) => listParentDirectories(place).concat(formatTmpfs(place, tmpBytes))),
    ...mounts.flatMap(({ target }, i) => bindWithDirectories(getBroughtPath(i), target)),
    ...bindWithDirectories(INBOX, INBOX),
    ...['/dev', '/', '/proc'].flatMap((place) => ['--remount-ro', place]),
  ];
}

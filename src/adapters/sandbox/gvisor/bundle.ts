import path from 'node:path';
import { mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { Mount, SandboxLimits, SandboxTemplate } from '../../../pool/ports/template.ts';
import { ignoreMissing } from '../../../kernel/errno.ts';
import { ENVIRONMENT, INSIDE_UID, SYNTHESISED_FILES } from '../local/host/inside-identity.ts';
import { OPEN_FILES } from '../local/host/open-files.ts';
import { listSystemFiles, type SystemView } from '../local/template/system-view.ts';
import { divideWritableSpace } from '../local/template/writable-space.ts';
import { INBOX } from '../upload-path.ts';
import { buildFilter } from './filter.ts';

export interface BundlePlan {
  readonly template: SandboxTemplate;
  readonly system: SystemView;
  /** Host directory that is the sandbox's inbox. */
  readonly inbox: string;
  /** Whether each process is held to the memory limit, for want of a control group. */
  readonly memoryByProcess: boolean;
}

/**
 * The command that runs inside: one byte reports that the sandbox is ready, then the shell becomes the program. A missing program is exit code 127.
 * The first process of a workspace reports by itself, and its root file system need not have a shell.
 */
const START = ['/bin/sh', '-c', 'printf +; exec "$@"', 'muster-start'];

/** Writes an OCI bundle (https://github.com/opencontainers/runtime-spec/blob/main/bundle.md) into a directory that no other user can read. */
export async function writeBundle(directory: string, plan: BundlePlan): Promise<void> {
  const root = path.join(directory, 'root');
  const mounts = await listHostMounts(plan);
  await mkdir(root);
  // The mount points exist beforehand, because runsc must have no reason to write to the host's files.
  const { writable = [] } = plan.template.workspace ?? {};
  for (const target of ['/proc', '/sys', '/dev', '/tmp', '/etc', ...writable]) await mkdir(path.join(root, target), { recursive: true });
  for (const { source, target } of mounts) await makeMountPoint(source, path.join(root, target));
  for (const { at, to } of plan.system.links) await symlink(to, path.join(root, at));
  if (!hasOwnRoot(plan.template))
    for (const [name, text] of Object.entries(SYNTHESISED_FILES)) await writeFile(path.join(root, 'etc', name), text);
  await writeFile(path.join(directory, 'config.json'), JSON.stringify(buildConfiguration(root, mounts, plan)), { mode: 0o600 });
}

/** A root file system other than the host's has files of its own in /etc. */
function hasOwnRoot({ workspace }: SandboxTemplate): boolean {
  return workspace?.root !== undefined;
}

async function listHostMounts({ template, system, inbox }: BundlePlan): Promise<readonly Mount[]> {
  const found: Mount[] = [];
  for (const file of hasOwnRoot(template) ? [] : listSystemFiles(template.network))
    if (await stat(file).catch(ignoreMissing)) found.push({ source: file, target: file });
  return [...system.mounts, ...found, { source: inbox, target: INBOX }, ...template.mounts];
}

/** A mount point below another mount cannot be made there, and has to exist. */
async function makeMountPoint(source: string, target: string): Promise<void> {
  const found = await stat(source).catch(ignoreMissing);
  if (!found) throw new InfrastructureError('sandbox.start', `a mount of the template cannot be made: ${source} does not exist`);
  if (found.isDirectory()) return void (await mkdir(target, { recursive: true }));
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, '');
}

/** Builds the configuration in the format of https://github.com/opencontainers/runtime-spec/blob/main/config.md, as far as runsc uses it. */
function buildConfiguration(root: string, mounts: readonly Mount[], { template, memoryByProcess }: BundlePlan): object {
  const { limits, environment, command, network, workspace } = template;
  return {
    ociVersion: '1.0.2',
    hostname: 'sandbox',
    root: { path: root, readonly: true },
    process: {
      user: { uid: INSIDE_UID, gid: INSIDE_UID },
      args: [...(workspace ? [] : START), ...command],
      env: Object.entries({ ...ENVIRONMENT, ...environment }).map(([name, value]) => `${name}=${value}`),
      cwd: '/tmp',
      noNewPrivileges: true,
      capabilities: { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] },
      rlimits: listRlimits(limits, memoryByProcess),
    },
    mounts: [...listKernelMounts(template), ...mounts.map(({ source, target }) => bind(source, target)), ...listWritableMounts(template)],
    linux: {
      namespaces: ['pid', 'ipc', 'uts', 'mount', ...(network === 'host' ? [] : ['network'])].map((type) => ({ type })),
      seccomp: buildFilter(workspace !== undefined),
    },
  };
}

/** Lists limits that gVisor's own kernel enforces; it counts processes and threads by user, and everything inside is one user. */
function listRlimits(limits: SandboxLimits, memoryByProcess: boolean): readonly object[] {
  const all: readonly (readonly [string, number])[] = [
    ['RLIMIT_NPROC', limits.processes],
    ['RLIMIT_NOFILE', OPEN_FILES],
    ['RLIMIT_FSIZE', limits.diskBytes],
    ['RLIMIT_CORE', 0],
    ...(memoryByProcess ? [['RLIMIT_AS', limits.memoryBytes] as const] : []),
  ];
  return all.map(([type, value]) => ({ type, hard: value, soft: value }));
}

/**
 * Lists mounts that gVisor itself provides; none is the host's. Without a /sys gVisor mounts its own, which reveals the host's processors: an empty
 * one replaces it. /dev belongs to root inside, which no process inside runs as; if it were read-only, older versions would not let a shell write to
 * /dev/null.
 */
function listKernelMounts(template: SandboxTemplate): readonly object[] {
  const { tmpBytes, sharedBytes } = divideSpace(template);
  return [
    { destination: '/proc', type: 'proc', source: 'proc', options: ['ro'] },
    formatTmpfs('/sys', 'ro', 'mode=0555', 'size=4096'),
    formatTmpfs('/dev', 'mode=0755'),
    formatTmpfs('/dev/shm', 'mode=1777', `size=${sharedBytes}`),
    formatTmpfs('/tmp', 'mode=1777', `size=${tmpBytes}`),
  ];
}

/** Lists the mounts that cover the root file system's own files at their paths. */
function listWritableMounts(template: SandboxTemplate): readonly object[] {
  const { tmpBytes } = divideSpace(template);
  return (template.workspace?.writable ?? []).map((directory) => formatTmpfs(directory, 'mode=1777', `size=${tmpBytes}`));
}

function divideSpace({ limits, workspace }: SandboxTemplate): ReturnType<typeof divideWritableSpace> {
  return divideWritableSpace(limits, 1 + (workspace?.writable.length ?? 0));
}

const formatTmpfs = (destination: string, ...options: readonly string[]): object => ({
  destination,
  type: 'tmpfs',
  source: 'tmpfs',
  options,
});

const bind = (source: string, destination: string): object => ({ destination, type: 'bind', source, options: ['rbind', 'ro'] });

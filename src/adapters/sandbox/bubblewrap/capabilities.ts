import { type FileHandle, readFile } from 'node:fs/promises';
import { getMessage } from '../../../kernel/errors.ts';
import type { LimitEnforcement } from '../../../pool/ports/template.ts';
import { type CgroupFiles, kernelCgroupFiles } from '../local/cgroups/cgroup-files.ts';
import type { CgroupLayout } from '../local/cgroups/cgroup-layout.ts';
import { describeCgroups, detectWanted } from '../local/cgroups/cgroups-here.ts';
import { describeGroupEnforcement, describeEnforcedLimits, type EnforcedLimits } from '../local/cgroups/enforced-limits.ts';
import { findProgram } from '../local/host/find-program.ts';
import type { Finding } from '../finding.ts';
import { readSystemView } from '../local/template/system-view.ts';
import { LATE_REMEDY, runTrial, type TrialEnd } from '../local/trial.ts';
import {
  NAMESPACE_DESCRIPTOR,
  buildSandboxTrialArguments,
  buildSystemArguments,
  buildWardenTrialArguments,
} from './command/command-line.ts';
import { isNeeded, openOwnUser, OUTSIDE_UID, type OwnUser, getPath } from './command/own-user.ts';

/** What this machine can do for local sandboxes, and the remedy for the rest. */
export interface Capabilities {
  /** The program, at least of version 0.8. */
  readonly bubblewrap: Finding;
  /** Whether this user may make the namespaces: found by making a sandbox, not by reading settings. */
  readonly namespaces: Finding;
  /** Whether a process in a sandbox may make sandboxes of its own: tried by making one. */
  readonly forking: Finding;
  /** What was not found out, because the trial had not ended in time. It may be otherwise when the machine has less to do. */
  readonly late: string | undefined;
  /** Whether the limits of a whole process tree can be enforced. */
  readonly cgroups: Finding;
  readonly layout: CgroupLayout | undefined;
  readonly limits: EnforcedLimits;
}

export interface ProbeOptions {
  /** Looked up in PATH unless it is a path. */
  readonly bwrapPath: string;
  /** `none`: do as if there were no control groups. */
  readonly cgroups: 'detect' | 'none';
  readonly files?: CgroupFiles;
  /** Milliseconds for each trial of a sandbox. */
  readonly trialMs?: number | undefined;
}

/** The first version with `--disable-userns`; `--size` came before it. */
const VERSION_MIN = [0, 8] as const;
/** The first kernel that counts processes by user namespace, so that one sandbox does not use up another's limit. */
const KERNEL_COUNTS_BY_NAMESPACE = [5, 14] as const;

const INSTALL = 'install bubblewrap 0.8 or newer (Debian, Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap)';

export async function probeCapabilities(options: ProbeOptions): Promise<Capabilities> {
  const bubblewrap = await probeVersion(options.bwrapPath);
  await using user = bubblewrap.state === 'available' ? await probeUser() : undefined;
  const namespaces: Tried = user ? await probeNamespaces(options, user) : bubblewrap;
  const forking: Tried = user && namespaces.state === 'available' ? await probeForking(options, user) : namespaces;
  const late = [namespaces, forking].find(({ isLate }) => isLate === true)?.detail;
  const detection = await detectWanted(options.cgroups, options.files ?? kernelCgroupFiles);
  const { layout } = detection;
  const limits = describeEnforcedLimits(layout, describeGroupEnforcement(layout, 'processes') ?? (await describeProcessesByUser()));
  return { bubblewrap, namespaces, forking, late, cgroups: describeCgroups(detection), layout, limits };
}

async function probeVersion(bwrapPath: string): Promise<Finding> {
  const found = await findProgram(bwrapPath);
  if (!found) return { state: 'missing', detail: `${bwrapPath} is not installed`, remedy: INSTALL };
  const { output } = await runTrial(found, ['--version']);
  const version = /(\d+)\.(\d+)(\.\d+)*/.exec(output);
  if (version && isAtLeast([Number(version[1]), Number(version[2])], VERSION_MIN))
    return { state: 'available', detail: `${found} ${version[0]}` };
  return { state: 'missing', detail: `${found} is too old: "${output.trim()}"`, remedy: INSTALL };
}

type Tried = Finding & { readonly isLate?: boolean };

/** The user of sandboxes on trial: root's sandboxes have another user on the host. */
interface TrialUser extends AsyncDisposable {
  readonly own?: OwnUser;
  /** Why there is no user for them. */
  readonly problem?: string;
}

async function probeUser(): Promise<TrialUser> {
  try {
    const own = (await isNeeded()) ? await openOwnUser() : undefined;
    return { ...(own && { own }), [Symbol.asyncDispose]: async () => own?.[Symbol.asyncDispose]() };
  } catch (error) {
    return { problem: getMessage(error), [Symbol.asyncDispose]: () => Promise.resolve() };
  }
}

async function probeNamespaces(options: ProbeOptions, { own, problem }: TrialUser): Promise<Tried> {
  if (problem !== undefined) return { state: 'missing', detail: problem, remedy: await describeNamespaceRemedy() };
  const { code, output, isLate } = await trySandbox(options, own);
  const user = own ? `, whose user and group on the host are ${OUTSIDE_UID}` : '';
  if (code === 0) return { state: 'available', detail: `a sandbox could be made${user}` };
  const detail = `a trial sandbox failed (exit code ${code}): ${output.trim().slice(0, 500)}`;
  return { state: 'missing', detail, remedy: isLate ? LATE_REMEDY : await describeNamespaceRemedy(), isLate };
}

/** The exit code is -1 where the sandbox's user namespace could not be made. */
async function trySandbox(options: ProbeOptions, own: OwnUser | undefined): Promise<TrialEnd> {
  const isolation = buildSandboxTrialArguments(buildSystemArguments(await readSystemView()), own?.setpriv);
  try {
    await using namespace = await own?.openPlain();
    return await tryBubblewrap(options, namespace, [...isolation, '/bin/sh', '-c', ':']);
  } catch (error) {
    return { code: -1, output: getMessage(error), isLate: false };
  }
}

/** Gives bubblewrap the namespace where a launcher does. */
async function tryBubblewrap(
  { bwrapPath, trialMs }: ProbeOptions,
  namespace: FileHandle | undefined,
  argv: readonly string[],
): Promise<TrialEnd> {
  const found = (await findProgram(bwrapPath)) ?? bwrapPath;
  if (!namespace) return runTrial(found, argv, trialMs);
  const script = `exec ${NAMESPACE_DESCRIPTOR}<"$1"; shift; exec "$@"`;
  return runTrial('/bin/sh', ['-c', script, 'muster-trial', getPath(namespace), found, ...argv], trialMs);
}

/** Makes namespaces within its own, with a fresh /proc and mounted file systems, as a warden does. */
const FORKING_TRIAL = 'exec unshare --mount --ipc --uts --net --cgroup --pid --fork --mount-proc mount -t tmpfs tmpfs /tmp';

async function probeForking(options: ProbeOptions, { own }: TrialUser): Promise<Tried> {
  const isolation = buildWardenTrialArguments(buildSystemArguments(await readSystemView()), own && NAMESPACE_DESCRIPTOR);
  const { code, output, isLate } = await tryBubblewrap(options, own?.wardens, [...isolation, '--', '/bin/sh', '-c', FORKING_TRIAL]);
  if (code === 0) return { state: 'available', detail: 'a sandbox could be made from within another' };
  const detail = `a sandbox could not be made from within another (exit code ${code}): ${output.trim().slice(0, 500)}`;
  const remedy = `sandboxes start plainly, each with a Python of its own; to fork them, ${isLate ? LATE_REMEDY : await describeNamespaceRemedy()}`;
  return { state: 'missing', detail, remedy, isLate };
}

/** Settings by which distributions and administrators forbid user namespaces, and the value that allows them. */
const FORBIDDING = [
  ['kernel/unprivileged_userns_clone', '0', 'sysctl kernel.unprivileged_userns_clone=1'],
  ['kernel/apparmor_restrict_unprivileged_userns', '1', 'sysctl kernel.apparmor_restrict_unprivileged_userns=0'],
  ['user/max_user_namespaces', '0', 'sysctl user.max_user_namespaces=15000'],
] as const;

async function describeNamespaceRemedy(): Promise<string> {
  const remedies: string[] = [];
  for (const [setting, forbidding, remedy] of FORBIDDING) {
    const value = await readFile(`/proc/sys/${setting}`, 'utf8').catch(() => '');
    if (value.trim() === forbidding) remedies.push(remedy);
  }
  if (remedies.length > 0) return `allow user namespaces, as root: ${remedies.join('; ')}`;
  return 'allow user namespaces and mounts of /proc; in a container, run it with --privileged or with a seccomp profile that allows them';
}

/** Describes the limit that applies without a control group: the count of a user's processes, where the kernel keeps one for each sandbox. */
async function describeProcessesByUser(): Promise<LimitEnforcement> {
  return (await canCountProcesses()) ? { scope: 'tree', by: 'rlimit' } : { scope: 'none', by: 'none' };
}

/** The kernel does not hold root to RLIMIT_NPROC, also not inside of a user namespace that root has made. */
async function canCountProcesses(): Promise<boolean> {
  const release = /^(\d+)\.(\d+)/.exec(await readFile('/proc/sys/kernel/osrelease', 'utf8'));
  return process.getuid?.() !== 0 && release !== null && isAtLeast([Number(release[1]), Number(release[2])], KERNEL_COUNTS_BY_NAMESPACE);
}

function isAtLeast([major, minor]: readonly [number, number], [wantedMajor, wantedMinor]: readonly [number, number]): boolean {
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

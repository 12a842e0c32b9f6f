import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getMessage } from '../../../kernel/errors.ts';
import type { LimitEnforcement, SandboxTemplate } from '../../../pool/ports/template.ts';
import { type CgroupFiles, kernelCgroupFiles } from '../local/cgroups/cgroup-files.ts';
import type { CgroupLayout } from '../local/cgroups/cgroup-layout.ts';
import { describeCgroups, detectWanted } from '../local/cgroups/cgroups-here.ts';
import { describeEnforcedLimits, type EnforcedLimits } from '../local/cgroups/enforced-limits.ts';
import { findProgram } from '../local/host/find-program.ts';
import type { Finding } from '../finding.ts';
import { readSystemView } from '../local/template/system-view.ts';
import { runTrial } from '../local/trial.ts';
import { writeBundle } from './bundle.ts';
import { PLATFORMS, type Runsc, buildRunscCommand } from './command-line.ts';

/** What this machine can do for sandboxes under gVisor. */
export interface GvisorCapabilities {
  /** runsc, checked by making a sandbox. */
  readonly gvisor: Finding;
  /** How to start it; undefined when it cannot. */
  readonly runsc: Runsc | undefined;
  readonly layout: CgroupLayout | undefined;
  /** Whether the limits of a whole process tree can be enforced. */
  readonly cgroups: Finding;
  readonly limits: EnforcedLimits;
}

export interface GvisorProbeOptions {
  /** Looked up in PATH unless it is a path. */
  readonly runscPath: string;
  /** `none`: do as if there were no control groups. */
  readonly cgroups: 'detect' | 'none';
  readonly files?: CgroupFiles;
}

/** Required options: the first version with all of them is of 2022. */
const NEEDED_OPTIONS = ['rootless', 'ignore-cgroups', 'oci-seccomp', 'overlay2', 'platform'];

/** gVisor counts the processes inside itself, on any machine. */
const COUNTED_INSIDE: LimitEnforcement = { scope: 'tree', by: 'rlimit' };

const INSTALL =
  'install gVisor (Debian 12 and newer: apt install runsc; others: https://gvisor.dev/docs/user_guide/install/), or set the provider of the template to bubblewrap';

export async function probeGvisor({ runscPath, cgroups, files = kernelCgroupFiles }: GvisorProbeOptions): Promise<GvisorCapabilities> {
  const detection = await detectWanted(cgroups, files);
  const { layout } = detection;
  const found = await findRunsc(runscPath);
  const runsc = 'path' in found ? found : undefined;
  const gvisor: Finding = 'state' in found ? found : { state: 'available', detail: `${found.path} on the platform ${found.platform}` };
  return { gvisor, runsc, cgroups: describeCgroups(detection), layout, limits: describeEnforcedLimits(layout, COUNTED_INSIDE) };
}

async function findRunsc(runscPath: string): Promise<Runsc | Finding> {
  const found = await findProgram(runscPath);
  if (!found) return { state: 'missing', detail: `gVisor's ${runscPath} is not installed`, remedy: INSTALL };
  const { output } = await runTrial(found, ['flags']);
  const has = (option: string): boolean => new RegExp(`^\\s+-${option}\\b`, 'm').test(output);
  const lacking = NEEDED_OPTIONS.filter((option) => !has(option));
  if (lacking.length > 0) {
    const detail = `${found} is too old: it has no option ${lacking.map((option) => `--${option}`).join(', ')}`;
    return { state: 'missing', detail, remedy: INSTALL };
  }
  const platforms = PLATFORMS.filter((platform) => new RegExp(`platform to use:.*\\b${platform}\\b`).test(output));
  return await findWorkingRunsc(platforms.map((platform) => ({ path: found, platform, hasGoferNetwork: has('gofer-network-namespace') })));
}

async function findWorkingRunsc(candidates: readonly Runsc[]): Promise<Runsc | Finding> {
  const failures: string[] = [];
  for (const candidate of candidates) {
    const failure = await tryRunsc(candidate);
    if (failure === undefined) return candidate;
    failures.push(`${candidate.platform}: ${failure}`);
  }
  const detail = `runsc cannot make a sandbox on this machine (${failures.join('; ') || 'it has none of the platforms ' + PLATFORMS.join(', ')})`;
  return { state: 'missing', detail, remedy: TRIAL_REMEDY };
}

const TRIAL_REMEDY =
  "allow user namespaces and mounts, have setpriv (util-linux) and a umask that lets others read, such as 022; in a container, run it with --privileged; or set the template's provider to bubblewrap";

const TRIAL: SandboxTemplate = {
  name: 'trial',
  command: ['true'],
  environment: {},
  mounts: [],
  network: 'none',
  limits: { memoryBytes: 2 ** 28, processes: 8, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 60 },
  demands: [],
};

/** @returns why no sandbox could be made; undefined when one could. */
async function tryRunsc(runsc: Runsc): Promise<string | undefined> {
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-gvisor-'));
  try {
    const inbox = path.join(directory, 'inbox');
    await mkdir(inbox);
    await writeBundle(directory, { template: TRIAL, system: await readSystemView(), inbox, memoryByProcess: false });
    const { code, output } = await runTrial('setpriv', ['--pdeathsig', 'KILL', '--', ...buildRunscCommand(runsc, 'none', directory)]);
    return code === 0 && output === '+' ? undefined : `exit code ${code}: ${output.trim().slice(0, 500)}`;
  } catch (error) {
    return getMessage(error);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

import { readFile } from 'node:fs/promises';
import type { CgroupFiles } from './cgroup-files.ts';
import { type CgroupDetection, detectCgroups } from './cgroup-layout.ts';
import type { Finding } from '../../finding.ts';

/** Detects the control groups that this process may make. */
export async function detectHere(files: CgroupFiles): Promise<CgroupDetection> {
  const [membership, mounts] = await Promise.all([readFile('/proc/self/cgroup', 'utf8'), readFile('/proc/self/mountinfo', 'utf8')]);
  return detectCgroups({ files, membership, mounts });
}

/** Detects the same groups, unless they are disabled. */
export async function detectWanted(wanted: 'detect' | 'none', files: CgroupFiles): Promise<CgroupDetection> {
  return wanted === 'none' ? { layout: undefined, obstacles: ['switched off'] } : await detectHere(files);
}

/** Whether the limits of a whole process tree can be enforced. */
export function describeCgroups({ layout, obstacles }: CgroupDetection): Finding {
  const enforced = layout ? [...layout.bases.keys()].join(', ') : 'none';
  if (layout && obstacles.length === 0) return { state: 'available', detail: `${layout.version}: ${enforced}` };
  const detail = `${layout?.version ?? 'no control groups'}: ${enforced} enforced for the whole tree; ${obstacles.slice(0, 3).join('; ')}`;
  const remedy =
    'start Muster in a delegated group: systemd-run --user --scope -p Delegate=yes …, or as root where control groups are writable';
  return { state: 'missing', detail, remedy };
}

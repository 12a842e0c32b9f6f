import { once } from 'node:events';
import { PodPart, type PodTemplate } from '../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import type { Sandbox } from '../src/pool/ports/sandbox.ts';
import type { SandboxTemplate } from '../src/pool/ports/template.ts';

const LIMITS = { memoryBytes: 2 ** 28, processes: 16, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 3600 };
const LINE = '{"type":"ping","id":1}\n';

/** Pods that send back what they receive. */
export function echoingPods(pod: PodTemplate): SandboxTemplate {
  return {
    name: 'bench',
    command: ['cat'],
    environment: {},
    mounts: [],
    network: 'none',
    limits: LIMITS,
    demands: [],
    providerPart: new PodPart(pod),
  };
}

export interface Trips {
  /** Of all programs together. */
  readonly perSecond: number;
  /** Processor time of this process for each. */
  readonly microseconds: number;
}

/** Sends every program a line, and the next when that has come back. */
export async function roundTrips(programs: readonly Pick<Sandbox, 'stdin' | 'stdout' | 'stderr'>[], seconds: number): Promise<Trips> {
  const before = process.cpuUsage();
  const start = performance.now();
  const end = start + seconds * 1000;
  let trips = 0;
  await Promise.all(
    programs.map(async ({ stdin, stdout, stderr }) => {
      stderr.resume();
      for (; performance.now() < end; trips += 1) {
        const answer = once(stdout, 'data');
        stdin.write(LINE);
        await answer;
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return { perSecond: (trips / (performance.now() - start)) * 1000, microseconds: (user + system) / trips };
}

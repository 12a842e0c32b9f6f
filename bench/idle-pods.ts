import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { z } from 'zod';
import { createKubernetesProvider } from '../src/adapters/sandbox/kubernetes/kubernetes-provider.ts';
import { loadConfig } from '../src/app/configuration.ts';
import { sleep, systemClock } from '../src/kernel/clock.ts';
import { parseOwnerId, parseSandboxId } from '../src/kernel/ids.ts';
import { Pool } from '../src/pool/pool.ts';
import { RunnerSession } from '../src/runner/session.ts';
import { podTemplate } from '../test/support/kubernetes/kubernetes-context.ts';
import type { Benchmark, Check } from './benchmark.ts';
import { ownMemory, type OwnMemory } from './memory-of.ts';
import { PodPart } from '../src/adapters/sandbox/kubernetes/settings/pod-template.ts';

const RESOLUTION_MS = 1;
const LIMITS = { memoryBytes: 2 ** 28, processes: 10, cpus: 1, diskBytes: 2 ** 20, lifetimeSeconds: 86_400 };
const tallySchema = z.object({ requests: z.record(z.string(), z.number()), pods: z.number() });

const PODS = 'idle pods';

export const idlePods: Benchmark = {
  name: 'idle-pods',
  summary: 'what thousands of idle pods of a simulated cluster cost their Muster: memory, responsiveness, requests to the API server',
  measurements: () => [PODS],
  async run({ quick, measured }) {
    return reportOf(await measured(PODS, () => idle(quick ? 100 : 5_000, quick ? 3 : 60)));
  },
};

async function idle(count: number, seconds: number): Promise<Measured> {
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-bench-'));
  const cluster = fork(path.join(import.meta.dirname, 'simulated-cluster.ts'), [directory]);
  try {
    const [first] = await once(cluster, 'message');
    const { kubeconfig } = z.object({ kubeconfig: z.string() }).parse(first);
    await measure(kubeconfig, 20, 0);
    const before = ownMemory();
    const base = await tallyOf(cluster);
    const { warmSeconds, memory, delay } = await measure(kubeconfig, count, seconds);
    const after = await tallyOf(cluster);
    return { count, seconds, warmSeconds, perPod: perPod(before, memory, count), delay, base, after };
  } finally {
    cluster.disconnect();
    await once(cluster, 'exit');
    await rm(directory, { recursive: true });
  }
}

interface Delay {
  readonly median: number;
  readonly p99: number;
  readonly most: number;
}

/** Warms so many pods, watches them being idle, and takes them down. */
async function measure(
  kubeconfig: string,
  count: number,
  seconds: number,
): Promise<{ warmSeconds: number; memory: OwnMemory; delay: Delay }> {
  const settings = loadConfig({ environment: { HOME: '/' } });
  const owner = parseOwnerId(`bench-${process.pid}-${count}`);
  await using provider = createKubernetesProvider({ owner, clock: systemClock, log: (message) => process.stderr.write(`${message}\n`) });
  const pod = podTemplate(kubeconfig, { requestsPerSecond: 2000 });
  let made = 0;
  const start = performance.now();
  await using pool: Pool<RunnerSession> = new Pool({
    provider,
    template: {
      name: 'local',
      command: ['runner'],
      environment: {},
      mounts: [],
      network: 'none',
      limits: LIMITS,
      demands: [],
      providerPart: new PodPart(pod),
    },
    config: { ...settings.pool, creationConcurrency: 200, creationsPerSecond: 1000, min: count, max: count },
    clock: systemClock,
    warmUp: (sandbox, signal) => RunnerSession.open(sandbox, systemClock, signal),
    newSandboxId: () => parseSandboxId(`s${(made += 1)}`),
  });
  await pool.waitUntilStarted();
  while (pool.state().sandboxes.idle < count) await sleep(systemClock, 20);
  const warmSeconds = (performance.now() - start) / 1000;
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  await sleep(systemClock, seconds * 1000);
  histogram.disable();
  const [median = 0, p99 = 0, most = 0] = [histogram.percentile(50), histogram.percentile(99), histogram.max].map((value) => value / 1e6);
  return { warmSeconds, memory: ownMemory(), delay: { median, p99, most } };
}

async function tallyOf(cluster: ChildProcess): Promise<z.infer<typeof tallySchema>> {
  cluster.send('tally');
  const [answer] = await once(cluster, 'message');
  return tallySchema.parse(answer);
}

function perPod(before: OwnMemory, after: OwnMemory, count: number): OwnMemory {
  return {
    heapBytes: (after.heapBytes - before.heapBytes) / count,
    externalBytes: (after.externalBytes - before.externalBytes) / count,
    rssBytes: (after.rssBytes - before.rssBytes) / count,
  };
}

interface Measured {
  readonly count: number;
  readonly seconds: number;
  readonly warmSeconds: number;
  readonly perPod: OwnMemory;
  readonly delay: Delay;
  readonly base: z.infer<typeof tallySchema>;
  readonly after: z.infer<typeof tallySchema>;
}

function reportOf({ count, seconds, warmSeconds, perPod, delay, base, after }: Measured): Awaited<ReturnType<Benchmark['run']>> {
  const { heapBytes, externalBytes, rssBytes } = perPod;
  const asked = Object.entries(after.requests).map(([kind, total]) => [kind, total - (base.requests[kind] ?? 0)] as const);
  const total = asked.reduce((sum, [, requests]) => sum + requests, 0);
  const bytes = Math.max(heapBytes + externalBytes, rssBytes);
  const checks: Check[] = [
    { what: 'memory for an idle pod', target: '≤ 100 KB', measured: `${(bytes / 1000).toFixed(0)} KB`, met: bytes <= 100_000 },
    { what: 'event-loop delay p99, all idle', target: '≤ 50 ms', measured: `${delay.p99.toFixed(1)} ms`, met: delay.p99 <= 50 },
    { what: 'pods left at the end', target: '0', measured: String(after.pods), met: after.pods === 0 },
  ];
  return {
    tables: [
      { title: 'Time until all are warm', columns: ['pods', 'seconds', 'a second'], rows: [[count, warmSeconds, count / warmSeconds]] },
      {
        title: "Muster's memory for each idle pod, after garbage collection (KB)",
        columns: ['pods', 'heap', 'external', 'resident'],
        rows: [[count, heapBytes / 1000, externalBytes / 1000, rssBytes / 1000]],
      },
      {
        title: `Delay of Muster's event loop (ms), ${seconds} s with all of them idle`,
        columns: ['pods', 'median', 'p99', 'most'],
        rows: [[count, delay.median, delay.p99, delay.most]],
      },
      {
        title: 'Requests to the API server, from the first pod to the last one gone',
        columns: ['request', 'in all', 'for each pod'],
        rows: [
          ...asked.filter(([, requests]) => requests > 0).map(([kind, requests]) => [kind, requests, requests / count] as const),
          ['all', total, total / count],
        ],
      },
    ],
    checks,
    notes: ['The cluster is simulated, in a process of its own; its pods are no processes, and answer pings only.'],
  };
}

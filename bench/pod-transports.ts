import { parseOwnerId, parseSandboxId } from '../src/kernel/ids.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { createKubernetesProvider } from '../src/adapters/sandbox/kubernetes/kubernetes-provider.ts';
import type { PodTransport } from '../src/pool/pod-template.ts';
import { clusterPod, dialBackHere, dialBackUnavailable } from '../test/cluster/cluster-under-test.ts';
import type { Benchmark, Cell } from './benchmark.ts';
import { echoingPods, roundTrips } from './pod-trips.ts';

const NEVER = new AbortController().signal;

export const podTransports: Benchmark = {
  name: 'pod-transports',
  summary: 'what a round trip to a program in a real pod costs Muster’s processor, over exec and where pods dial back',
  async run({ quick, say }) {
    if (dialBackUnavailable !== undefined) return { tables: [], checks: [], notes: [`Not here: ${dialBackUnavailable}.`] };
    const [pods, seconds] = quick ? [1, 2] : [4, 10];
    const rows: (readonly Cell[])[] = [];
    for (const transport of [{ kind: 'exec' } as const, dialBackHere()]) {
      say(`${pods} pods, ${transport.kind}`);
      rows.push([transport.kind, pods, ...(await measure(transport, pods, seconds))]);
    }
    const columns = ['transport', 'pods', 'seconds until all run', 'round trips a second, in all', 'µs of processor time for each'];
    return {
      tables: [{ title: `One-line round trips for ${seconds} s, with a \`cat\` in each pod`, columns, rows }],
      checks: [],
      notes: ['Processor time is that of Muster’s process; what API server, kubelet and pods take is not in it.'],
    };
  },
};

async function measure(transport: PodTransport, pods: number, seconds: number): Promise<readonly [number, number, number]> {
  const owner = parseOwnerId(`bench-${process.pid}-${transport.kind}`);
  const log = (message: string): void => void process.stderr.write(`${message}\n`);
  await using provider = createKubernetesProvider({ owner, clock: systemClock, log });
  const template = echoingPods(clusterPod({ transport }));
  const begin = performance.now();
  const sandboxes = await Promise.all(
    Array.from({ length: pods }, (_, i) => provider.create({ id: parseSandboxId(`s${i}`), template }, NEVER)),
  );
  const readySeconds = (performance.now() - begin) / 1000;
  const { perSecond, microseconds } = await roundTrips(sandboxes, seconds);
  return [readySeconds, perSecond, microseconds];
}

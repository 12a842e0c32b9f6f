import { parseOwnerId, parseSandboxId } from '../src/kernel/ids.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { createKubernetesProvider } from '../src/adapters/sandbox/kubernetes/kubernetes-provider.ts';
import type { PodTransport } from '../src/adapters/sandbox/kubernetes/settings/pod-template.ts';
import { clusterPod, clusterUnderTest, dialBackHere } from '../test/cluster/cluster-under-test.ts';
import type { Benchmark, Cell } from './benchmark.ts';
import { NO_CLUSTER } from './cluster-pods.ts';
import { echoingPods, roundTrips } from './pod-trips.ts';

const NEVER = new AbortController().signal;

const hasCluster = clusterUnderTest.MUSTER_CLUSTER_IMAGE !== undefined && clusterUnderTest.MUSTER_CLUSTER_DIAL_BACK !== undefined;

const KINDS: readonly PodTransport['kind'][] = ['exec', 'dial-back'];

function nameOf(kind: PodTransport['kind']): string {
  return `round trips, ${kind}`;
}

export const podTransports: Benchmark = {
  name: 'pod-transports',
  summary: 'what a round trip to a program in a real pod costs Muster’s processor, over exec and where pods dial back',
  measurements: () => (hasCluster ? KINDS.map(nameOf) : []),
  async run({ quick, measured }) {
    if (!hasCluster)
      return {
        tables: [],
        checks: [],
        notes: [`${NO_CLUSTER} Set MUSTER_CLUSTER_DIAL_BACK to an address of this machine that pods reach, too.`],
      };
    const [pods, seconds] = quick ? [1, 2] : [4, 10];
    const rows: (readonly Cell[])[] = [];
    for (const kind of KINDS) {
      const transport = kind === 'exec' ? { kind } : dialBackHere();
      rows.push([kind, pods, ...(await measured(nameOf(kind), () => measure(transport, pods, seconds)))]);
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

import { systemClock } from '../src/kernel/clock.ts';
import { parseOwnerId, parseSandboxId } from '../src/kernel/ids.ts';
import { PROGRAM_CONTAINER } from '../src/adapters/sandbox/kubernetes/pods/container-names.ts';
import { NamespaceSite } from '../src/adapters/sandbox/kubernetes/namespace-site.ts';
import { clusterPod, clusterUnderTest } from '../test/cluster/cluster-under-test.ts';
import type { Benchmark, Cell } from './benchmark.ts';
import { echoingPods, roundTrips, type Trips } from './pod-trips.ts';
import { showSpread, spreadOf } from './spread.ts';

const NEVER = new AbortController().signal;
const POD = clusterPod({ requestsPerSecond: 1000 });
const TEMPLATE = echoingPods(POD);

/** For people. */
export const NO_CLUSTER =
  'Not measured, as it needs a cluster: set MUSTER_CLUSTER_IMAGE to an image that its nodes can run (docs/kubernetes.md, "Trying a cluster").';

const hasCluster = clusterUnderTest.MUSTER_CLUSTER_IMAGE !== undefined;

function counts(quick: boolean): readonly number[] {
  return quick ? [1, 4] : [1, 64, 100];
}

function nameOf(count: number): string {
  return `${count} pods`;
}

export const clusterPods: Benchmark = {
  name: 'cluster-pods',
  summary: 'pods of a real cluster (MUSTER_CLUSTER_IMAGE names an image it can run): creation, exec, round trips, deletion, requests',
  measurements: (quick) => (hasCluster ? counts(quick).map(nameOf) : []),
  async run({ quick, measured }) {
    if (!hasCluster) return { tables: [], checks: [], notes: [NO_CLUSTER] };
    const runs: Measured[] = [];
    for (const count of counts(quick)) runs.push(await measured(nameOf(count), () => measure(count, quick ? 1 : 10)));
    return {
      tables: [
        {
          title: 'Pods that are made at once (seconds)',
          columns: ['pods', 'until all run', 'until a program runs in each', 'one exec', 'until all are deleted'],
          rows: runs.map(({ pods, ready, opened, execs, gone }) => [pods, ready, opened, showSpread(spreadOf(execs), 3), gone]),
        },
        {
          title: 'One-line round trips over exec',
          columns: ['pods', 'a second, in all', "µs of Muster's processor each"],
          rows: runs.map(({ pods, trips }) => [pods, trips.perSecond, trips.microseconds]),
        },
        {
          title: 'Requests, from the first creation to the last pod gone',
          columns: ['pods', 'request', 'in all', 'for each pod'],
          rows: runs.flatMap(requestRows),
        },
      ],
      checks: [],
      notes: ['Programs are `cat`. The API server, its nodes and Muster share whatever machine they are on.'],
    };
  },
};

interface Measured {
  readonly pods: number;
  readonly ready: number;
  readonly opened: number;
  /** Seconds that each took. */
  readonly execs: readonly number[];
  readonly trips: Trips;
  readonly gone: number;
  readonly requests: Readonly<Record<string, number>>;
}

async function measure(pods: number, seconds: number): Promise<Measured> {
  const owner = parseOwnerId(`bench-${process.pid}-${pods}`);
  const log = (message: string): void => void process.stderr.write(`${message}\n`);
  await using site = new NamespaceSite(POD, { owner, clock: systemClock, log });
  await site.open(NEVER);
  const ids = Array.from({ length: pods }, (_, i) => parseSandboxId(`s${i}`));
  using line = site.execLine();
  const wanted = ids.map((id) => site.getSupply(TEMPLATE, POD).want({ id, template: TEMPLATE }, line.hold));
  const start = performance.now();
  try {
    const made = await Promise.all(wanted.map((pod) => pod.takeReadyPod(NEVER)));
    const ready = since(start);
    const execs: number[] = [];
    const channels = await Promise.all(
      made.map(async ({ name }) => {
        const asked = performance.now();
        const channel = await line.exec(name, PROGRAM_CONTAINER, TEMPLATE.command, NEVER);
        execs.push(since(asked));
        return channel;
      }),
    );
    const opened = since(start);
    const trips = await roundTrips(channels, seconds);
    for (const channel of channels) channel.stdin.end();
    await Promise.all(channels.map(({ ended }) => ended));
    const begin = performance.now();
    await Promise.all(wanted.map((pod) => pod.remove()));
    const requests = { ...Object.fromEntries(site.cluster.gate.counts), exec: pods };
    return { pods, ready, opened, execs, trips, gone: since(begin), requests };
  } catch (error) {
    await site.cluster.deletePods(`muster.dev/owner=${owner}`, 0, NEVER);
    throw error;
  }
}

function requestRows({ pods, requests }: Measured): readonly (readonly Cell[])[] {
  const total = Object.values(requests).reduce((sum, each) => sum + each, 0);
  return [...Object.entries(requests), ['all', total] as const].map(([kind, asked]) => [pods, kind, asked, asked / pods]);
}

function since(start: number): number {
  return (performance.now() - start) / 1000;
}

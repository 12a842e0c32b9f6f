import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { filesystemSource } from '../src/adapters/checkpoints/filesystem.ts';
import { OriginServer } from '../src/adapters/delivery/origin-server.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { silentLog } from '../src/kernel/log.ts';
import type { FetchWay } from '../src/kernel/fetching.ts';
import { CheckpointStore } from '../src/policy-distribution/store/checkpoint-store.ts';
import type { StoredCheckpoint } from '../src/policy-distribution/stored-checkpoint.ts';
import { Distributor } from '../src/policy-distribution/delivery/distributor.ts';
import { DeltaEncodedContents } from '../src/policy-distribution/delivery/delta-encoded-contents.ts';
import type { Sandbox } from '../src/pool/ports/sandbox.ts';
import type { Benchmark, BenchmarkContext, Check, Cell } from './benchmark.ts';
import { CacheCluster } from './cache-cluster.ts';
import { CheckpointFiles } from './checkpoint-files.ts';

const SIZES = { full: { nodes: 64, podsEach: 8, bytes: 2e7 }, quick: { nodes: 4, podsEach: 4, bytes: 4e6 } };
/** Pods that fetch for themselves, to compare with. */
const PULLING = 8;
const TENSORS = 20;
/** What requests add: nothing but bodies is counted, so only a transfer that broke could. */
const TOLERANCE = 1.001;
const { signal } = new AbortController();

const IN_TURN = 'a checkpoint, the next one, pods that fetch for themselves';

export const egress: Benchmark = {
  name: 'egress',
  summary: 'bytes that leave Muster for the pods of many nodes: with a cache on each node, with deltas, and with a pull by each pod',
  measurements: () => [IN_TURN],
  async run({ quick, say, measured }: BenchmarkContext) {
    const { nodes, podsEach } = quick ? SIZES.quick : SIZES.full;
    const { pods, filled, changed, pulled, size, delta, whole } = await measured(IN_TURN, () => inTurn(quick, say));
    const row = (what: string, pods: number, { bytes, seconds }: Delivered, unit: number): readonly Cell[] => [
      what,
      pods,
      bytes / 1e6,
      bytes / unit,
      seconds,
    ];
    return {
      tables: [
        {
          title: `Bytes that left Muster: a checkpoint of ${(size / 1e6).toFixed(1)} MB, a delta of ${(delta / 1e6).toFixed(2)} MB`,
          columns: ['', 'pods', 'MB', 'times its size', 'seconds'],
          rows: [
            row('by nodes with caches: × the checkpoint', pods, filled, size),
            row('the next one, by the same: × the delta', pods, changed, delta),
            row('by each pod: × the checkpoint', PULLING, pulled, size),
          ],
        },
      ],
      checks: [
        check(`${nodes} nodes × ${podsEach} pods`, filled.bytes, nodes, size, 'size'),
        check('the next checkpoint', changed.bytes, nodes, delta, 'delta'),
        { what: 'nodes that have exactly these bytes', target: `${nodes}`, ...whole },
      ],
      notes: [
        'The cluster is simulated on this machine: its nodes are directories, what fills each is the real program in a process of its own, over a real socket, and programs of pods are none. Seconds are those of this machine, which does all of it.',
      ],
    };
  },
};

/** Each needs what the one before has left on the nodes. */
async function inTurn(quick: boolean, say: (text: string) => void) {
  const { nodes, podsEach, bytes } = quick ? SIZES.quick : SIZES.full;
  await using files = await CheckpointFiles.make();
  await using fixture = await Fixture.open(files, nodes);
  say(`${nodes} nodes × ${podsEach} pods, a checkpoint of ${bytes / 1e6} MB and the one after it`);
  const [first, next] = await fixture.checkpoints(bytes);
  const pods = await fixture.cluster.pods(nodes * podsEach, ['shared-cache']);
  const filled = await fixture.delivered(first, pods, 'shared-cache');
  say('the next one, of which 1 % of the numbers changed');
  const changed = await fixture.delivered(next, pods, 'shared-cache');
  say(`the same by ${PULLING} pods that fetch for themselves`);
  const pulled = await fixture.delivered(first, await fixture.cluster.pods(PULLING, ['pull']), 'pull');
  const [size, delta, whole] = [sizeOf(first), await fixture.deltaBytes(first, next), await fixture.wholeNodes(next)];
  return { pods: pods.length, filled, changed, pulled, size, delta, whole };
}

interface Delivered {
  readonly bytes: number;
  readonly seconds: number;
}

class Fixture implements AsyncDisposable {
  readonly cluster: CacheCluster;
  readonly #files: CheckpointFiles;
  readonly #store: CheckpointStore;
  readonly #encoded: DeltaEncodedContents;
  readonly #origin: OriginServer;

  private constructor(files: CheckpointFiles, cluster: CacheCluster, store: CheckpointStore) {
    this.#files = files;
    this.cluster = cluster;
    this.#store = store;
    this.#encoded = new DeltaEncodedContents({
      directory: files.path('deliveries'),
      clock: systemClock,
      find: (digest) => store.findFile(digest),
    });
    const listens = { url: 'http://127.0.0.1', host: '127.0.0.1', port: 0, linkSeconds: 3600, transfers: 64 };
    this.#origin = new OriginServer({
      ...listens,
      clock: systemClock,
      log: silentLog,
      find: (digest) => store.findFile(digest),
      encode: ({ digest, name }, bases) => this.#encoded.encode(digest, name, bases),
    });
  }

  static async open(files: CheckpointFiles, nodes: number): Promise<Fixture> {
    const limits = { maxBytes: 1e12, maxFiles: 10 };
    const store = await CheckpointStore.open({ directory: files.path('store'), limits, clock: systemClock });
    return new Fixture(files, await CacheCluster.open(nodes), store);
  }

  async checkpoints(bytes: number): Promise<readonly [StoredCheckpoint, StoredCheckpoint]> {
    const [first, next] = [this.#files.path('first/policy.safetensors'), this.#files.path('next/policy.safetensors')];
    for (const file of [first, next]) await mkdir(dirname(file));
    await this.#files.trained('make', first, `${bytes}`, `${TENSORS}`, '0');
    await this.#files.trained('step', first, next, '0.01', '1');
    return [await this.#store.add(filesystemSource, first, signal), await this.#store.add(filesystemSource, next, signal)];
  }

  /** To all pods at once, as an evaluation does. */
  async delivered(checkpoint: StoredCheckpoint, pods: readonly Sandbox[], way: FetchWay): Promise<Delivered> {
    const distributor = new Distributor({
      origin: { link: async (file) => ({ url: await this.#origin.link(file) }) },
      delivery: way === 'pull' ? way : 'node-cache',
    });
    const [before, start] = [this.#origin.served.bytes, performance.now()];
    await Promise.all(pods.map((pod) => distributor.deliver(checkpoint, pod, signal)));
    return { bytes: this.#origin.served.bytes - before, seconds: (performance.now() - start) / 1000 };
  }

  async deltaBytes(first: StoredCheckpoint, next: StoredCheckpoint): Promise<number> {
    const encoded = await this.#encoded.encode(next.digest, 'policy.safetensors', [first.digest]);
    if (!encoded) throw new RangeError('the next checkpoint is not encoded as a delta of the one before');
    return encoded.bytes;
  }

  async wholeNodes(checkpoint: StoredCheckpoint): Promise<Pick<Check, 'measured' | 'met'>> {
    const [, hex = ''] = checkpoint.digest.split(':');
    let whole = 0;
    for (const directory of this.cluster.nodeDirectories) {
      const bytes = await readFile(join(directory, 'checkpoints', hex, 'policy.safetensors'));
      if (`sha256:${createHash('sha256').update(bytes).digest('hex')}` === checkpoint.digest) whole += 1;
    }
    return { measured: `${whole}`, met: whole === this.cluster.nodeDirectories.length };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]();
    await this.#origin[Symbol.asyncDispose]();
    await this.#encoded[Symbol.asyncDispose]();
  }
}

function sizeOf({ files }: StoredCheckpoint): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

function check(what: string, bytes: number, nodes: number, unit: number, name: string): Check {
  const times = bytes / unit;
  return {
    what: `bytes that leave Muster, ${what}`,
    target: `nodes × ${name}: ${nodes} ×`,
    measured: `${times.toFixed(2)} ×`,
    met: times <= nodes * TOLERANCE,
  };
}

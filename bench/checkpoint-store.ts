import { readFile, rm, stat } from 'node:fs/promises';
import { filesystemSource } from '../src/adapters/checkpoints/filesystem.ts';
import { systemClock, type Clock } from '../src/kernel/clock.ts';
import { parseDigest } from '../src/kernel/ids.ts';
import { CheckpointStore } from '../src/policy-distribution/store/checkpoint-store.ts';
import { encodeDelta, type DeltaSide } from '../src/policy-distribution/delta/delta-encoder.ts';
import { readLayout } from '../src/policy-distribution/delta/delta-layout.ts';
import { DeltaFile, readIndex } from '../src/policy-distribution/store/delta-reader.ts';
import type { Stretches } from '../src/policy-distribution/delta/delta-block.ts';
import type { Benchmark, BenchmarkContext, Cell, Check, Table } from './benchmark.ts';
import { CheckpointFiles, copied, readHash, readAndHash, timed, written, type Timed } from './checkpoint-files.ts';
import { showSpread, spreadOf, type Spread } from './spread.ts';

const MB = 1e6;
const SIZES = {
  full: { bytes: 1e9, rounds: 5, run: { checkpoints: 200, bytes: 2e7 } },
  quick: { bytes: 2e7, rounds: 1, run: { checkpoints: 6, bytes: 1e6 } },
};
const TENSORS = 200;
const STORING = 'storing it, beside a plain copy';
const SUCCESSIVE = 'a run of many checkpoints';
const HOUR = 3_600_000;
const signal = new AbortController().signal;

export const checkpointStore: Benchmark = {
  name: 'checkpoint-store',
  summary: 'bringing a checkpoint into the store, beside a plain copy; deltas: what they take, and how long; a run of many checkpoints',
  measurements: () => [STORING, ...CHANGES.map(deltaName), SUCCESSIVE],
  async run({ quick, say, measured }: BenchmarkContext) {
    const { bytes, rounds, run } = quick ? SIZES.quick : SIZES.full;
    await using files = await CheckpointFiles.make();
    const base = files.path('base.safetensors');
    say(`writing a checkpoint of ${bytes / MB} MB`);
    await files.trained('make', base, `${bytes}`, `${TENSORS}`, '0');
    const stored = await measured(STORING, () => storing(files, base, rounds, say));
    const deltas: Delta[] = [];
    for (const change of CHANGES) deltas.push(await measured(deltaName(change), () => deltaOf(files, base, change)));
    const successive = await measured(SUCCESSIVE, () => successiveOf(run, say));
    const title = { title: 'Deltas', columns: ['changed', '% of the file', 'encoding, MB/s', 'applying, MB/s'] };
    return {
      tables: [stored.table, { ...title, rows: deltas.map(({ row }) => row) }, successive.table],
      checks: [...stored.checks, ...deltas.flatMap(({ checks }) => checks), ...successive.checks],
      notes: [
        'Files are in the page cache when they are read. Store: CheckpointStore.add of a local file, until it is there to be played, under its name; then until it is on the disk. A plain copy is one that is on the disk; one that is only read and written is not, and its seconds in the kernel are what memory for a copy costs here. Reading and hashing are one after the other, in one thread.',
        'Deltas: of bf16 numbers, normally distributed; those that changed are other such numbers. A second of one processor, without the SHA-256 of the whole, which has a thread of its own. Files are in memory.',
      ],
    };
  },
};

/** What a delta is made of. */
interface Change {
  readonly what: string;
  /** For bench/policies/training_run.py. */
  readonly words: readonly [string, string];
  /** Of the file: the most that it may take. */
  readonly share: number;
}

function deltaName({ what }: Change): string {
  return `a delta of which ${what} changed`;
}

interface Delta {
  readonly row: readonly Cell[];
  readonly checks: readonly Check[];
}

interface Part {
  readonly table: Table;
  readonly checks: readonly Check[];
}

async function storing(files: CheckpointFiles, path: string, rounds: number, say: (text: string) => void): Promise<Part> {
  const ways = {
    'reading and hashing it': () => readAndHash(path),
    'a plain copy': () => copied(path, files.path('copy')),
    'into the store': async () => {
      const store = await CheckpointStore.open({
        directory: files.path('store'),
        limits: { maxBytes: 1e12, maxFiles: 10 },
        clock: systemClock,
        syncing: 'behind',
      });
      await store.add(filesystemSource, path, signal);
      return store;
    },
    // Last, so that what comes before finds memory as it would without it.
    'only reading and writing it': () => written(path, files.path('copy')),
  };
  const measured = new Map<string, Timed[]>(Object.keys(ways).map((name) => [name, []]));
  const onDisk: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    say(`storing it, round ${round + 1} of ${rounds}`);
    for (const [name, way] of Object.entries(ways)) {
      const began = performance.now();
      let store: unknown;
      measured.get(name)?.push(await timed(async () => (store = await way())));
      if (store instanceof CheckpointStore) {
        await store.waitUntilSynced();
        onDisk.push((performance.now() - began) / 1000);
      }
      await rm(files.path('store'), { recursive: true, force: true });
      await rm(files.path('copy'), { force: true });
    }
  }
  const seconds = (name: keyof typeof ways): readonly number[] => (measured.get(name) ?? []).map((each) => each.seconds);
  const hashing = seconds('reading and hashing it');
  const ratio = spreadOf(seconds('into the store').map((each, round) => each / (hashing[round] ?? Number.NaN)));
  return {
    table: {
      title: 'A local file, seconds: median and range',
      columns: ['', 'seconds', 'of processors', "of which the kernel's"],
      rows: [
        ...[...measured].map(([name, times]) => [
          name,
          showSpread(spreadOf(times.map((each) => each.seconds)), 2),
          showSpread(spreadOf(times.map(({ processorSeconds }) => processorSeconds)), 2),
          showSpread(spreadOf(times.map(({ kernelSeconds }) => kernelSeconds)), 2),
        ]),
        ['into the store, until it is on the disk', showSpread(spreadOf(onDisk), 2), '', ''],
      ],
    },
    checks: [
      { what: 'into the store', target: '≤ 1.5 × reading and hashing it', measured: `${showSpread(ratio, 2)} ×`, met: ratio.median <= 1.5 },
    ],
  };
}

const CHANGES: readonly Change[] = [
  { what: '1 % of the numbers', words: ['step', '0.01'], share: 0.04 },
  { what: '0.1 % of the numbers', words: ['step', '0.001'], share: 0.006 },
  { what: `2 of ${TENSORS} tensors`, words: ['adapt', '2'], share: (2 / TENSORS) * 1.01 },
];

async function deltaOf(files: CheckpointFiles, base: string, { what, words, share }: Change): Promise<Delta> {
  const next = files.path('next.safetensors');
  const [command, amount] = words;
  await files.trained(command, base, next, amount, '1');
  const [from, to] = [await inMemory(base), await inMemory(next)];
  const parts: Uint8Array[] = [];
  const write = async (bytes: Uint8Array): Promise<void> => void parts.push(bytes);
  const encoding = await timed(() => encodeDelta(to, from, { maxBytes: Infinity, write, signal }));
  const delta = stretchesOf(Buffer.concat(parts));
  const applied = new DeltaFile(delta, await readIndex(delta, 'a delta'), from.bytes);
  const applying = await timed(async () => {
    for await (const piece of applied.readPieces()) void piece;
  });
  const [size, taken] = [to.bytes.size, delta.size / to.bytes.size];
  const speed = ({ processorSeconds }: Timed): number => size / MB / processorSeconds;
  return {
    row: [what, (100 * taken).toFixed(3), speed(encoding), speed(applying)],
    checks: [
      {
        what: `${what} changed: bytes`,
        target: `≤ ${(100 * share).toFixed(2)} % of the file`,
        measured: `${(100 * taken).toFixed(3)} %`,
        met: taken <= share,
      },
      {
        what: `${what} changed: encoding`,
        target: '≥ 500 MB/s on one processor',
        measured: `${speed(encoding).toFixed(0)} MB/s`,
        met: speed(encoding) >= 500,
      },
      {
        what: `${what} changed: applying`,
        target: '≥ 500 MB/s on one processor',
        measured: `${speed(applying).toFixed(0)} MB/s`,
        met: speed(applying) >= 500,
      },
    ],
  };
}

async function inMemory(path: string): Promise<DeltaSide> {
  const bytes = await readFile(path);
  const layout = await readLayout(path, bytes.length, async (position, length) => bytes.subarray(position, position + length));
  return { digest: parseDigest(`sha256:${await readHash(path)}`), layout, bytes: stretchesOf(bytes) };
}

function stretchesOf(bytes: Uint8Array): Stretches {
  return {
    size: bytes.length,
    async readInto(buffer, position) {
      buffer.set(bytes.subarray(position, position + buffer.length));
    },
  };
}

/** Checkpoints of one run, each used once, with the room made that a server makes every hour. */
async function successiveOf(
  { checkpoints, bytes }: { readonly checkpoints: number; readonly bytes: number },
  say: (text: string) => void,
): Promise<Part> {
  await using files = await CheckpointFiles.make();
  let later = 0;
  const clock: Clock = { ...systemClock, date: () => new Date(systemClock.date().getTime() + later) };
  const directory = files.path('store');
  const store = await CheckpointStore.open({ directory, limits: { maxBytes: 1e12, maxFiles: 10 }, clock });
  const digests = [];
  let [now, next] = [files.path('a.safetensors'), files.path('b.safetensors')];
  await files.trained('make', now, `${bytes}`, `${TENSORS}`, '0');
  const { size } = await stat(now);
  for (let step = 1; step <= checkpoints; step += 1) {
    if (step % 10 === 0) say(`checkpoint ${step} of ${checkpoints}`);
    digests.push((await store.add(filesystemSource, now, signal)).digest);
    later += 2 * HOUR;
    await store.retain({ maxBytes: undefined, isNeeded: () => false }, signal);
    await files.trained('step', now, next, '0.01', `${step}`);
    [now, next] = [next, now];
  }
  const { bytes: kept, intact } = await store.verify({ remove: false, signal });
  const seconds: number[] = [];
  const copies: number[] = [];
  for (const digest of digests) {
    copies.push((await timed(() => copied(now, files.path('copy')))).seconds);
    seconds.push((await timed(() => store.find(digest))).seconds);
  }
  const copy = spreadOf(copies);
  const rebuilding = seconds.map((each) => each / copy.median);
  const [sizes, slowest] = [kept / size, Math.max(...rebuilding)];
  const what = `${checkpoints} successive checkpoints of ${size / MB} MB`;
  return {
    table: {
      title: `${what}, of which 1 % of the numbers changes each time`,
      columns: ['kept, in sizes of one', 'intact', 'a plain copy (ms)', 'rebuilding one (ms)', 'in times of the median copy'],
      rows: [
        [sizes, intact, showSpread(inMilliseconds(copies), 0), showSpread(inMilliseconds(seconds), 0), showSpread(spreadOf(rebuilding), 1)],
      ],
    },
    checks: [
      { what: `${what}: all intact`, target: `${checkpoints}`, measured: `${intact}`, met: intact === checkpoints },
      { what: `${what}: kept`, target: '≤ a tenth', measured: (sizes / checkpoints).toFixed(3), met: sizes <= checkpoints / 10 },
      {
        what: `${what}: rebuilding`,
        target: 'bounded: ≤ 20 plain copies',
        measured: `${slowest.toFixed(1)} at the most`,
        met: slowest <= 20,
      },
    ],
  };
}

function inMilliseconds(seconds: readonly number[]): Spread {
  return spreadOf(seconds.map((each) => 1000 * each));
}

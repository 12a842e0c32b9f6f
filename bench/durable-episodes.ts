import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openSqliteStore } from '../src/adapters/store/sqlite/open-sqlite-store.ts';
import { readEpisodesFrom, type Leg, type StoredEpisode } from '../src/evaluation-store/episode-log.ts';
import type { EvaluationStore } from '../src/evaluation-store/evaluation-store.ts';
import type { Ownership } from '../src/evaluation-store/ownership.ts';
import { StoredJournal } from '../src/evaluation-store/stored-journal.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { parseEpisodeIndex, parseEvaluationId, parseOwnerId } from '../src/kernel/ids.ts';
import type { EvaluationRequest } from '../src/orchestrator/evaluate.ts';
import type { Benchmark, Cell, Check } from './benchmark.ts';
import { ownMemory } from './memory-of.ts';
import { NOOP, RealSandboxes } from './real-sandboxes.ts';
import { showSpread, spreadOf, type Spread } from './spread.ts';

const SIZES = [
  { sandboxes: 1, episodes: 20_000 },
  { sandboxes: 16, episodes: 50_000 },
  { sandboxes: 64, episodes: 50_000 },
];
const LEG: Leg = { arm: 0, cacheKey: undefined };
const BATCH = 500;

const ALONE = 'the store alone';

interface Size {
  readonly sandboxes: number;
  readonly episodes: number;
}

function sizes(quick: boolean): readonly Size[] {
  return quick ? SIZES.slice(0, 2).map(({ sandboxes }) => ({ sandboxes, episodes: 5_000 })) : SIZES;
}

function nameOf({ sandboxes }: Size): string {
  return `${sandboxes} sandboxes`;
}

export const durableEpisodes: Benchmark = {
  name: 'durable',
  summary: 'no-op episodes that are stored in SQLite before they count, beside ones that are not; and a million in the store alone',
  measurements: (quick) => [...sizes(quick).map(nameOf), ALONE],
  async run({ quick, measured }) {
    await using place = await StorePlace.open();
    const rows: Cell[][] = [];
    const checks: Check[] = [];
    for (const size of sizes(quick)) {
      const { sandboxes: count, episodes } = size;
      const { plain, durable, ratio, delay } = await measured(nameOf(size), async () => {
        await using sandboxes = await RealSandboxes.warm(count);
        return await inTurns(sandboxes, await sandboxes.request(NOOP, episodes), place.store, quick ? 2 : 6);
      });
      rows.push([count, episodes, showSpread(plain, 0), showSpread(durable, 0), showSpread(ratio, 2), delay.toFixed(1)]);
      checks.push({
        what: `no-op episodes stored in SQLite, ${count} sandboxes`,
        target: '≥ 0.7 × without a store',
        measured: showSpread(ratio, 2),
        met: ratio.median >= 0.7,
      });
    }
    const alone = await measured(ALONE, () => storeAlone(place.store, quick ? 50_000 : 1_000_000));
    return {
      tables: [
        {
          title: 'Episodes a second: median and range of alternating runs',
          columns: ['sandboxes', 'episodes', 'without a store', 'with SQLite', 'ratio', 'event loop p99 with SQLite (ms)'],
          rows,
        },
        {
          title: 'The store alone, one evaluation',
          columns: [
            'episodes',
            'append (µs each)',
            'of the main thread',
            'read all (µs each)',
            'a page anywhere (ms)',
            'heap kept (MB)',
            'peak RSS (MiB)',
          ],
          rows: [alone],
        },
      ],
      checks,
      notes: [
        `The store is a file that is synchronised at every commit. Alone, ${BATCH} episodes are appended at a time, four appends at a time.`,
      ],
    };
  },
};

class StorePlace implements AsyncDisposable {
  readonly store: EvaluationStore;
  readonly #directory: string;

  private constructor(store: EvaluationStore, directory: string) {
    this.store = store;
    this.#directory = directory;
  }

  static async open(): Promise<StorePlace> {
    const directory = await mkdtemp(join(tmpdir(), 'muster-bench-'));
    return new StorePlace(await openSqliteStore(join(directory, 'muster.db'), systemClock), directory);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true });
  }
}

interface InTurns {
  readonly plain: Spread;
  readonly durable: Spread;
  /** Of the two neighbouring runs of each round. */
  readonly ratio: Spread;
  readonly delay: number;
}

async function inTurns(sandboxes: RealSandboxes, request: EvaluationRequest, store: EvaluationStore, rounds: number): Promise<InTurns> {
  const rates = { plain: new Array<number>(), durable: new Array<number>() };
  const delays = monitorEventLoopDelay({ resolution: 1 });
  const timed = async (kind: keyof typeof rates, journal: StoredJournal | undefined): Promise<void> => {
    const start = performance.now();
    const { official, partial } = await sandboxes.evaluate(request, journal ? { journal } : {});
    rates[kind].push((1000 * official.episodes) / (performance.now() - start));
    if (partial) throw new Error('the evaluation was partial');
  };
  const durable = async (): Promise<void> => {
    const journal = new StoredJournal(store, await newEvaluation(store), LEG);
    delays.enable();
    await timed('durable', journal);
    delays.disable();
  };
  await timed('plain', undefined);
  rates.plain.length = 0;
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) await timed('plain', undefined);
    await durable();
    if (round % 2 === 1) await timed('plain', undefined);
  }
  const ratios = rates.durable.map((rate, round) => rate / (rates.plain[round] ?? Number.NaN));
  return { plain: spreadOf(rates.plain), durable: spreadOf(rates.durable), ratio: spreadOf(ratios), delay: delays.percentile(99) / 1e6 };
}

async function storeAlone(store: EvaluationStore, episodes: number): Promise<Cell[]> {
  const owned = await newEvaluation(store);
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 20);
  const before = ownMemory();
  const cpu = threadMicros();
  const start = performance.now();
  let next = 0;
  const appender = async (): Promise<void> => {
    while (next < episodes) {
      const from = next;
      next += BATCH;
      await store.episodes.append(
        owned,
        LEG,
        Array.from({ length: BATCH }, (_, i) => episodeAt(from + i)),
      );
    }
  };
  await Promise.all(Array.from({ length: 4 }, appender));
  const appended = (1000 * (performance.now() - start)) / episodes;
  const appendedCpu = (threadMicros() - cpu) / episodes;
  const readStart = performance.now();
  let read = 0;
  for await (const { index } of readEpisodesFrom(store.episodes, owned.evaluation, 0, 0)) {
    if (index !== read) throw new Error(`episode ${read} is missing`);
    read += 1;
  }
  if (read !== episodes) throw new Error(`${read} episodes were read, ${episodes} stored`);
  const readAll = (1000 * (performance.now() - readStart)) / episodes;
  const pages: number[] = [];
  for (let i = 0; i < 200; i += 1) {
    const pageStart = performance.now();
    await store.episodes.page(owned.evaluation, 0, Math.floor((i / 200) * episodes), 100);
    pages.push(performance.now() - pageStart);
  }
  clearInterval(watch);
  const after = ownMemory();
  const kept = (after.heapBytes + after.externalBytes - before.heapBytes - before.externalBytes) / 1e6;
  const times = [appended.toFixed(2), appendedCpu.toFixed(2), readAll.toFixed(2), showSpread(spreadOf(pages), 2)];
  return [episodes, ...times, kept.toFixed(1), Math.round(peak / 2 ** 20)];
}

async function newEvaluation(store: EvaluationStore): Promise<Ownership> {
  const id = parseEvaluationId(`bench-${randomBytes(8).toString('hex')}`);
  await store.evaluations.accept({ id, principal: 'bench', request: {}, suite: 'bench', labels: {}, priority: 0 });
  const ownership = await store.ownerships.claim(id, parseOwnerId('bench'), 3_600_000);
  if (!ownership) throw new Error('it has another owner');
  await store.course.begin(ownership);
  return ownership;
}

function episodeAt(index: number): StoredEpisode {
  const outcome = { kind: 'completed', return: (index % 997) / 997, length: 200, metrics: {} } as const;
  return { index: parseEpisodeIndex(index), task: 0, outcome, seconds: 0.001 };
}

function threadMicros(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

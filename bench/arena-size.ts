import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAgentEpisodeId } from '../src/agents/arena/episode-ids.ts';
import { NOTHING_SPENT } from '../src/agents/arena/episode-state.ts';
import { readSteps } from '../src/agents/arena/shared-steps.ts';
import type { NewAgentEpisode, Trajectories } from '../src/agents/arena/trajectories.ts';
import { DEFAULT_TERMS } from '../src/agents/tasks/arena-rules.ts';
import { parseTaskDigest, parseTaskId } from '../src/agents/tasks/task-ids.ts';
import { connect } from '../src/app/client/server-client.ts';
import { openEvaluationStore } from '../src/app/stores.ts';
import { digestBytes } from '../src/kernel/canonical-json.ts';
import { systemClock } from '../src/kernel/clock.ts';
import { parseOwnerId } from '../src/kernel/ids.ts';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import type { Benchmark } from './benchmark.ts';
import { availableBytes } from './memory-of.ts';
import { OwnServer } from './own-server.ts';

const TASK = 'fix-bug-in-sort-function';
const IDLE = 'idle open episodes';
const FORK = 'forks of a workspace with 200 MB';
const STORED = 'stored trajectories, listed and exported';
const STEPS = 50;
const MEGABYTE = 1e6;

export const arenaSize: Benchmark = {
  name: 'arena-size',
  summary:
    'what an idle open episode takes, what a fork of a large workspace costs, and how fast many stored trajectories are found and exported',
  measurements: () => [IDLE, FORK, STORED],
  async run({ quick, measured }) {
    const episodes = quick ? 40 : 2000;
    const megabytes = quick ? 8 : 200;
    const trajectories = quick ? 100 : 10_000;
    const perEpisode = await measured(IDLE, () => holdIdle(episodes));
    const { forkMs, firstStepMs, diskMegabytes } = await measured(FORK, () => forkLarge(megabytes, quick ? 5 : 20));
    const { queryP99, exported } = await measured(STORED, () => listAndExport(trajectories, quick ? 50 : 500));
    return {
      tables: [
        {
          title: `${episodes} idle open episodes, forks of ${megabytes} MB, ${trajectories} trajectories of ${STEPS} steps`,
          columns: ['what', 'measured'],
          rows: [
            ['memory of an idle open episode, server and workspace (MB)', perEpisode.toFixed(2)],
            ['a fork (ms)', forkMs.toFixed(1)],
            ['the first step of a fork, which makes its workspace (ms)', firstStepMs.toFixed(0)],
            ['more on the disk for a fork (MB)', diskMegabytes.toFixed(3)],
            ['a list by task and reward, p99 (ms)', queryP99.toFixed(1)],
            ['steps exported a second', exported.toFixed(0)],
          ],
        },
      ],
      checks: [
        { what: 'an idle open episode', target: '≤ 3 MB', measured: `${perEpisode.toFixed(2)} MB`, met: perEpisode <= 3 },
        { what: 'a fork', target: '≤ 50 ms', measured: `${forkMs.toFixed(1)} ms`, met: forkMs <= 50 },
        { what: 'a fork on the disk', target: '≤ 1 MB', measured: `${diskMegabytes.toFixed(3)} MB`, met: diskMegabytes <= 1 },
        { what: 'a list by task and reward, p99', target: '≤ 50 ms', measured: `${queryP99.toFixed(1)} ms`, met: queryP99 <= 50 },
        { what: 'steps exported a second', target: '≥ 20,000', measured: exported.toFixed(0), met: exported >= 20_000 },
      ],
      notes: [
        'Memory is what the machine has less of, divided by the episodes: the first episode and what it needs is not counted. Nothing else may run.',
        'Trajectories are in SQLite, and read in pages of 100 as an export reads them.',
      ],
    };
  },
};

/** @returns megabytes for each. */
async function holdIdle(episodes: number): Promise<number> {
  const limits = { workspaces: episodes + 2, idleSeconds: 86_400 };
  await using server = await OwnServer.start({}, { arena: { tasks: [join(PACKAGE_ROOT, 'examples/code')], ...limits } });
  const { arena } = connect(server.url);
  await arena.start(TASK, 'bench');
  const before = availableBytes();
  const atATime = 8;
  for (let begun = 0; begun < episodes; begun += atATime)
    await Promise.all(Array.from({ length: Math.min(atATime, episodes - begun) }, () => arena.start(TASK, 'bench')));
  return (before - availableBytes()) / episodes / MEGABYTE;
}

interface Forked {
  readonly forkMs: number;
  readonly firstStepMs: number;
  readonly diskMegabytes: number;
}

/** Means over forks of the last step of an episode that has written so much, of random bytes. */
async function forkLarge(megabytes: number, forks: number): Promise<Forked> {
  const limits = { workspaces: 2, bytesWritten: '1024GiB' };
  const templates = { local: { limits: { diskBytes: '2GiB', memoryBytes: '2GiB' } } };
  await using server = await OwnServer.start({}, { templates, arena: { tasks: [join(PACKAGE_ROOT, 'examples/code')], ...limits } });
  const { arena } = connect(server.url);
  const { episode } = await arena.start(TASK, 'bench');
  const each = Math.min(50, megabytes);
  for (let step = 1; step * each <= megabytes; step += 1)
    await arena.step(episode, step, { action: 'run', command: `head -c ${each}M /dev/urandom >large-${step}` });
  const at = Math.floor(megabytes / each);
  const before = await server.diskBytes();
  const begun = performance.now();
  const forked: string[] = [];
  for (let i = 0; i < forks; i += 1) forked.push(...(await arena.fork(episode, { at, n: 1 })).map((fork) => fork.episode));
  const forkMs = (performance.now() - begun) / forks;
  const diskMegabytes = ((await server.diskBytes()) - before) / forks / MEGABYTE;
  await arena.cancel(episode);
  const first = performance.now();
  await arena.step(forked[0] ?? '', at + 1, { action: 'run', command: 'true' });
  return { forkMs, firstStepMs: performance.now() - first, diskMegabytes };
}

interface Found {
  readonly queryP99: number;
  readonly exported: number;
}

async function listAndExport(count: number, queries: number): Promise<Found> {
  await using place = await mkdtempDisposable(join(tmpdir(), 'muster-bench-'));
  await using store = await openEvaluationStore({ store: { url: join(place.path, 'muster.db') } }, systemClock);
  const { trajectories } = store;
  const numbers = Array.from({ length: count }, (_, i) => i).values();
  const fill = async (): Promise<void> => {
    for (const i of numbers) await storeOne(trajectories, i);
  };
  await Promise.all(Array.from({ length: 64 }, fill));
  const taken: number[] = [];
  for (let i = 0; i < queries; i += 1) {
    const begun = performance.now();
    await trajectories.list({ task: `bench/task-${i % 10}`, leastReward: 0.5 }, { limit: 100 });
    taken.push(performance.now() - begun);
  }
  const sorted = taken.toSorted((a, b) => a - b);
  return { queryP99: sorted[Math.floor(sorted.length * 0.99)] ?? 0, exported: await exportAll(trajectories) };
}

/** @returns steps a second. */
async function exportAll(trajectories: Trajectories): Promise<number> {
  const begun = performance.now();
  let steps = 0;
  let after: string | undefined;
  do {
    const page = await trajectories.list({}, { limit: 100, after });
    const read = await Promise.all(page.items.map((episode) => readSteps(trajectories, episode, 0, STEPS)));
    steps += read.reduce((sum, each) => sum + each.length, 0);
    after = page.next;
  } while (after !== undefined);
  return (1000 * steps) / (performance.now() - begun);
}

const DIGEST = digestBytes('task');

async function storeOne(trajectories: Trajectories, i: number): Promise<void> {
  const episode: NewAgentEpisode = {
    id: parseAgentEpisodeId(`ep-${String(i).padStart(8, '0')}`),
    principal: 'bench',
    task: parseTaskId(`bench/task-${i % 10}`),
    taskDigest: parseTaskDigest(DIGEST),
    agent: 'bench',
    seed: i,
    gradingSeed: 'bench',
    limits: { steps: STEPS, seconds: 3600, bytesWritten: 1e9, output: 1e9, idleSeconds: 3600 },
    actions: ['run', 'submit'],
    terms: DEFAULT_TERMS,
    gradesAbandoned: false,
    origin: undefined,
  };
  const { id } = await trajectories.create(episode);
  const hold = await trajectories.hold(id, parseOwnerId('bench'), 3_600_000);
  if (!hold) throw new Error(`${id} could not be held`);
  const answer = JSON.stringify({ observation: { text: 'x'.repeat(1000) } });
  for (let number = 1; number <= STEPS; number += 1)
    await trajectories.append(hold, {
      number,
      digest: `${number}`,
      action: { action: 'run', command: 'true' },
      answer,
      delta: undefined,
      spent: NOTHING_SPENT,
      endedBy: number === STEPS ? 'submit' : undefined,
    });
  const reward = (i % 7) / 6;
  await trajectories.close(hold, 'submit', { outcome: 'rewarded', reward, document: JSON.stringify({ reward }) });
}

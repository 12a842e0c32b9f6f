import type { Benchmark, BenchmarkContext, Table } from './benchmark.ts';
import { allAtOnce, playBare } from './bare-loop.ts';
import { isNothing, leftoversOf, showLeftovers } from './leftovers.ts';
import { type Limit, limitsInReach } from './machine-limits.ts';
import { availableBytes, sandboxMemory } from './memory-of.ts';
import { descendants, untilGone } from './process-tree.ts';
import { CARTPOLE, RealSandboxes } from './real-sandboxes.ts';

const SANDBOXES = 2_000;
const MB = 1e6;

const CROWD = 'reached, played, ended';

export const forkedCrowd: Benchmark = {
  name: 'forked-crowd',
  summary: 'two thousand forked sandboxes at once: reached, each plays, all gone; and how near the limits of the machine are',
  measurements: () => [CROWD],
  async run({ quick, say, measured }: BenchmarkContext) {
    const count = quick ? 40 : SANDBOXES;
    const { rows, limits, reached, episodes, goneSeconds, left } = await measured(CROWD, () => crowd(count, say));
    const nothing = isNothing(left);
    const check = { what: `${count} forked sandboxes`, target: 'reached, each plays, all gone, nothing left' };
    const found = `${reached} ready, ${episodes} episodes, gone after ${goneSeconds.toFixed(2)} s, left: ${showLeftovers(left)}`;
    return {
      tables: [stepTable(count, rows), limitTable(limits)],
      checks: [{ ...check, measured: found, met: reached === count && episodes === count && nothing }],
      notes: [
        'Each plays one episode, sandbox i the one with index i, as a bare loop deals them out.',
        'PSS: of all processes, the zygote included. Missing: what the whole machine has less available, kernel and Muster included.',
        'Limits: how much is in use while all of them are ready, by everything on the machine where the limit is the machine\u2019s.',
      ],
    };
  },
};

async function crowd(count: number, say: (text: string) => void) {
  const before = availableBytes();
  const rows: [string, number, number, number][] = [];
  let began = performance.now();
  const step = (what: string): void => {
    const seconds = (performance.now() - began) / 1000;
    const { sandboxes, zygote } = sandboxMemory('forked');
    rows.push([what, seconds, (sandboxes.pssBytes + zygote.pssBytes) / MB, (before - availableBytes()) / MB]);
    began = performance.now();
  };
  say(`${count} sandboxes`);
  await using sandboxes = await RealSandboxes.warm(count, 'forked');
  const reached = sandboxes.pool.state().sandboxes.idle;
  step('all of them ready');
  const limits = limitsInReach();
  say('each plays an episode');
  began = performance.now();
  const played = await playBare(sandboxes, await sandboxes.request(CARTPOLE, count), count, allAtOnce);
  step('each has played an episode of CartPole');
  say('the end');
  const processes = descendants(process.pid);
  began = performance.now();
  const [gone] = await Promise.all([untilGone(processes), sandboxes.close()]);
  const goneSeconds = (gone - began) / 1000;
  step('all of them gone');
  const left = await leftoversOf(sandboxes.directory, sandboxes.owner);
  return { rows, limits, reached, episodes: played.episodes, goneSeconds, left };
}

function stepTable(count: number, rows: readonly [string, number, number, number][]): Table {
  return {
    title: `${count} sandboxes, step by step`,
    columns: ['', 'seconds', 'PSS (MB)', 'missing (MB)', 'missing a sandbox (MB)'],
    rows: rows.map(([what, seconds, pss, missing]) => [what, seconds, pss, missing, missing / count]),
  };
}

function limitTable(limits: readonly Limit[]): Table {
  return {
    title: 'Limits of the machine',
    columns: ['', 'used', 'of', '%'],
    rows: limits.map(({ what, used, limit }) => [what, used, limit ?? 'none', limit === undefined ? '' : (100 * used) / limit]),
  };
}

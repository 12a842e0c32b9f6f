import type { PlayDeclaration } from '../src/orchestrator/play.ts';
import type { Benchmark, Cell, Check } from './benchmark.ts';
import { RealSandboxes, type Workload } from './real-sandboxes.ts';
import { showSpread, spreadOf } from './spread.ts';

const SANDBOXES = 16;
const EPISODES = 20_000;
const QUICK_EPISODES = 1_500;
const ROUNDS = 3;
const MOST_IDLE = 0.15;
const FORMS: readonly PlayDeclaration[] = [{ mode: 'single' }, { mode: 'lockstep', width: 8, block: 32 }];
/** From 10 to 1,000 steps. */
const VARIED: Workload = { environment: 'varied:make', files: 'bench/environments', bounds: [0, 1_000] };

export const idleSandboxes: Benchmark = {
  name: 'idle',
  summary: 'episodes whose lengths differ a hundredfold: the share of their time that sandboxes have nothing to play',
  async run({ quick, say }) {
    await using sandboxes = await RealSandboxes.warm(SANDBOXES);
    const rows: Cell[][] = [];
    const checks: Check[] = [];
    for (const play of FORMS) {
      const idle: number[] = [];
      for (let round = 0; round < (quick ? 1 : ROUNDS); round += 1) {
        say(`${play.mode}, round ${round + 1}`);
        idle.push(await idleShare(sandboxes, { ...VARIED, play }, quick ? QUICK_EPISODES : EPISODES));
      }
      const share = spreadOf(idle.map((one) => 100 * one));
      rows.push([play.mode, quick ? QUICK_EPISODES : EPISODES, showSpread(share, 1)]);
      checks.push({
        what: `idle time of ${SANDBOXES} sandboxes, ${play.mode}`,
        target: `≤ ${100 * MOST_IDLE} %`,
        measured: `${showSpread(share, 1)} %`,
        met: share.median <= 100 * MOST_IDLE,
      });
    }
    return {
      tables: [{ title: `Lengths from 10 to 1,000 steps, ${SANDBOXES} sandboxes`, columns: ['', 'episodes', '% idle'], rows }],
      checks,
      notes: [
        'Idle is whatever of the time from being leased to being given back a sandbox did not play: loading the policy, waiting for work, and the tail, when others still play. Episodes that were not needed in the end count as played.',
      ],
    };
  },
};

async function idleShare(sandboxes: RealSandboxes, workload: Workload, episodes: number): Promise<number> {
  const { run, partial } = await sandboxes.evaluate(await sandboxes.request(workload, episodes));
  if (partial || run.episodeSeconds === null) throw new Error('the evaluation was partial');
  return 1 - (run.episodeSeconds.mean * run.outcomes) / run.sandboxSeconds;
}

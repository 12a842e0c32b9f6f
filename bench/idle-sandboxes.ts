import type { PlayDeclaration } from '../src/orchestrator/suite/play.ts';
import type { Benchmark, Cell, Check } from './benchmark.ts';
import { RealSandboxes, type Workload } from './real-sandboxes.ts';
import { showSpread, spreadOf } from './spread.ts';

const SANDBOXES = 16;
const EPISODES = 20_000;
const QUICK_EPISODES = 300;
const ROUNDS = 3;
const MOST_IDLE = 0.15;
const SAMPLE_MILLISECONDS = 5;
const FORMS: readonly PlayDeclaration[] = [{ mode: 'single' }, { mode: 'lockstep', width: 8, block: 32 }];
/** From 10 to 1,000 steps. */
const VARIED: Workload = { environment: 'varied:make', files: 'bench/environments', bounds: [0, 1_000] };

export const idleSandboxes: Benchmark = {
  name: 'idle',
  summary: 'episodes whose lengths differ a hundredfold: the share of their time that sandboxes have nothing to play',
  measurements: (quick) => FORMS.flatMap((play) => roundsOf(quick).map((round) => roundName(play, round))),
  async run({ quick, measured }) {
    await using sandboxes = await RealSandboxes.warm(SANDBOXES);
    const rows: Cell[][] = [];
    const checks: Check[] = [];
    for (const play of FORMS) {
      const idle: number[] = [];
      for (const round of roundsOf(quick)) {
        const share = (): Promise<number> => idleShare(sandboxes, { ...VARIED, play }, quick ? QUICK_EPISODES : EPISODES);
        idle.push(await measured(roundName(play, round), share));
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
        `Idle is a sandbox that owes no outcome, as Muster's thread sees it every ${SAMPLE_MILLISECONDS} ms from the request to the last outcome: while it loads the policy, waits for work, and in the tail, when others still play. One that has work and waits for a processor is not idle: there are fewer processors than sandboxes.`,
      ],
    };
  },
};

function roundsOf(quick: boolean): readonly number[] {
  return Array.from({ length: quick ? 1 : ROUNDS }, (_, round) => round);
}

function roundName({ mode }: PlayDeclaration, round: number): string {
  return `${mode}, round ${round + 1}`;
}

async function idleShare(sandboxes: RealSandboxes, workload: Workload, episodes: number): Promise<number> {
  const request = await sandboxes.request(workload, episodes);
  let samples: { readonly at: number; readonly idle: number }[] = [];
  let end = 0;
  const look = (): void => {
    const open = sandboxes.sessions.filter(({ isClosed }) => !isClosed);
    const idle = open.filter(({ outstandingRanges }) => outstandingRanges === 0).length;
    samples.push({ at: performance.now(), idle: idle / open.length });
  };
  const watch = setInterval(look, SAMPLE_MILLISECONDS);
  try {
    const { partial } = await sandboxes.evaluate(request, { onProgress: () => (end = performance.now()) });
    if (partial) throw new Error('the evaluation was partial');
  } finally {
    clearInterval(watch);
  }
  samples = samples.filter(({ at }) => at <= end);
  if (samples.length === 0) throw new Error('the evaluation was over before anybody looked');
  return samples.reduce((sum, { idle }) => sum + idle, 0) / samples.length;
}

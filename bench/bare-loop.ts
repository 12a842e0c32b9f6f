import type { EvaluationRequest } from '../src/orchestrator/evaluate.ts';
import { createEpisodePlanner } from '../src/orchestrator/suite/suite-definition.ts';
import type { PlannedEpisode } from '../src/runner/playlist.ts';
import type { Sandbox } from '../src/pool/ports/sandbox.ts';
import { MAX_RANGE_EPISODES } from '../src/runner/frames.ts';
import { BareRunner } from './bare-runner.ts';
import type { RealSandboxes } from './real-sandboxes.ts';

/** What came of the episodes of a suite, and how long it took from the loading of the policy to the last outcome. */
export interface Played {
  readonly seconds: number;
  /** The part of `seconds` that passed until every runner had the policy. */
  readonly loadSeconds: number;
  readonly episodes: number;
  readonly meanReturn: number;
  readonly steps: number;
}

type Play = (runner: BareRunner, share: Share) => Promise<void>;

/** The episodes that one of several sandboxes plays. */
interface Share {
  readonly position: number;
  readonly of: number;
  readonly episodes: number;
  readonly plan: (index: number) => PlannedEpisode;
}

/** The yardstick for small episodes: each sandbox is sent one episode, and the next when its outcome has come. */
export const oneByOne: Play = async (runner, { position, of, episodes, plan }) => {
  for (let index = position; index < episodes; index += of) await runner.play([plan(index)]);
};

/** The yardstick for long episodes: each sandbox is sent its whole share at once. */
export const allAtOnce: Play = async (runner, { position, of, episodes, plan }) => {
  const share: PlannedEpisode[] = [];
  for (let index = position; index < episodes; index += of) share.push(plan(index));
  const ranges: Promise<void>[] = [];
  for (let i = 0; i < share.length; i += MAX_RANGE_EPISODES) ranges.push(runner.play(share.slice(i, i + MAX_RANGE_EPISODES)));
  await Promise.all(ranges);
};

/**
 * Plays a fixed number of episodes with the same sandboxes and runners as Muster, without anything of what Muster does: no checks, no limits,
 * no fold, no leases.
 */
export async function playBare(sandboxes: RealSandboxes, request: EvaluationRequest, episodes: number, play: Play): Promise<Played> {
  const { signal } = new AbortController();
  const leases = await Promise.all(
    Array.from({ length: sandboxes.count }, () => sandboxes.pool.acquire({ kind: 'data', principal: 'bench' }, signal)),
  );
  const runners = leases.map(({ sandbox }) => new BareRunner(sandbox));
  const plan = createEpisodePlanner(request.suite);
  try {
    const start = performance.now();
    const secondsSince = (): number => (performance.now() - start) / 1000;
    await Promise.all(leases.map(({ sandbox }, position) => load(runners[position], sandbox, sandboxes, request)));
    const loadSeconds = secondsSince();
    await Promise.all(runners.map((runner, position) => play(runner, { position, of: runners.length, episodes, plan })));
    const seconds = secondsSince();
    const total = (count: (runner: BareRunner) => number): number => runners.reduce((sum, runner) => sum + count(runner), 0);
    const played = total((runner) => runner.episodes);
    const meanReturn = total(({ returns }) => returns) / played;
    return { seconds, loadSeconds, episodes: played, meanReturn, steps: total(({ steps }) => steps) };
  } finally {
    for (const runner of runners) runner[Symbol.dispose]();
    for (const lease of leases) await lease[Symbol.asyncDispose]();
  }
}

async function load(
  runner: BareRunner | undefined,
  sandbox: Sandbox,
  { distributor }: RealSandboxes,
  request: EvaluationRequest,
): Promise<void> {
  const { suite, suiteFiles, checkpoint } = request;
  const { signal } = new AbortController();
  const code = suiteFiles ? await distributor.deliver(suiteFiles, sandbox, signal) : null;
  const path = await distributor.deliver(checkpoint, sandbox, signal);
  const tasks = suite.tasks.map(({ name, environment }) => ({ name, environment }));
  await runner?.load({ policy: { path, digest: checkpoint.digest }, code, tasks, actions: suite.actions, metrics: [] });
}

import type { ProofOfTasks } from '../../agents/preparation/preparation-report.ts';
import type { Config } from '../../config/config.ts';
import { Muster } from '../main.ts';

const EXPECTED = [
  ['oracle', 1],
  ['nop', 0],
] as const;
/** Of each task. A task of a suite is drawn by chance, so that some are played more often. */
const EPISODES = 2;

/** Plays the suite of the tasks as an evaluation does: with the solutions of the tasks, and with nothing done. */
export async function proveTasks(config: Config, suite: string, tasks: number, signal: AbortSignal): Promise<ProofOfTasks> {
  await using muster = await Muster.open(config);
  const loaded = await muster.loadSuite({ suite, stop: { rule: 'fixed', episodes: EPISODES * tasks } }, signal);
  const proof: ProofOfTasks = [];
  for (const [agent, expected] of EXPECTED) {
    const { official } = await muster.evaluateLoaded(loaded, { checkpoint: agent }, { signal });
    proof.push({ agent, episodes: official.episodes, mean: official.mean, isAsExpected: official.mean === expected });
  }
  return proof;
}

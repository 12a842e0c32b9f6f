import type { ProofOfTasks } from '../../agents/preparation/preparation-report.ts';
import type { Config } from '../../config/config.ts';
import { createEpisodePlanner, type SuiteDefinition } from '../../orchestrator/suite/suite-definition.ts';
import { Muster } from '../main.ts';

const EXPECTED = [
  ['oracle', 1],
  ['nop', 0],
] as const;
/** The average number of episodes of each task. */
const EPISODES = 2;

/** Plays every task of the suite as an evaluation does: with the solutions of the tasks, and with nothing done. */
export async function proveTasks(config: Config, suite: string, signal: AbortSignal): Promise<ProofOfTasks> {
  await using muster = await Muster.open(config);
  const { definition } = await muster.loadSuite({ suite }, signal);
  const loaded = await muster.loadSuite({ suite, stop: { rule: 'fixed', episodes: countEpisodes(definition) } }, signal);
  const proof: ProofOfTasks = [];
  for (const [agent, expected] of EXPECTED) {
    const { official } = await muster.evaluateLoaded(loaded, { checkpoint: agent }, { signal });
    // An episode that the infrastructure lost says nothing of its task.
    const mean = official.unresolved === 0 ? official.mean : null;
    proof.push({ agent, episodes: official.episodes, mean, isAsExpected: mean === expected });
  }
  return proof;
}

/** Counts the episodes until each task is drawn: a suite's episodes draw their tasks by chance. */
export function countEpisodes({ seed, tasks }: Pick<SuiteDefinition, 'seed' | 'tasks'>): number {
  const plan = createEpisodePlanner({ seed, tasks });
  const left = new Set(tasks.keys());
  let count = 0;
  for (; left.size > 0 || count < EPISODES * tasks.length; count += 1) left.delete(plan(count).task);
  return count;
}

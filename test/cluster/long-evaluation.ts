import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { loadConfig } from '../../src/app/configuration.ts';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { Muster } from '../../src/app/main.ts';
import type { Progress } from '../../src/orchestrator/facts/progress.ts';
import type { Summary } from '../../src/orchestrator/results/summary.ts';
import { CARTPOLE, LATE, type Stage } from '../end-to-end/stage.ts';
import { clusterUnderTest } from './cluster-under-test.ts';

const { MUSTER_CLUSTER_PODS: SANDBOXES } = clusterUnderTest;
/** Long enough that all sandboxes are there before it is over. */
const EPISODES = Math.max(3000, 100 * SANDBOXES);
/** Where sandboxes take very long to come, they are kept for the next evaluation. */
const ROUNDS = 3;

export type Listener = (progress: Progress) => void;

/** Whether all sandboxes are in the midst of an evaluation, most of which is still to come. */
export function allAtWork({ outcomes, pool }: Progress): boolean {
  return outcomes > 0 && outcomes < EPISODES / 2 && pool.sandboxes.leased === SANDBOXES;
}

export const never = (): boolean => false;
const ignore = (): void => {};

/**
 * The same evaluation of CartPole again and again, with one pool.
 *
 * @param isEnough asked after each.
 */
export async function evaluateInRounds(
  stage: Stage,
  pool: object,
  local: object,
  onProgress: Listener = ignore,
  isEnough = never,
): Promise<readonly Summary[]> {
  const cartpole: unknown = parse(await readFile(CARTPOLE, 'utf8'));
  const suite = await stage.write('long.json', { ...Object(cartpole), stop: { rule: 'fixed', episodes: EPISODES } });
  const file = await stage.write('muster.json', { stateDir: stage.stateDir, pool, templates: { local } });
  await using muster = await Muster.open(loadConfig({ file, environment: { HOME: '/' } }));
  const summaries: Summary[] = [];
  do summaries.push(await muster.evaluate({ suite, checkpoint: LATE }, { onProgress }));
  while (summaries.length < ROUNDS && !isEnough());
  return summaries;
}

/** Digests of the official results: one, if they are the same. */
export function officials(summaries: readonly Summary[]): ReadonlySet<string> {
  return new Set(summaries.map(({ official }) => digestBytes(JSON.stringify(official))));
}

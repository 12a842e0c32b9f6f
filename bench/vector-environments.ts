import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { PACKAGE_ROOT } from '../src/kernel/package-root.ts';
import { PYTHON } from './machine.ts';

const run = promisify(execFile);

/** Of bench/peers/vector_env.py. */
export type VectorKind = 'async' | 'sync' | 'vector';

export interface VectorSetting {
  readonly kind: VectorKind;
  /** In each process. */
  readonly environments: number;
  /** That play at the same time. */
  readonly processes: number;
  readonly seconds: number;
  readonly checkpoint: string;
}

const ratesSchema = z.object({ stepsPerSecond: z.number(), episodesPerSecond: z.number() });
export type Rates = z.infer<typeof ratesSchema>;

/** CartPole in gymnasium's own vector environments with a batched policy, without Muster: the rates of all processes together. */
export async function vectorEnvironments({ kind, environments, processes, seconds, checkpoint }: VectorSetting): Promise<Rates> {
  const args = ['--kind', kind, '--environments', `${environments}`, '--seconds', `${seconds}`, checkpoint];
  const each = await Promise.all(Array.from({ length: processes }, () => peerRates(PYTHON, 'vector_env.py', args)));
  return {
    stepsPerSecond: each.reduce((sum, rates) => sum + rates.stepsPerSecond, 0),
    episodesPerSecond: each.reduce((sum, rates) => sum + rates.episodesPerSecond, 0),
  };
}

/** @param script of bench/peers, which prints its rates as JSON. */
export async function peerRates(python: string, script: string, args: readonly string[]): Promise<Rates> {
  // As sandboxes are started: with nothing inherited that would have NumPy compute in another way.
  const { PATH = '', HOME = '/' } = process.env;
  const options = { timeout: 300_000, env: { PATH, HOME } };
  const { stdout } = await run(python, [join(PACKAGE_ROOT, 'bench/peers', script), ...args], options);
  return ratesSchema.parse(JSON.parse(stdout));
}

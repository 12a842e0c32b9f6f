import { createHash } from 'node:crypto';

/**
 * Seeds of an episode, from the suite's base seed and the episode's index alone.
 *
 * Each stream is a keyed bijection of the 32-bit index, so no two of the first 2³² episodes share an environment seed
 * (or a policy seed), whatever the base seed. The mixing function is the 32-bit finaliser of MurmurHash3, applied
 * before and after the key is added.
 */
export interface EpisodeSeeds {
  /** 0 … 2³² − 1 */
  readonly environment: number;
  /** 0 … 2³² − 1 */
  readonly policy: number;
}

export interface SeedStreams {
  seeds(index: number): EpisodeSeeds;
  /** Draws a number, uniform in [0, 1), that decides the episode's task. Independent of the seeds. */
  drawTask(index: number): number;
}

export function createSeedStreams(baseSeed: number): SeedStreams {
  const environmentKey = streamKey(baseSeed, 'environment');
  const policyKey = streamKey(baseSeed, 'policy');
  const taskKey = streamKey(baseSeed, 'task');
  return {
    seeds: (index) => ({ environment: permute(index, environmentKey), policy: permute(index, policyKey) }),
    drawTask: (index) => permute(index, taskKey) / 2 ** 32,
  };
}

function streamKey(baseSeed: number, stream: string): number {
  return createHash('sha256').update(`muster seed ${baseSeed} ${stream}`).digest().readUInt32LE(0);
}

function permute(index: number, key: number): number {
  return mix32(mix32(index) + key);
}

function mix32(value: number): number {
  let h = value >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

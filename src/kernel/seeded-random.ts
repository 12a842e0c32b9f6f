import { createHash } from 'node:crypto';
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';

/** Uniform in [0, 1), with 53 random bits. */
export type Random = () => number;

/**
 * Creates a generator for simulations and bootstraps (xoroshiro128+): equal purposes and seeds give equal numbers on every machine. Its state is a
 * hash of both, so neighbouring seeds, and equal seeds of different purposes, are unrelated.
 */
export function createSeededRandom(purpose: string, seed: number): Random {
  const hash = createHash('sha256').update(`muster random ${purpose} ${seed}`).digest();
  const generator = xoroshiro128plusFromState([0, 4, 8, 12].map((at) => hash.readInt32LE(at)));
  // The generator's low bits are weak, so a double is made of 27 and 26 upper bits.
  return () => ((generator.next() >>> 5) * 2 ** 26 + (generator.next() >>> 6)) / 2 ** 53;
}

/** Draws a number, uniform in 0 … count − 1. */
export function drawIndex(random: Random, count: number): number {
  return Math.floor(random() * count);
}

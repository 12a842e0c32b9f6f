import { createHash } from 'node:crypto';
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';

/** Uniform in [0, 1), with 53 random bits. */
export type Random = () => number;

/**
 * A generator for simulations and bootstraps (xoroshiro128+): the same numbers for the same purpose and seed on every machine. Its state is a
 * hash of both, so neighbouring seeds, and equal seeds of different purposes, have nothing to do with each other.
 */
export function createSeededRandom(purpose: string, seed: number): Random {
  const hash = createHash('sha256').update(`muster random ${purpose} ${seed}`).digest();
  const generator = xoroshiro128plusFromState([0, 4, 8, 12].map((at) => hash.readInt32LE(at)));
  // The low bits of this generator are its weak ones: 27 and 26 of the upper ones make up a double.
  return () => ((generator.next() >>> 5) * 2 ** 26 + (generator.next() >>> 6)) / 2 ** 53;
}

/** Uniform among 0 … count − 1. */
export function drawIndex(random: Random, count: number): number {
  return Math.floor(random() * count);
}

import { createHash } from 'node:crypto';
import { createSeededRandom, type Random } from '../../kernel/seeded-random.ts';

/**
 * Draws the order of runs, as positions of cases: each once, and `repeated` of them twice, in an order that cannot be predicted without the seed. So
 * a candidate cannot tell by counting which case comes next, or which is a repetition.
 */
export function drawOrderOfRuns(cases: number, repeated: number, seed: string): readonly number[] {
  const random = seedRandom('order of runs', seed);
  const all = Array.from({ length: cases }, (_, at) => at);
  const twice = shuffle(all, random).slice(0, repeated);
  return shuffle([...all, ...twice], random);
}

/** Returns random numbers that a verdict's seed decides. */
export function seedRandom(purpose: string, seed: string): Random {
  return createSeededRandom(purpose, createHash('sha256').update(seed).digest().readUIntBE(0, 6));
}

export function shuffle<Item>(items: readonly Item[], random: Random): readonly Item[] {
  return items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

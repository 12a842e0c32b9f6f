import type { Random } from '../../src/kernel/seeded-random.ts';

/** Returns of the baseline and of each candidate at one index, in [0, 1]. */
export type Draw = (random: Random) => { readonly baseline: number; readonly candidates: readonly number[] };

/** With successes and failures: this share of the pairs is discordant, and the candidate wins `difference` more of all pairs than it loses. */
export const successes =
  (difference: number, discordant = 0.2): Draw =>
  (random) => {
    const where = random();
    const wins = (discordant + difference) / 2;
    if (where < wins) return { baseline: 0, candidates: [1] };
    if (where < discordant) return { baseline: 1, candidates: [0] };
    const both = random() < 0.8 ? 1 : 0;
    return { baseline: both, candidates: [both] };
  };

/** The ordinary case with shared seeds: the candidate succeeds wherever the baseline does, with these probabilities. */
export const nested =
  (baseline: number, candidate: number): Draw =>
  (random) => {
    const where = random();
    return { baseline: where < baseline ? 1 : 0, candidates: [where < candidate ? 1 : 0] };
  };

/** Each by itself: nothing is gained from the pairs. */
export const apart =
  (baseline: (random: Random) => number, candidate: (random: Random) => number): Draw =>
  (random) => ({ baseline: baseline(random), candidates: [candidate(random)] });

/** As good as each other, each by itself. */
export const unrelated =
  (candidates: number, draw: (random: Random) => number): Draw =>
  (random) => ({ baseline: draw(random), candidates: Array.from({ length: candidates }, () => draw(random)) });

export const success =
  (probability: number) =>
  (random: Random): number =>
    random() < probability ? 1 : 0;

/** This share on the upper bound, the rest uniform. */
export const balancing =
  (share: number) =>
  (random: Random): number =>
    random() < share ? 1 : random();

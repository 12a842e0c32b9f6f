import { createHash } from 'node:crypto';
import { randomIndex, createSeededRandom, type Random } from '../../kernel/seeded-random.ts';

/**
 * Which case is run when, as positions of cases: each once, and `repeated` of them twice, in an order that cannot be foreseen without the seed.
 * So a candidate cannot count the runs to find out which case comes next, or which is a repetition.
 */
export function orderOfRuns(cases: number, repeated: number, seed: string): readonly number[] {
  const random = createSeededRandom('order of runs', createHash('sha256').update(seed).digest().readUIntBE(0, 6));
  const all = Array.from({ length: cases }, (_, at) => at);
  const twice = shuffled(all, random).slice(0, repeated);
  return shuffled([...all, ...twice], random);
}

function shuffled(positions: readonly number[], random: Random): readonly number[] {
  const order = [...positions];
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = randomIndex(random, last + 1);
    [order[last], order[other]] = [order[other] ?? 0, order[last] ?? 0];
  }
  return order;
}

import { expect, test } from 'vitest';
import { ConfidenceSequence } from '../../src/aggregation/certified.ts';
import { seededRandom } from './seeded-random.ts';

const RUNS = 400;

interface Distribution {
  readonly name: string;
  readonly mean: number;
  readonly variance: number;
  readonly halfWidth: number;
  /** Values taken on average, over those that a known variance would have needed; from long simulations. */
  readonly cost: number;
  /** Three standard deviations above the misses that long simulations lead one to expect in so many runs. */
  readonly mostMissed: number;
  draw(random: () => number): number;
}

const bernoulli = (p: number, halfWidth: number, cost: number, mostMissed: number): Distribution => ({
  name: `Bernoulli(${p}) to ±${halfWidth}`,
  mean: p,
  variance: p * (1 - p),
  halfWidth,
  cost,
  mostMissed,
  draw: (random) => (random() < p ? 1 : 0),
});

/** 85 % reach the upper bound, the rest fail anywhere before it. */
const cartPoleLike: Distribution = {
  name: 'CartPole-like returns, 85 % on the upper bound',
  mean: 0.85 + 0.15 * 0.5,
  variance: 0.85 + 0.15 / 3 - (0.85 + 0.15 * 0.5) ** 2,
  halfWidth: 0.03,
  cost: 1.67,
  mostMissed: 15,
  draw: (random) => (random() < 0.85 ? 1 : random()),
};

/** Evaluations that stop as soon as the interval is narrow enough: how many miss the mean, and how many values they take. */
function evaluate(distribution: Distribution): { missed: number; values: number } {
  const random = seededRandom(20_260);
  let [missed, values] = [0, 0];
  for (let run = 0; run < RUNS; run += 1) {
    const sequence = new ConfidenceSequence({ halfWidth: distribution.halfWidth, confidence: 0.95 });
    while (sequence.high - sequence.low > 2 * distribution.halfWidth) {
      const value = distribution.draw(random);
      sequence.fold(value, value);
      values += 1;
    }
    if (distribution.mean < sequence.low || distribution.mean > sequence.high) missed += 1;
  }
  return { missed, values: values / RUNS };
}

test.each([bernoulli(0.9, 0.05, 1.66, 11), bernoulli(0.5, 0.05, 1.58, 19), bernoulli(0.98, 0.02, 1.98, 8), cartPoleLike])(
  'stopping when narrow enough keeps the promised coverage at the known cost: $name',
  (distribution) => {
    const { missed, values } = evaluate(distribution);
    expect(missed).toBeLessThanOrEqual(distribution.mostMissed);
    const withKnownVariance = (1.959963984540054 ** 2 * distribution.variance) / distribution.halfWidth ** 2;
    expect(Math.abs(values / withKnownVariance - distribution.cost)).toBeLessThan(0.08);
  },
);

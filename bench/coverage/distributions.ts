import type { Bounds } from '../../src/aggregation/intervals/bounds.ts';
import type { Random } from '../../src/kernel/seeded-random.ts';

/** Returns of one policy, drawn alike and independently. Mean and variance are exact, so that nothing is held against an estimate. */
export interface Distribution {
  readonly name: string;
  readonly mean: number;
  readonly variance: number;
  /** As a suite would declare them; undefined where returns have no end. */
  readonly bounds: Bounds | undefined;
  /** What the rules that have a target are asked for, in units of the return. */
  readonly halfWidth: number;
  /** Of the returns on the lower bound, the share that is lost to infrastructure for good: data that are missing, and not at random. */
  readonly lostShare: number;
  readonly draw: (random: Random) => number;
}

type Shape = Pick<Distribution, 'mean' | 'variance' | 'draw'>;

const UNIT: Bounds = { low: 0, high: 1 };
const CARTPOLE: Bounds = { low: 0, high: 500 };

function bounded(name: string, bounds: Bounds, halfWidth: number, shape: Shape): Distribution {
  return { name, bounds, halfWidth, lostShare: 0, ...shape };
}

function unbounded(name: string, halfWidth: number, shape: Shape): Distribution {
  return { name, bounds: undefined, halfWidth, lostShare: 0, ...shape };
}

/** 1 with probability p, else 0. */
export function bernoulli(p: number, halfWidth: number): Distribution {
  const shape = { mean: p, variance: p * (1 - p), draw: (random: Random) => (random() < p ? 1 : 0) };
  return bounded(`Bernoulli(${p})`, UNIT, halfWidth, shape);
}

/** Successes and failures of which three in ten are never learned of. */
export function losing(p: number, halfWidth: number): Distribution {
  const plain = bernoulli(p, halfWidth);
  return { ...plain, name: `${plain.name}, 3 failures in 10 lost`, lostShare: 0.3 };
}

/** The same returns in a suite that does not say what they can be. */
export function undeclared(distribution: Distribution): Distribution {
  return { ...distribution, name: `${distribution.name}, bounds not declared`, bounds: undefined };
}

/** Up to 500 steps of balancing: this share lasts to the end, the rest falls anywhere before. */
export function cartPole(share: number, halfWidth: number): Distribution {
  const end = CARTPOLE.high;
  const mean = (share + (1 - share) / 2) * end;
  const variance = (share + (1 - share) / 3) * end ** 2 - mean ** 2;
  const draw = (random: Random): number => (random() < share ? end : end * random());
  return bounded(`CartPole-like, ${100 * share} % at ${end}`, CARTPOLE, halfWidth, { mean, variance, draw });
}

/** Almost always close to the upper bound, and rarely on the lower one. */
export function rareDisaster(share: number, halfWidth: number): Distribution {
  const [from, width] = [0.95, 0.05];
  const usual = from + width / 2;
  const mean = (1 - share) * usual;
  const variance = (1 - share) * (usual ** 2 + width ** 2 / 12) - mean ** 2;
  const draw = (random: Random): number => (random() < share ? 0 : from + width * random());
  return bounded(`${100 * share} % at 0, the rest in [${from}, 1]`, UNIT, halfWidth, { mean, variance, draw });
}

/** 1 in this share of the episodes, else `usual`. */
export function twoPoints(usual: number, share: number, halfWidth: number): Distribution {
  const mean = usual + share * (1 - usual);
  const variance = share * (1 - share) * (1 - usual) ** 2;
  const draw = (random: Random): number => (random() < share ? 1 : usual);
  return bounded(`${100 * share} % at 1, the rest at ${usual}`, UNIT, halfWidth, { mean, variance, draw });
}

export function uniform(halfWidth: number): Distribution {
  return bounded('uniform', UNIT, halfWidth, { mean: 1 / 2, variance: 1 / 12, draw: (random) => random() });
}

/** Beta(a, 1), leaning on the upper bound. */
export function beta(a: number, halfWidth: number): Distribution {
  const shape = { mean: a / (a + 1), variance: a / ((a + 1) ** 2 * (a + 2)), draw: (random: Random) => random() ** (1 / a) };
  return bounded(`beta(${a}, 1)`, UNIT, halfWidth, shape);
}

/** Beta(½, ½), the arcsine distribution: much on either bound, little between them. */
export function arcsine(halfWidth: number): Distribution {
  const draw = (random: Random): number => Math.sin((Math.PI / 2) * random()) ** 2;
  return bounded('beta(½, ½)', UNIT, halfWidth, { mean: 1 / 2, variance: 1 / 8, draw });
}

export function normal(halfWidth: number): Distribution {
  return unbounded('normal', halfWidth, { mean: 0, variance: 1, draw: standardNormal });
}

/** Normal returns that depend on the one before: xᵢ = φ·xᵢ₋₁ + √(1 − φ²)·zᵢ. Keeps the last return: each evaluation has one of its own. */
export function autoregressive(correlation: number): Distribution {
  let before: number | undefined;
  const draw = (random: Random): number => {
    const fresh = standardNormal(random);
    before = before === undefined ? fresh : correlation * before + Math.sqrt(1 - correlation ** 2) * fresh;
    return before;
  };
  return unbounded(`normal, AR(1) of ${correlation}`, 0.1, { mean: 0, variance: 1, draw });
}

/** Successes and failures that come out as the one before in this share of the episodes, and afresh in the others. Keeps the last outcome. */
export function sticky(p: number, again: number): Distribution {
  const plain = bernoulli(p, 0.05);
  let before: number | undefined;
  const draw = (random: Random): number => {
    const fresh = plain.draw(random);
    before = before === undefined || random() >= again ? fresh : before;
    return before;
  };
  return { ...plain, name: `${plain.name}, as the one before in ${100 * again} %`, draw };
}

export function exponential(halfWidth: number): Distribution {
  return unbounded('exponential', halfWidth, { mean: 1, variance: 1, draw: (random) => -Math.log1p(-random()) });
}

/** e to the power of a normal deviate with standard deviation `sigma`. */
export function lognormal(sigma: number, halfWidth: number): Distribution {
  const squared = sigma ** 2;
  const shape = {
    mean: Math.exp(squared / 2),
    variance: Math.expm1(squared) * Math.exp(squared),
    draw: (random: Random) => Math.exp(sigma * standardNormal(random)),
  };
  return unbounded(`lognormal(σ = ${sigma})`, halfWidth, shape);
}

/** From 1 on, with P(x > t) = t^−shape. The variance needs a shape above 2. */
export function pareto(shape: number, halfWidth: number): Distribution {
  const mean = shape / (shape - 1);
  const variance = shape / ((shape - 1) ** 2 * (shape - 2));
  const draw = (random: Random): number => (1 - random()) ** (-1 / shape);
  return unbounded(`Pareto(${shape})`, halfWidth, { mean, variance, draw });
}

/** One of the pair of Box and Muller (1958). */
export function standardNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log1p(-random())) * Math.cos(2 * Math.PI * random());
}

import { biased, biasedVerdict } from './bias-scenarios.ts';
import { DECISION_SCENARIOS } from './decision-scenarios.ts';
import { DEPENDENCE_SCENARIOS } from './dependence-scenarios.ts';
import {
  arcsine,
  autoregressive,
  bernoulli,
  beta,
  cartPole,
  exponential,
  lognormal,
  losing,
  normal,
  pareto,
  rareDisaster,
  twoPoints,
  undeclared,
  uniform,
} from './distributions.ts';
import type { Distribution } from './distributions.ts';
import { affordable, atWorst, eitherEnd, fixed, knownCost, NEVER_WRONG, stopped, unpromised, watched } from './evaluation-scenarios.ts';
import { PUBLISHED_SCENARIOS } from './published-scenarios.ts';
import type { Scenario } from './scenario.ts';
import { titleOf } from './scenario.ts';
import { TASK_SCENARIOS } from './task-scenarios.ts';

/** Successes in the range for which the cost of `certified` is promised. */
const SUCCESSES: readonly Distribution[] = [
  bernoulli(0.05, 0.05),
  bernoulli(0.05, 0.02),
  bernoulli(0.5, 0.05),
  bernoulli(0.9, 0.05),
  bernoulli(0.95, 0.03),
];

/**
 * What an interval is promised to survive where it knows the bounds, and cannot be where it does not: there is no knowing of a loss that has not
 * happened yet (Bahadur and Savage 1956).
 */
const RARE_DISASTER = rareDisaster(0.01, 0.01);

/** The half-widths ask for some hundred episodes, as evaluations do. */
const BOUNDED: readonly Distribution[] = [
  bernoulli(0.98, 0.02),
  losing(0.9, 0.05),
  cartPole(0.85, 15),
  cartPole(0.98, 5),
  RARE_DISASTER,
  uniform(0.03),
  beta(5, 0.02),
  arcsine(0.05),
];

/**
 * Where `approximate` covers least: the lowest of some thousand pairs of values, shares and half-widths whose coverage was added up exactly. Returns keep to one
 * half of their range and now and then reach the bound.
 */
const HARDEST: readonly Distribution[] = [
  twoPoints(0.8, 0.1, 0.005),
  twoPoints(0.9, 0.4, 0.005),
  twoPoints(0.85, 0.3, 0.015),
  bernoulli(0.81, 0.04),
];
const HARDEST_COVERAGE = 0.915;

const UNBOUNDED: readonly Distribution[] = [
  normal(0.1),
  exponential(0.1),
  lognormal(1, 0.2),
  pareto(2.5, 0.1),
  undeclared(bernoulli(0.98, 0.02)),
];

/** Cost of `certified` in other simulations than this one, in multiples of (z·σ/h)². */
const KNOWN_COSTS: ReadonlyMap<string, number> = new Map([
  ['certified: Bernoulli(0.5), h = 0.05', 1.62],
  ['certified: Bernoulli(0.9), h = 0.05', 1.7],
  ['certified: Bernoulli(0.98), h = 0.02', 1.91],
  ['certified: CartPole-like, 85 % at 500, h = 15', 1.62],
]);

const CERTIFIED: readonly Scenario[] = [
  ...SUCCESSES.map(affordable),
  ...BOUNDED.map((distribution) => stopped('certified', distribution)),
].map((scenario) => {
  const cost = KNOWN_COSTS.get(titleOf(scenario));
  return cost === undefined ? scenario : knownCost(scenario, cost);
});

/** Asked of an interval that comes close to 95 %, and of one that is never below. */
const CLOSE = 0.942;
const EXACT = 0.95;

/**
 * Where theory puts the coverage of an interval for a fixed number of episodes. Student's t is exact for normal returns. The adjusted interval
 * needs a mean of n returns that is nearly normal. That of Clopper and Pearson is never below its confidence, close to the bounds least of all.
 * What is lost only widens an interval.
 */
const FIXED_PROMISED: readonly Scenario[] = [
  ...[3, 30, 100].map((episodes) => always(normal(0.1), episodes, CLOSE)),
  ...[20, 100].map((episodes) =>
    fixed({ name: 'Bernoulli(p), p uniform', episodes, policy: (random) => bernoulli(random(), 0.05), promised: EXACT }),
  ),
  ...[0.002, 0.01, 0.05, 0.5, 0.9, 0.98, 0.998].map((p) => always(bernoulli(p, 0.05), 100, EXACT)),
  ...[cartPole(0.85, 15), uniform(0.03), beta(5, 0.02), arcsine(0.05)].flatMap((distribution) =>
    [30, 100].map((episodes) => always(distribution, episodes, CLOSE)),
  ),
  always(losing(0.9, 0.05), 1000, EXACT),
];

/** Rare events and skewed or heavy tails, of which 100 returns say too little, and episodes that depend on one another. */
const FIXED_MEASURED: readonly Scenario[] = [
  ...[cartPole(0.98, 5), RARE_DISASTER].map((distribution) => always(distribution, 100)),
  ...[exponential(0.1), lognormal(1, 0.2), pareto(2.5, 0.1)].flatMap((distribution) =>
    [30, 100].map((episodes) => always(distribution, episodes)),
  ),
  ...[0.3, 0.5, 0.9].map((correlation) =>
    fixed({ name: autoregressive(correlation).name, episodes: 300, policy: () => autoregressive(correlation) }),
  ),
];

const WATCHED: readonly Scenario[] = [
  watched({ rule: 'certified', distribution: bernoulli(0.9, 0.05), episodes: 1000, targets: NEVER_WRONG }),
  watched({ rule: 'certified', distribution: bernoulli(0.98, 0.02), episodes: 1000, targets: NEVER_WRONG }),
  watched({ rule: 'certified', distribution: uniform(0.03), episodes: 1000, targets: NEVER_WRONG }),
  watched({ rule: 'certified', distribution: bernoulli(0.1, 0.04), episodes: 200, confidence: 0.6, targets: eitherEnd(0.6) }),
  watched({ rule: 'asymptotic', distribution: bernoulli(0.9, 0.05), episodes: 2000 }),
  watched({ rule: 'asymptotic', distribution: normal(0.1), episodes: 2000 }),
  watched({ rule: 'asymptotic', distribution: lognormal(1, 0.2), episodes: 2000 }),
];

/** Of the bias-reduced estimate, in standard deviations of the mean. */
const BIAS = 0.16;
const BIAS_OF_VERDICTS = 0.22;
/** Episodes in which `asymptotic` waits for its tenth failure, or success: the wait biases the mean the other way, and the two all but cancel out. */
const WAITED_FOR: ReadonlySet<string> = new Set(['Bernoulli(0.05), h = 0.05', 'Bernoulli(0.98), h = 0.02']);

const BIASES: readonly Scenario[] = [
  ...[...SUCCESSES, ...BOUNDED.filter(({ lostShare }) => lostShare === 0)].flatMap((distribution) => [
    biased('certified', distribution, BIAS),
    biased('approximate', distribution, BIAS),
    biased('asymptotic', distribution, WAITED_FOR.has(`${distribution.name}, h = ${distribution.halfWidth}`) ? undefined : BIAS),
  ]),
  ...[normal(0.1), exponential(0.1), lognormal(1, 0.2)].map((distribution) => biased('asymptotic', distribution, BIAS)),
  ...(
    [
      [0.05, 0.05],
      [0.05, 0.2],
      [0.05, 0.5],
      [0.1, 0.2],
      [0.1, 0.5],
      [0.2, 0.4],
      [0.5, 0.6],
    ] as const
  ).map(([difference, discordant]) => biasedVerdict(difference, discordant, BIAS_OF_VERDICTS)),
];

export const SCENARIOS: readonly Scenario[] = [
  ...CERTIFIED,
  ...[...SUCCESSES, ...BOUNDED].map((distribution) => stopped('approximate', distribution)),
  ...HARDEST.map((distribution) => atWorst(stopped('approximate', distribution), HARDEST_COVERAGE)),
  ...[...SUCCESSES, ...BOUNDED, ...UNBOUNDED].map((distribution) => stopped('asymptotic', distribution)),
  unpromised(stopped('asymptotic', undeclared(RARE_DISASTER))),
  ...FIXED_PROMISED,
  ...FIXED_MEASURED,
  ...WATCHED,
  ...TASK_SCENARIOS,
  ...DECISION_SCENARIOS,
  ...PUBLISHED_SCENARIOS,
  ...BIASES,
  ...DEPENDENCE_SCENARIOS,
];

/** The short form of the study: enough trials to tell a right implementation from a wrong one, in seconds. */
export const SHORT_FORM: ReadonlyMap<string, number> = new Map([
  ['certified: Bernoulli(0.9), h = 0.05', 400],
  ['certified: Bernoulli(0.98), h = 0.02', 400],
  ['certified: Bernoulli(0.5), h = 0.05', 400],
  ['certified: CartPole-like, 85 % at 500, h = 15', 400],
  ['approximate: Bernoulli(0.98), h = 0.02', 300],
  ['asymptotic: 1 % at 0, the rest in [0.95, 1], h = 0.01', 100],
  ['asymptotic: Bernoulli(0.98), bounds not declared, h = 0.02', 300],
  ['asymptotic: lognormal(σ = 1), h = 0.2', 100],
  ['fixed: Bernoulli(0.9), 3 failures in 10 lost, n = 1000', 200],
  ['fixed: normal, n = 3', 4000],
  ['fixed: Bernoulli(p), p uniform, n = 20', 2000],
  ['watched: certified at 60 %, Bernoulli(0.1), h = 0.04, 200 episodes', 1500],
  ['tasks: task population, clustered, 20 tasks', 2000],
  ['bias: certified, Bernoulli(0.9), h = 0.05', 400],
  ['bias: promoted, difference 0.1, 20 % of the pairs discordant', 200],
  ['decisions: no difference, 20 % of the pairs discordant', 100],
  ['decisions: difference 0.05, 20 % of the pairs discordant', 100],
]);

function always(distribution: Distribution, episodes: number, promised?: number): Scenario {
  return fixed({ name: distribution.name, episodes, policy: () => distribution, promised });
}

/** @throws RangeError when no scenario has the title. */
export function scenarioNamed(title: string): Scenario {
  const found = SCENARIOS.find((scenario) => titleOf(scenario) === title);
  if (found === undefined) throw new RangeError(`there is no scenario "${title}"`);
  return found;
}

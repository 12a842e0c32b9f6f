import { computeNormalQuantile } from '../../src/aggregation/intervals/distribution-quantiles.ts';
import type { Stop } from '../../src/aggregation/stopping/stopping-rule.ts';
import type { Random } from '../../src/kernel/seeded-random.ts';
import type { Distribution } from './distributions.ts';
import { evaluate, watch } from './evaluation.ts';
import type { Scenario } from './scenario.ts';
import type { Target } from './scenario.ts';

const CONFIDENCE = 0.95;
/** Where a target is so close to what is known of a row that 2,000 trials could not tell them apart: a fixed number of episodes, `approximate` at its worst. */
const CLOSE_EFFORT = 10;
/** Share of the evaluations whose interval must hold the mean. */
const PROMISED = { certified: 0.95, approximate: 0.93, asymptotic: 0.95 } as const;

export type SequentialRule = 'certified' | 'approximate' | 'asymptotic';

/** A rule that stops where the returns let it, from the first episode to its stop. */
export function stopped(rule: SequentialRule, distribution: Distribution): Scenario {
  const { name, halfWidth } = distribution;
  const stop = stopOf(rule, halfWidth);
  return {
    group: rule,
    name: `${name}, h = ${halfWidth}`,
    knownVarianceEpisodes: knownVarianceEpisodes(distribution),
    targets: [coverage(PROMISED[rule])],
    trial: (random) => evaluate(distribution, stop, random),
  };
}

/** The same on returns for which the rule is known to fall short of what it keeps elsewhere: no further than this. */
export function atWorst(scenario: Scenario, atLeast: number): Scenario {
  return { ...scenario, effort: CLOSE_EFFORT, targets: [coverage(atLeast)] };
}

/** The same, where nothing is promised. */
export function unpromised(scenario: Scenario): Scenario {
  return { ...scenario, targets: [] };
}

/** The certified rule where its cost is promised, too. */
export function affordable(distribution: Distribution): Scenario {
  const scenario = stopped('certified', distribution);
  const cost: Target = { kind: 'episodes', figure: 'cost', unit: knownVarianceEpisodes(distribution), atMost: 2 };
  return { ...scenario, targets: [...scenario.targets, cost] };
}

/** The same, where its cost is known to within 0.08: bets that are other than they should be show there, while the coverage may still be right. */
export function knownCost(scenario: Scenario, about: number): Scenario {
  const { knownVarianceEpisodes: unit = 1 } = scenario;
  const cost: Target = { kind: 'known episodes', figure: 'known cost', unit, about, within: 0.08 };
  return { ...scenario, targets: [...scenario.targets, cost] };
}

export interface FixedQuestion {
  readonly name: string;
  readonly episodes: number;
  /** The returns of one evaluation; may be drawn anew for each. */
  readonly policy: (random: Random) => Distribution;
  /** Share of the evaluations whose interval must hold the mean; undefined where it is measured and nothing is asked of it. */
  readonly promised?: number | undefined;
}

/** A number of episodes given in advance. */
export function fixed({ name, episodes, policy, promised }: FixedQuestion): Scenario {
  const stop: Stop = { rule: 'fixed', episodes, confidence: CONFIDENCE };
  return {
    group: 'fixed',
    name: `${name}, n = ${episodes}`,
    effort: CLOSE_EFFORT,
    targets: promised === undefined ? [] : [coverage(promised)],
    trial: (random) => evaluate(policy(random), stop, random),
  };
}

export interface WatchQuestion {
  readonly rule: SequentialRule;
  readonly distribution: Distribution;
  readonly episodes: number;
  readonly confidence?: number;
  readonly targets?: readonly Target[];
}

/** A rule that is looked at after every episode, long past its stop. */
export function watched({ rule, distribution, episodes, confidence = CONFIDENCE, targets = [] }: WatchQuestion): Scenario {
  const { name, halfWidth } = distribution;
  const stop = { ...stopOf(rule, halfWidth), confidence };
  return {
    group: 'watched',
    name: `${rule} at ${100 * confidence} %, ${name}, h = ${halfWidth}, ${episodes} episodes`,
    targets,
    trial: (random) => watch(distribution, stop, episodes, random),
  };
}

/** What `certified` promises at all times at once. */
export const NEVER_WRONG: readonly Target[] = [coverage(PROMISED.certified)];

/**
 * Either end of the certified interval is ever wrong with probability at most α/2, whatever was bet. A bet that knew its return would show here
 * first, and soonest where α is large.
 */
export function eitherEnd(confidence: number): readonly Target[] {
  const atLeast = (1 + confidence) / 2;
  return [
    { kind: 'share', figure: 'upper end never too low', of: ['holds', 'above'], atLeast },
    { kind: 'share', figure: 'lower end never too high', of: ['holds', 'below'], atLeast },
  ];
}

/** As the study asks each rule. */
export function stopOf(rule: SequentialRule, halfWidth: number): Stop {
  const common = { halfWidth, confidence: CONFIDENCE };
  return rule === 'asymptotic' ? { rule, ...common, tightestAt: 500 } : { rule, ...common };
}

function coverage(atLeast: number): Target {
  return { kind: 'share', figure: 'coverage', of: ['holds'], atLeast };
}

function knownVarianceEpisodes({ variance, halfWidth }: Distribution): number {
  return (computeNormalQuantile((1 + CONFIDENCE) / 2) ** 2 * variance) / halfWidth ** 2;
}

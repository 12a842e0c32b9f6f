import { normalQuantile } from '../../src/aggregation/distribution-quantiles.ts';
import type { Stop } from '../../src/aggregation/stopping-rule.ts';
import type { Random } from '../../src/kernel/seeded-random.ts';
import * as returns from './distributions.ts';
import type { Distribution } from './distributions.ts';
import { evaluate, watch } from './evaluation.ts';
import type { Group, Scenario } from './scenario.ts';
import type { Target } from './targets.ts';

const CONFIDENCE = 0.95;
/** Scenarios with a number of episodes that is fixed cost little, and their targets are the closest to what they are measured at. */
const FIXED_EFFORT = 10;

/** What a scenario has besides a rule and returns. */
interface Besides {
  readonly targets?: readonly Target[];
  readonly shortRuns?: number;
}

const coverage = (atLeast: number): Target => ({ kind: 'share', figure: 'coverage', of: ['holds'], atLeast });

/** A rule with a target, from the first episode to its stop. */
function stopped(rule: 'certified' | 'approximate' | 'asymptotic', distribution: Distribution, besides: Besides = {}): Scenario {
  const { halfWidth } = distribution;
  const common = { halfWidth, confidence: CONFIDENCE };
  const stop: Stop = rule === 'asymptotic' ? { rule, ...common, tightestAt: 500 } : { rule, ...common };
  return {
    group: rule,
    name: `${distribution.name}, h = ${halfWidth}`,
    halfWidth,
    knownVarianceEpisodes: knownVarianceEpisodes(distribution),
    effort: 1,
    shortRuns: besides.shortRuns,
    targets: [coverage(PROMISED[rule]), ...(besides.targets ?? [])],
    trial: (random) => evaluate(distribution, stop, random),
  };
}

const PROMISED = { certified: 0.95, approximate: 0.93, asymptotic: 0.95 } as const;

/** The certified rule where its cost is bounded, too: successes whose probability is in [0.05, 0.95]. */
function affordable(distribution: Distribution, shortRuns?: number): Scenario {
  const unit = knownVarianceEpisodes(distribution);
  const cost: Target = { kind: 'episodes', figure: 'episodes ÷ those with known variance', unit, atMost: 2 };
  return stopped('certified', distribution, { targets: [cost], ...(shortRuns === undefined ? {} : { shortRuns }) });
}

function knownVarianceEpisodes({ variance, halfWidth }: Distribution): number {
  return (normalQuantile((1 + CONFIDENCE) / 2) ** 2 * variance) / halfWidth ** 2;
}

/** So many episodes, fixed in advance. */
function fixed(episodes: number, name: string, policy: (random: Random) => Distribution, besides: Besides = {}): Scenario {
  const stop: Stop = { rule: 'fixed', episodes, confidence: CONFIDENCE };
  return {
    ...plain('fixed', `${name}, n = ${episodes}`, besides),
    effort: FIXED_EFFORT,
    trial: (random) => evaluate(policy(random), stop, random),
  };
}

import type { Random } from '../../src/kernel/seeded-random.ts';
import { compare } from './decision-scenarios.ts';
import { NScoreTest } from './n-score.ts';
import { apart, balancing, nested, success, successes, unrelated } from './pairs.ts';
import type { Draw } from './pairs.ts';
import type { Scenario, Trial } from './scenario.ts';
import { TwoProportionsTest } from './two-proportions.ts';

/** α as the authors of either test set it: in either direction of N-SCORE, in both together of the test of two proportions. */
const RISK = 0.05;
/** Of a comparison of one candidate: the same risk in either direction. */
const CONFIDENCE = 1 - 2 * RISK;
const MANY = 2000;
/** As robots are compared, and what STEP was made for. */
const FEW = 200;

interface SequentialTest {
  fold(baseline: number, candidate: number): void;
  readonly verdict: 'promote' | 'regress' | undefined;
}

const TESTS: readonly (readonly [name: string, create: () => SequentialTest])[] = [
  ['N-SCORE', () => new NScoreTest(1, RISK)],
  ['the test of two proportions', () => new TwoProportionsTest(RISK)],
];

/** As other scenarios ask Muster. */
const AMONG_MANY: readonly (readonly [name: string, draw: Draw])[] = [
  ['difference 0.05, nested pairs', nested(0.9, 0.95)],
  ['difference 0.15, each by itself', apart(success(0.8), success(0.95))],
  ['no difference, each succeeds in 90 % by itself', apart(success(0.9), success(0.9))],
];

const AMONG_FEW: readonly (readonly [name: string, draw: Draw])[] = [
  ['90 % and 95 %, nested pairs', nested(0.9, 0.95)],
  ['80 % and 95 %, nested pairs', nested(0.8, 0.95)],
  ['15 % of the pairs won, 5 % lost', successes(0.1)],
  ['90 % and 95 %, each by itself', apart(success(0.9), success(0.95))],
  ['80 % and 95 %, each by itself', apart(success(0.8), success(0.95))],
  ['90 % each, each by itself', apart(success(0.9), success(0.9))],
];

/** Returns that are no successes or failures. */
const GENERAL: readonly (readonly [name: string, draw: Draw])[] = [
  ['CartPole-like returns, 85 % and 95 % at the upper bound', apart(balancing(0.85), balancing(0.95))],
  ['CartPole-like returns, no difference', unrelated(1, balancing(0.85))],
];

/** The comparison of Muster beside published sequential tests with the settings of their authors: nothing is promised of them here. */
export const PUBLISHED_SCENARIOS: readonly Scenario[] = [
  ...AMONG_MANY.flatMap(([name, draw]) => published(name, draw, MANY)),
  ...AMONG_FEW.flatMap(([name, draw]) => [byMuster(name, draw)].concat(published(`at most ${FEW}: ${name}`, draw, FEW))),
  ...GENERAL.flatMap(([name, draw]) => [
    byMuster(name, draw),
    tested(`at most ${FEW}: ${name}, by N-SCORE`, draw, () => new NScoreTest(100, RISK), FEW),
  ]),
];

function published(name: string, draw: Draw, most: number): Scenario[] {
  return TESTS.map(([test, create]) => tested(`${name}, by ${test}`, draw, create, most));
}

function byMuster(name: string, draw: Draw): Scenario {
  const trial = (random: Random): Trial => compare({ draw, margin: 0, confidence: CONFIDENCE, pairs: FEW }, random);
  return { group: 'decisions', name: `at most ${FEW}: ${name}, by Muster`, targets: [], trial };
}

function tested(name: string, draw: Draw, create: () => SequentialTest, most: number): Scenario {
  const trial = (random: Random): Trial => {
    const test = create();
    for (let pairs = 1; pairs <= most; pairs += 1) {
      const { baseline, candidates } = draw(random);
      test.fold(baseline, candidates[0] ?? 0);
      if (test.verdict !== undefined) return { outcome: test.verdict, episodes: pairs };
    }
    return { outcome: 'inconclusive', episodes: most };
  };
  return { group: 'decisions', name, targets: [], trial };
}

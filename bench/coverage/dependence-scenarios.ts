import { SerialDependence } from '../../src/aggregation/folding/serial-dependence.ts';
import { createStoppingRule } from '../../src/aggregation/stopping/stopping.ts';
import type { Random } from '../../src/kernel/seeded-random.ts';
import {
  autoregressive,
  bernoulli,
  cartPole,
  exponential,
  lognormal,
  normal,
  pareto,
  rareDisaster,
  sticky,
  uniform,
} from './distributions.ts';
import type { Distribution } from './distributions.ts';
import type { Scenario, Trial, TrialOutcome } from './scenario.ts';
import type { Target } from './scenario.ts';

/** 2,000 trials cannot distinguish a rate of 0.2 % from 0.1 %. */
const EFFORT = 10;
const SILENT: readonly Target[] = [{ kind: 'share', figure: 'false alarms kept to 0.2 %', of: ['silent'], atLeast: 0.998 }];

/** Skewed, heavy-tailed and two-valued returns, all of them independent. */
const INDEPENDENT: readonly Distribution[] = [
  bernoulli(0.5, 0.05),
  bernoulli(0.9, 0.05),
  bernoulli(0.98, 0.02),
  bernoulli(0.998, 0.02),
  cartPole(0.98, 5),
  rareDisaster(0.01, 0.01),
  uniform(0.03),
  normal(0.1),
  exponential(0.1),
  lognormal(2, 0.2),
  pareto(1.2, 0.1),
];

/** Does the warning of dependent episodes come where it should, and nowhere else? */
export const DEPENDENCE_SCENARIOS: readonly Scenario[] = [
  ...INDEPENDENT.flatMap((distribution) => [64, 1000].map((episodes) => independent(distribution, episodes, 1))),
  ...[2, 50].map((tasks) => independent(bernoulli(0.9, 0.05), 300, tasks)),
  certifiedStop(bernoulli(0.9, 0.05)),
  certifiedStop(uniform(0.05)),
  ...[0.1, 0.3, 0.5, 0.9].flatMap((correlation) =>
    [100, 300, 1000].flatMap((episodes) => [
      dependent(() => autoregressive(correlation), episodes),
      dependent(() => sticky(0.9, correlation), episodes),
    ]),
  ),
];

interface Question {
  readonly name: string;
  readonly episodes: number;
  readonly tasks: number;
  readonly targets: readonly Target[];
  /** The returns of one evaluation, in the order of its episodes. */
  readonly returns: () => Distribution['draw'];
}

/** Tasks are drawn at random, and their means are apart. */
function asked({ name, episodes, tasks, targets, returns }: Question): Scenario {
  const trial = (random: Random): Trial => {
    const dependence = new SerialDependence();
    const draw = returns();
    for (let episode = 0; episode < episodes; episode += 1) {
      const task = Math.floor(tasks * random());
      dependence.add(task, task + draw(random));
    }
    return { outcome: saysOf(dependence), episodes };
  };
  return { group: 'dependence', name: `${name}, n = ${episodes}`, effort: EFFORT, targets, trial };
}

function independent({ name, draw }: Distribution, episodes: number, tasks: number): Scenario {
  const several = tasks === 1 ? '' : `, ${tasks} tasks`;
  return asked({ name: `${name}${several}`, episodes, tasks, targets: SILENT, returns: () => draw });
}

function dependent(policy: () => Distribution, episodes: number): Scenario {
  return asked({ name: policy().name, episodes, tasks: 1, targets: [], returns: () => policy().draw });
}

/** The number of episodes is decided by the returns. */
function certifiedStop({ name, halfWidth, bounds, draw }: Distribution): Scenario {
  const trial = (random: Random): Trial => {
    const rule = createStoppingRule({ rule: 'certified', halfWidth, confidence: 0.95 }, bounds);
    const dependence = new SerialDependence();
    let episodes = 0;
    for (; !rule.isSatisfied(); episodes += 1) {
      const value = draw(random);
      rule.fold({ low: value, high: value });
      dependence.add(0, value);
    }
    return { outcome: saysOf(dependence), episodes };
  };
  return { group: 'dependence', name: `${name}, at the stop of certified, h = ${halfWidth}`, targets: SILENT, trial };
}

function saysOf(dependence: SerialDependence): TrialOutcome {
  return dependence.isBeyondChance ? 'warned' : 'silent';
}

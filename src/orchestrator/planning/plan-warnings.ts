import type { EvaluationPlan } from './evaluation-plan.ts';
import type { AllocationDeclaration } from '../suite/suite-definition.ts';

/** With fewer recorded episodes, returns that one in fifty has are likely missing. */
const FEW_EPISODES = 100;

/** Lists the warnings that a reader of a plan needs, each a sentence. @param unseenTasks names of tasks without an episode in the baseline. */
export function planWarnings(
  plan: Omit<EvaluationPlan, 'warnings'>,
  allocation: AllocationDeclaration,
  unseenTasks: readonly string[],
): string[] {
  const byWeight =
    allocation === 'adaptive' && plan.forecast.stop.rule !== 'fixed'
      ? [
          'The forecast is for tasks that are drawn by weight; with adaptive allocation, a suite of unequal tasks is likely to need fewer episodes.',
        ]
      : [];
  return [...byWeight, ...recordWarnings(plan, unseenTasks), ...listBudgetWarnings(plan), ...listSimulationWarnings(plan)];
}

function recordWarnings({ returns, baseline }: Omit<EvaluationPlan, 'warnings'>, unseenTasks: readonly string[]): string[] {
  const warnings: string[] = [];
  const observed = returns?.observed ?? null;
  if (returns && observed !== null && returns.standardDeviation === 0)
    warnings.push(`All ${observed} returns of the baseline are the same: as soon as others turn up, more episodes are needed.`);
  else if (observed !== null && observed < FEW_EPISODES)
    warnings.push(`The baseline has ${observed} episodes only: rare returns may be missing from it, and then more episodes are needed.`);
  if (unseenTasks.length > 0) {
    const names = unseenTasks.slice(0, 3).join(', ') + (unseenTasks.length > 3 ? ', …' : '');
    warnings.push(`The baseline has no episode of ${unseenTasks.length} of the tasks (${names}): the others stand in for them.`);
  }
  if (baseline === null && returns !== null)
    warnings.push('Without a baseline this is the worst case: returns that vary less than the bounds allow need fewer episodes.');
  return warnings;
}

function listBudgetWarnings({ budget, forecast }: Omit<EvaluationPlan, 'warnings'>): string[] {
  const warnings: string[] = [];
  if (forecast.shareCut > 0 && budget.episodes !== null)
    warnings.push(
      `The budget of ${budget.episodes} episodes ends ${formatPercent(forecast.shareCut)} of such evaluations before the stopping rule is satisfied.`,
    );
  for (const [name, limit, spread] of [
    ['seconds', budget.seconds, forecast.seconds],
    ['cost', budget.cost, forecast.cost],
  ] as const)
    if (limit !== null && spread !== null && spread.high > limit)
      warnings.push(`The budget of ${name}, ${limit}, ${spread.median > limit ? 'is likely to end' : 'may end'} the evaluation first.`);
  return warnings;
}

function listSimulationWarnings({ forecast: { stop, shareGivenUp, simulation } }: Omit<EvaluationPlan, 'warnings'>): string[] {
  const warnings: string[] = [];
  if (shareGivenUp > 0)
    warnings.push(`In ${formatPercent(shareGivenUp)} of the simulated evaluations the rule was not satisfied when they were given up.`);
  if (simulation && stop.rule !== 'fixed' && simulation.halfWidth > stop.halfWidth)
    warnings.push(
      `So many episodes are too many to simulate: the figures are extrapolated from a half-width of ${Number(simulation.halfWidth.toPrecision(3))}.`,
    );
  return warnings;
}

function formatPercent(share: number): string {
  return `${Number((share * 100).toPrecision(3))} %`;
}

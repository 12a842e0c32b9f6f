import { findHalfWidthProblem, computeLeastEpisodes } from '../../aggregation/stopping/reach.ts';
import type { Problem } from '../../kernel/documents/problems.ts';
import type { SettingPath } from '../../kernel/documents/path.ts';
import { findAgentContradictions, getTaskSource } from './agent-tasks.ts';
import type { WrittenSuite } from './suite.ts';

type BoundedStop = Extract<WrittenSuite['stop'], { rule: 'certified' | 'approximate' }>;
type Ends = NonNullable<WrittenSuite['reward']['bounds']>;

/** Finds settings that are valid alone but contradict the rest of the suite. */
export function findSuiteContradictions(suite: WrittenSuite): readonly Problem[] {
  return [
    ...findTaskProblems(suite),
    ...findAgentContradictions(suite).map(({ path, text }) => toProblem(path, text)),
    ...findAllocationProblems(suite),
    ...scoreProblems(suite),
    ...findSuccessProblems(suite),
    ...stopProblems(suite),
  ];
}

function findTaskProblems({ tasks, environment }: WrittenSuite): Problem[] {
  if ((tasks === undefined) === (environment === undefined)) return [toProblem([], 'expected either "environment" or "tasks"')];
  const names = (Array.isArray(tasks) ? tasks : []).map(({ name }) => name);
  return names.flatMap((name, position) =>
    names.indexOf(name) === position
      ? []
      : [toProblem(['tasks', position, 'name'], `"${name}" is used twice; expected a name of its own for every task`)],
  );
}

function findAllocationProblems({ allocation, tasks }: WrittenSuite): Problem[] {
  // The number of tasks in a directory is known once it has been read.
  const isSeveral = Array.isArray(tasks) ? tasks.length > 1 : getTaskSource({ tasks }) !== undefined;
  if (allocation === 'proportional' || isSeveral) return [];
  const text = `expected "proportional", got "${allocation}": it shares episodes out between tasks, and this suite has one only; give "tasks" with several, or leave "allocation" out`;
  return [toProblem(['allocation'], text)];
}

function scoreProblems({ failureScores, failures, reward: { bounds } }: WrittenSuite): Problem[] {
  return (['timeout', 'crash'] as const).flatMap((cause) => {
    const score = failureScores[cause];
    const path = ['failureScores', cause];
    if (score === undefined && failures === 'scored')
      return [toProblem(path, `expected the return that a ${cause} counts as, because failing is an answer here (failures: scored)`)];
    if (!bounds)
      return score === undefined
        ? [toProblem(path, `expected the return that a ${cause} counts as, because reward.bounds is not given`)]
        : [];
    if (score === undefined || isWithin(bounds, score)) return [];
    return [toProblem(path, `expected ${describeRange(bounds)}, got ${score}`)];
  });
}

function findSuccessProblems({ success, reward: { bounds } }: WrittenSuite): Problem[] {
  if (!success || !bounds || isWithin(bounds, success.threshold)) return [];
  return [toProblem(['success', 'threshold'], `expected ${describeRange(bounds)}, got ${success.threshold}`)];
}

function stopProblems(suite: WrittenSuite): readonly Problem[] {
  const { stop, reward } = suite;
  switch (stop.rule) {
    case 'fixed':
      return [];
    case 'asymptotic':
      return findAsymptoticProblems(suite);
    case 'certified':
    case 'approximate':
      return reward.bounds ? findBoundedStopProblems(suite, stop, reward.bounds) : [createBoundsProblem(stop.rule)];
  }
}

function findBoundedStopProblems({ budget }: WrittenSuite, stop: BoundedStop, [low, high]: Ends): Problem[] {
  const bounds = { low, high };
  const tooWide = findHalfWidthProblem(stop.halfWidth, bounds);
  if (tooWide !== undefined) return [toProblem(['stop', 'halfWidth'], tooWide)];
  const least = computeLeastEpisodes(stop, bounds);
  if (budget.episodes === undefined || budget.episodes >= least) return [];
  const text = `expected at least ${least}: the rule "${stop.rule}" needs so many for a half-width of ${stop.halfWidth} even if all returns are the same, got ${budget.episodes}; allow more episodes, or ask for a wider half-width`;
  return [toProblem(['budget', 'episodes'], text)];
}

function createBoundsProblem(rule: BoundedStop['rule']): Problem {
  const text = `is missing; the stopping rule "${rule}" needs the lowest and highest possible return ("fixed" and "asymptotic" do not)`;
  return toProblem(['reward', 'bounds'], text);
}

function findAsymptoticProblems({ stop, budget: { episodes } }: WrittenSuite): Problem[] {
  const least = computeLeastEpisodes(stop, undefined);
  const path = ['budget', 'episodes'];
  if (episodes === undefined) {
    const text =
      'is missing; the stopping rule "asymptotic" may never be satisfied (when the returns hardly differ or have no finite variance, or an episode stays unresolved), so give the most episodes to play';
    return [toProblem(path, text)];
  }
  if (episodes >= least) return [];
  const text = `expected at least ${least}: the rule "asymptotic" has no interval before, whatever its half-width, got ${episodes}; allow more episodes, or use another rule`;
  return [toProblem(path, text)];
}

function isWithin([low, high]: Ends, value: number): boolean {
  return value >= low && value <= high;
}

function describeRange([low, high]: Ends): string {
  return `a number within reward.bounds [${low}, ${high}]`;
}

function toProblem(path: SettingPath, text: string): Problem {
  return { path, text, isAbsence: false };
}

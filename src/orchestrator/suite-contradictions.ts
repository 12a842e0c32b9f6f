import type { Problem } from '../written/problems.ts';
import type { SettingPath } from '../written/path.ts';
import type { ParsedSuite } from './suite.ts';

/** What is right by itself but not together with the rest of the suite. */
export function suiteContradictions(suite: ParsedSuite): readonly Problem[] {
  return [...taskProblems(suite), ...scoreProblems(suite), ...stopProblems(suite)];
}

function taskProblems({ tasks, environment }: ParsedSuite): Problem[] {
  if ((tasks === undefined) === (environment === undefined)) return [problem([], 'expected either "environment" or "tasks"')];
  const names = (tasks ?? []).map(({ name }) => name);
  return names.flatMap((name, position) =>
    names.indexOf(name) === position
      ? []
      : [problem(['tasks', position, 'name'], `"${name}" is used twice; expected a name of its own for every task`)],
  );
}

function scoreProblems({ failureScores, reward: { bounds } }: ParsedSuite): Problem[] {
  return (['timeout', 'crash'] as const).flatMap((cause) => {
    const score = failureScores[cause];
    const path = ['failureScores', cause];
    if (!bounds)
      return score === undefined
        ? [problem(path, `expected the return that a ${cause} counts as, because reward.bounds is not given`)]
        : [];
    if (score === undefined || (score >= bounds[0] && score <= bounds[1])) return [];
    return [problem(path, `expected a number within reward.bounds [${bounds[0]}, ${bounds[1]}], got ${score}`)];
  });
}

function stopProblems({ stop, reward: { bounds } }: ParsedSuite): Problem[] {
  if (stop.rule !== 'certified') return [];
  if (!bounds) {
    return [
      problem(
        ['reward', 'bounds'],
        'is missing; the stopping rule "certified" needs the lowest and highest possible return ("fixed" does not)',
      ),
    ];
  }
  const span = bounds[1] - bounds[0];
  if (stop.halfWidth < span / 2) return [];
  const text = `expected less than half of the reward range ${span}: any interval is that narrow before an episode is played, got ${stop.halfWidth}`;
  return [problem(['stop', 'halfWidth'], text)];
}

function problem(path: SettingPath, text: string): Problem {
  return { path, text, isAbsence: false };
}

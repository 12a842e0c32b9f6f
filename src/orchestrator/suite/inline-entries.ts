import { InputError } from '../../kernel/errors.ts';
import type { SettingPath } from '../../kernel/documents/path.ts';
import { formatProblemLine, type Problem } from '../../kernel/documents/problems.ts';
import { isKnownWrapper } from './known-entries.ts';
import type { ParsedSuite } from './suite.ts';

/**
 * Which functions a caller's suite may name. An entry such as `timeit:timeit` runs code from its arguments, although the suite ships no module:
 * naming a module is running code.
 */

/** Entries in one error message. */
const MOST_PROBLEMS = 50;

/** `module:name`, as entries and libraries name functions. */
const CALLABLE = /^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$/;

interface Found extends Pick<Problem, 'path' | 'text'> {
  readonly module: string;
}

/**
 * @param modules that callers may name, with all modules below them. @throws InputError `suite.entry`, a line for each that is not allowed.
 */
export function assertInlineEntries(suite: Pick<ParsedSuite, 'environment' | 'tasks'>, modules: readonly string[]): void {
  const refused = [
    ...listEntries(suite)
      .filter(({ module }) => !modules.some((allowed) => isWithin(module, allowed)))
      .take(MOST_PROBLEMS),
  ];
  if (refused.length === 0) return;
  const remedy = 'have the operator name the suite in server.suites, or the module in server.inlineModules';
  const lines = refused.map((found) => formatProblemLine('suite', { ...found, isAbsence: false }));
  throw new InputError('suite.entry', `${lines.join('\n')}\n${remedy}`);
}

function isWithin(module: string, allowed: string): boolean {
  return module === allowed || module.startsWith(`${allowed}.`);
}

/** Lists everything that names a module, except environments that Gymnasium has registered and known wrappers. */
function* listEntries({ environment, tasks }: Pick<ParsedSuite, 'environment' | 'tasks'>): Generator<Found> {
  if (environment) yield* listOfEnvironment(environment, ['environment']);
  for (const [i, task] of (tasks ?? []).entries()) yield* listOfEnvironment(task.environment, ['tasks', i, 'environment']);
}

type Environment = NonNullable<ParsedSuite['environment']>;

function* listOfEnvironment({ entry, kwargs, wrappers }: Environment, path: SettingPath): Generator<Found> {
  const module = getModule(entry);
  if (module !== 'gymnasium') {
    const expected = 'expected an environment that is registered, such as gymnasium:CartPole-v1';
    yield { path: [...path, 'entry'], module, text: `${expected}: a suite that is sent may not have ${entry} called` };
  }
  yield* findCallables(kwargs, [...path, 'kwargs']);
  for (const [i, wrapper] of wrappers.entries()) {
    const at = [...path, 'wrappers', i];
    if (!isKnownWrapper(wrapper.entry)) {
      const expected = 'expected a known wrapper of Gymnasium, such as gymnasium.wrappers:TimeLimit';
      yield {
        path: [...at, 'entry'],
        module: getModule(wrapper.entry),
        text: `${expected}: a suite that is sent may not have ${wrapper.entry} called`,
      };
    }
    yield* findCallables(wrapper.kwargs, [...at, 'kwargs']);
  }
}

/** Yields texts among arguments that a library could look up and call. */
function* findCallables(value: unknown, path: SettingPath): Generator<Found> {
  if (typeof value === 'string') {
    if (CALLABLE.test(value))
      yield { path, module: getModule(value), text: `expected no name of a function: a suite that is sent may not have ${value} called` };
  } else if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) yield* findCallables(item, [...path, i]);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) yield* findCallables(item, [...path, key]);
  }
}

function getModule(entry: string): string {
  return entry.slice(0, entry.indexOf(':'));
}

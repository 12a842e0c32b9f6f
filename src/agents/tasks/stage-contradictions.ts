import { suggestNames } from '../../kernel/documents/did-you-mean.ts';
import type { SettingPath } from '../../kernel/documents/path.ts';
import type { Problem } from '../../kernel/documents/problems.ts';
import type { CasesStage, Measure, MusterTask, SuiteStage } from './muster-schema.ts';
import { SYSTEM_CALL_NAMES } from './system-calls.ts';
import type { TestCase } from './test-case.ts';
import type { TestFiles } from './test-files.ts';

export interface WrittenStages {
  readonly muster: MusterTask;
  readonly stage: CasesStage | SuiteStage;
  readonly stored: readonly TestCase[];
  readonly tests: Pick<TestFiles, 'has' | 'hasDirectory'>;
}

/** Sums of decimal fractions are off by rounding only. */
const ROUNDING = 1e-9;
/** Runners whose tests can see the candidate through a proxy. */
const PROXIED: readonly SuiteStage['runner'][] = ['pytest', 'unittest'];

/** Runners whose report is a file that they are given the name of; the others write it to an output. */
const WRITES_FILE: ReadonlySet<SuiteStage['runner']> = new Set(['pytest', 'vitest', 'jest', 'ctest', 'junit']);

/** Finds mistakes that a schema cannot express: contradictory settings, and missing files. */
export function findStageContradictions(written: WrittenStages): readonly Problem[] {
  const { stage } = written;
  const ofStage = stage.kind === 'cases' ? findCaseProblems(written, stage) : findSuiteProblems(written, stage);
  return [...ofStage, ...scoreProblems(written)].map(([path, text]) => ({ path, text, isAbsence: false }));
}

type Found = Generator<readonly [SettingPath, string]>;

function* findCaseProblems({ muster, stored, tests }: WrittenStages, stage: CasesStage): Found {
  const { driver, generator, visible } = stage;
  if (driver !== undefined && !tests.hasDirectory(driver)) yield [['execute', 'driver'], `tests/${driver} is no directory of the task`];
  if (generator === undefined && stage.stored === undefined)
    yield [['execute'], 'has neither stored cases nor a generator; expected "stored", "generator" or both'];
  if (stage.stored !== undefined && stored.length === 0) yield [['execute', 'stored'], `tests/${stage.stored} has no case`];
  if (visible > stored.length)
    yield [['execute', 'visible'], `is ${visible}, and there are ${stored.length} stored cases; expected at most as many`];
  else if (visible > 0 && visible === stored.length && generator === undefined)
    yield [['execute', 'visible'], 'covers every case; expected at least one that the agent does not see'];
  const unknown = stored.find(({ expected }) => expected === undefined);
  if (muster.golden !== undefined) return;
  if (generator !== undefined) yield [['golden'], 'is missing; drawn cases have no other expected output'];
  else if (unknown !== undefined) yield [['golden'], `is missing, and the stored case "${unknown.name}" has no "expected"`];
}

/** Flags by which the command says itself that the order differs each time. */
const RANDOM_ORDER = '--schedule-random';

function* findSuiteProblems({ muster, tests }: WrittenStages, stage: SuiteStage): Found {
  const { failToPass, passToPass, tripwires, boundary, modules, runner, command, overlay } = stage;
  if (overlay !== undefined && !tests.hasDirectory(overlay)) yield [['execute', 'overlay'], `tests/${overlay} is no directory of the task`];
  if (failToPass.length === 0)
    yield [['execute', 'failToPass'], 'is empty; expected at least one test that fails before the task is solved'];
  const seen = new Set<string>();
  const ids = [
    ...failToPass.map((id) => ['failToPass', id]),
    ...passToPass.map((id) => ['passToPass', id]),
    ...tripwires.map(({ id }) => ['tripwires', id]),
  ];
  for (const [key = '', id = ''] of ids) {
    if (seen.has(id)) yield [['execute', key], `the test id ${JSON.stringify(id)} occurs twice; expected each once among all lists`];
    seen.add(id);
  }
  if (boundary === 'process' && !PROXIED.includes(runner))
    yield [['execute', 'boundary'], `"process" is for ${PROXIED.join(' and ')}; expected "shared" for ${runner}`];
  if (boundary === 'process' && modules.length === 0)
    yield [['execute', 'modules'], 'is empty; expected the names of the modules that the tests see through the proxy'];
  if (boundary === 'process' && PROXIED.includes(runner) && !isPythonModule(command, runner))
    yield [
      ['execute', 'command'],
      `is not "python3 -m ${runner}" with its arguments; expected that, for the proxy is started in its place`,
    ];
  if (WRITES_FILE.has(runner) && !command.some((word) => word.includes('{report}')))
    yield [['execute', 'command'], `has no {report}; expected the flag with which ${runner} writes its report there`];
  // A plug-in orders pytest's tests.
  if (boundary === 'shared' && runner !== 'pytest' && !command.some(hasOrder))
    yield [
      ['execute', 'command'],
      'runs the tests in the same order each time; expected {seed}, as in "-shuffle={seed}", {tests}, or ctest\'s --schedule-random',
    ];
  if (command.some((word) => word !== '{tests}' && word.includes('{tests}')))
    yield [['execute', 'command'], 'has {tests} within a word; expected it alone, because it becomes a word for each test'];
  if (muster.golden !== undefined) yield [['golden'], 'has no effect on a test suite; leave it out'];
}

/** Only flags of the interpreter may precede the module. */
function isPythonModule(command: readonly string[], module: string): boolean {
  const at = command.indexOf('-m');
  const [program = '', ...flags] = command.slice(0, Math.max(at, 0));
  return /(^|\/)python[\d.]*$/.test(program) && flags.every((flag) => flag.startsWith('-')) && command[at + 1] === module;
}

function hasOrder(word: string): boolean {
  return word === '{tests}' || word === RANDOM_ORDER || word.includes('{seed}');
}

function* scoreProblems({ muster, stage }: WrittenStages): Found {
  const { score, golden, constraints } = muster;
  const { weights, speed, efficiency } = score;
  const sum = weights.correctness + weights.speed + weights.efficiency;
  if (Math.abs(sum - 1) > ROUNDING) yield [['score', 'weights'], `add up to ${Number(sum.toPrecision(12))}; expected 1`];
  if (weights.correctness === 0) yield [['score', 'weights', 'correctness'], 'is 0; expected more, or a wrong submission could score'];
  for (const [name, terms] of [
    ['speed', speed],
    ['efficiency', efficiency],
  ] as const) {
    if (weights[name] > 0 && terms === undefined) yield [['score', name], `is missing; its weight is ${weights[name]}`];
    if (weights[name] === 0 && terms !== undefined) yield [['score', 'weights', name], `is 0; score.${name} has no effect`];
    if (terms === undefined) continue;
    if (stage.kind !== 'cases') yield [['score', name], 'is measured on cases; a test suite has none'];
    if (golden === undefined) yield [['golden'], `is missing; score.${name} is a ratio to it`];
  }
  yield* findConstraintProblems(muster, stage);
  const measures = constraints.map(({ measure, of }) => `${measure} of ${of ?? 'all'}`);
  for (const [at, measure] of measures.entries())
    if (measures.indexOf(measure) < at) yield [['constraints', at, 'measure'], `bounds ${measure} a second time; expected one bound each`];
}

/** Figures of the compile step, and of runs on cases. */
const OF_COMPILER: ReadonlySet<Measure> = new Set(['registers', 'sharedMemoryBytes']);
const OF_CASES: ReadonlySet<Measure> = new Set(['instructions', 'systemCalls']);

function* findConstraintProblems({ constraints, compile }: MusterTask, stage: WrittenStages['stage']): Found {
  for (const [at, constraint] of constraints.entries()) {
    const { measure } = constraint;
    const path = ['constraints', at, 'measure'];
    if (OF_COMPILER.has(measure) && compile === undefined)
      yield [path, `"${measure}" is read from what [compile] prints, which is missing`];
    if (OF_CASES.has(measure) && stage.kind !== 'cases') yield [path, `"${measure}" is taken of runs on cases; a test suite has none`];
    if (measure !== 'systemCalls' || !('forbidden' in constraint)) continue;
    const unknown = constraint.forbidden.find((name) => !SYSTEM_CALL_NAMES.has(name));
    if (unknown !== undefined)
      yield [['constraints', at, 'forbidden'], `there is no system call "${unknown}"${suggestNames(unknown, [...SYSTEM_CALL_NAMES])}`];
  }
}

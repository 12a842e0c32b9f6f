import type { Candidate, CodeStates } from '../../agents/preparation/candidate.ts';
import { derivePinned, gatherOutcomes, keepWholeParts, type PinnedTests } from '../../agents/preparation/derivation.ts';
import type { Instruction } from '../../agents/preparation/instruction.ts';
import { detectLanguage, type DetectedLanguage } from '../../agents/preparation/languages/language-table.ts';
import type { SuiteCommand } from '../../agents/preparation/languages/language-adapter.ts';
import { traceFix, holdsFix } from '../../agents/preparation/leaks.ts';
import { isCode, classifyPath } from '../../agents/preparation/source/path-kinds.ts';
import type { CandidateEvidence } from '../../agents/preparation/preparation-report.ts';
import { compareFiles, replaceFiles, type SourceFiles, readText } from '../../agents/preparation/source/source-files.ts';
import { assertSteady, judgeSteadiness, type RepeatedRun, type RunTwist } from '../../agents/preparation/steadiness.ts';
import { type PreparationStep, Refused } from '../../agents/preparation/source/steps.ts';
import { draftTripwires, keepTripwires, describeTripwire, wireTests } from '../../agents/preparation/wired-tests.ts';
import { limitSuite } from '../../agents/preparation/time-scale.ts';
import { emitTask, WORKDIR } from '../../agents/preparation/emitted-task.ts';
import type { WrittenTask } from '../../agents/tasks/written-task.ts';
import { instruct } from './instruction-writer.ts';
import { readRepeats } from './repeated-tests.ts';
import { shortenOutput } from './preparation-sandbox.ts';
import { searchLeaks } from './leak-search.ts';
import type { PreparationContext } from './preparation-context.ts';
import { FIGURES, type RunRequest, type TestRun } from './test-runs.ts';

/** The largest number of test files in one run; more would be too many to run in every verdict. */
const MOST_TEST_FILES = 200;
const TWISTS: readonly RunTwist[] = ['order', 'clock', 'order'];
const [MOST_REPEATS, MOST_REPEAT_SECONDS] = [200, 20];
type Evidence = { -readonly [Key in keyof CandidateEvidence]: CandidateEvidence[Key] };

/** One candidate on its way through the steps, from its code to a written task. `evidence` records the findings. */
export class CandidatePreparation {
  readonly evidence: Evidence = {};
  readonly #context: PreparationContext;
  readonly #candidate: Candidate;
  readonly #states: CodeStates;
  readonly #signal: AbortSignal;
  /** Time limit of one run of the tests; much less once their duration is known. */
  #seconds: number;

  constructor(context: PreparationContext, candidate: Candidate, states: CodeStates, signal: AbortSignal) {
    this.#context = context;
    this.#candidate = candidate;
    this.#states = states;
    this.#signal = signal;
    this.#seconds = context.testSeconds;
  }

  /** @throws Refused at the step that finds a problem. */
  async emit(name: string): Promise<WrittenTask> {
    const { solved, before } = this.#states;
    const detected = detectLanguage(solved, this.#context.testArguments);
    this.evidence.language = detected.language.name;
    this.evidence.framework = { name: detected.framework.name, evidence: detected.framework.evidence };
    const installed = await this.#context.dependencies(detected, solved, this.#signal);
    this.evidence.dependencies = [...installed.pinned];
    const setup: TestSetup = { detected, dependencies: installed.files, testFiles: this.#chooseTestFiles(detected) };
    const all = buildSuite(setup, { kind: 'files', files: setup.testFiles });
    const gold = await this.#runGold(setup, all);
    const without = await this.#runWithout(setup, all);
    const derived = this.#derive(without, gold);
    // Decides nothing before this, so a candidate without a test to mend skips it.
    const baseline = await this.#run(setup, all, 'baseline', before);
    const pinned = await this.#findSteady(setup, all, derived, { without, baseline });
    this.evidence.failToPass = [...pinned.failToPass];
    this.evidence.passToPass = pinned.passToPass.length;
    const wired = await this.#wire(setup, pinned);
    const ids = [...pinned.failToPass, ...pinned.passToPass, ...wired.tripwires.map(({ id }) => id)];
    const suite = buildSuite(setup, { kind: 'ids', ids: ids.toSorted() });
    const hidden = this.#listHidden(setup, pinned);
    const instruction = await this.#scrub(setup, pinned, hidden);
    return emitTask({
      name,
      description: this.#candidate.kind === 'fix' ? `A change of ${this.#context.repository}` : `A mistake in ${this.#context.repository}`,
      keywords: [
        'prepared',
        this.#candidate.kind,
        detected.language.name,
        ...(instruction.source === 'model' ? ['instruction by a model'] : []),
      ],
      instruction: instruction.text,
      states: this.#states,
      hidden,
      testFiles: detected.framework.testFiles,
      dependencies: installed.files,
      pinned,
      tripwires: wired.tripwires,
      wired: wired.files,
      suite,
      environment: detected.language.environment(solved, WORKDIR, installed.files),
      cheats: detected.language.cheats({ sources: this.#listSources(), testFiles: setup.testFiles }),
      measuredSeconds: gold.seconds,
    });
  }

  /** Chooses test files: those that the change touches before others. */
  #chooseTestFiles({ framework }: DetectedLanguage): readonly string[] {
    const changed = new Set(compareFiles(this.#states.before, this.#states.solved).keys());
    const files = framework.testFiles;
    return [...files.filter((path) => changed.has(path)), ...files.filter((path) => !changed.has(path))]
      .slice(0, MOST_TEST_FILES)
      .toSorted();
  }

  #run(setup: TestSetup, suite: SuiteCommand, step: PreparationStep, files: SourceFiles, more: Partial<RunRequest> = {}): Promise<TestRun> {
    this.#context.onStep(this.#candidate.id, step);
    return this.#context.runs.run(this.#buildRequest(setup, suite, step, files, more), this.#signal);
  }

  #buildRequest(setup: TestSetup, suite: SuiteCommand, step: string, files: SourceFiles, more: Partial<RunRequest> = {}): RunRequest {
    const { detected, dependencies } = setup;
    const environment = detected.language.environment(files, WORKDIR, dependencies);
    const asked = { step, files, dependencies, suite, environment, ids: [], twist: 'none', seed: 1, seconds: this.#seconds } as const;
    return { ...asked, ...more };
  }

  /** Runs the tests with the fix: whether there are any, and whether their report can be read. */
  async #runGold(setup: TestSetup, all: SuiteCommand): Promise<TestRun> {
    const gold = await this.#run(setup, all, 'gold', this.#states.solved);
    this.evidence.testSeconds = gold.seconds;
    this.#seconds = Math.min(this.#seconds, limitSuite(gold.seconds));
    const networked = gold.needNetwork;
    if (networked.length > 0) this.evidence.needNetwork = [...networked];
    const end = shortenOutput(gold.output);
    if (gold.ending === 'timeout')
      throw new Refused('test-command', `the tests take more than ${this.#context.testSeconds} s: --test-seconds`);
    if (gold.problem !== null) throw new Refused('test-command', `the tests' report cannot be read: ${gold.problem}; they printed: ${end}`);
    if (gold.results.length === 0) throw new Refused('test-command', `no test was run; the tests printed: ${end}`);
    if (gold.results.some(({ status }) => status === 'passed')) return gold;
    const why = networked.length > 0 ? 'they need a network or a service, which no later step has' : end;
    throw new Refused('gold', `no test passes with the fix: ${why}`);
  }

  /** A mistake must leave tests that run and fail: code that cannot be built or does not end would ask for something else. */
  async #runWithout(setup: TestSetup, all: SuiteCommand): Promise<TestRun> {
    const without = await this.#run(setup, all, 'test-patch', this.#states.tested);
    if (this.#candidate.kind === 'fix' || without.ending !== 'timeout') return without;
    throw new Refused('test-patch', 'with the mistake the tests do not come to their end');
  }

  #derive(without: TestRun, gold: TestRun): PinnedTests {
    return derivePinned(gatherOutcomes(without.results), gatherOutcomes(gold.results), this.#candidate.kind === 'mutation');
  }

  async #findSteady(
    setup: TestSetup,
    all: SuiteCommand,
    derived: PinnedTests,
    { without: first, baseline }: { readonly without: TestRun; readonly baseline: TestRun },
  ): Promise<PinnedTests> {
    const runs: RepeatedRun[] = [];
    for (const [at, twist] of TWISTS.entries()) {
      // Mutations of one repository share the right code, and so its runs.
      const more = { twist, seed: 1 + at };
      const without = await this.#run(setup, all, 'steadiness', this.#states.tested, more);
      const withFix = await this.#run(setup, all, 'steadiness', this.#states.solved, more);
      runs.push({ twist, without: gatherOutcomes(without.results), withFix: gatherOutcomes(withFix.results) });
    }
    const repeats = await this.#runRepeats(setup, all);
    const steadiness = judgeSteadiness(derived, runs, repeats, gatherOutcomes(first.results), gatherOutcomes(baseline.results));
    this.evidence.wavering = [...steadiness.dropped];
    const counts = [...repeats.values()].map(({ runs: count }) => count);
    this.evidence.repeatedRuns = counts.length === 0 ? TWISTS.length : Math.min(...counts);
    assertSteady(steadiness);
    const seen = new Set<string>();
    for (const { withFix } of runs) for (const id of withFix.keys()) seen.add(id);
    return keepWholeParts(steadiness.pinned, seen, (id) => setup.detected.language.getPart(id));
  }

  /** Runs each test many times in one process: a failure in one of twenty runs is missed by four. */
  async #runRepeats(setup: TestSetup, all: SuiteCommand): Promise<ReturnType<typeof readRepeats>> {
    const bounds = { runs: MOST_REPEATS, seconds: MOST_REPEAT_SECONDS };
    if (all.runner !== 'pytest')
      return await this.#context.runs.repeat(this.#buildRequest(setup, all, 'steadiness', this.#states.solved), bounds, this.#signal);
    const environment = { MUSTER_REPEATS: `${MOST_REPEATS}`, MUSTER_REPEAT_SECONDS: `${MOST_REPEAT_SECONDS}`, MUSTER_REPEAT_FILE: FIGURES };
    const seconds = this.#seconds + 2 * MOST_REPEAT_SECONDS;
    const run = await this.#run(setup, all, 'steadiness', this.#states.solved, { plugin: { name: 'muster_repeat', environment }, seconds });
    return readRepeats(run.figures);
  }

  async #wire(setup: TestSetup, pinned: PinnedTests): Promise<Wired> {
    const { solved } = this.#states;
    const { language, framework } = setup.detected;
    const first = new Set(pinned.failToPass.map((id) => language.findFile(id, framework)));
    const files = [...setup.testFiles.filter((path) => first.has(path)), ...setup.testFiles.filter((path) => !first.has(path))];
    const drafts = draftTripwires(setup.detected, solved, files, pinned);
    if (drafts.length === 0) return { tripwires: [], files: new Map() };
    const tried = replaceFiles(solved, wireTests(solved, drafts, true));
    const wanted = buildSuite(setup, { kind: 'files', files: [...new Set(drafts.map(({ wire }) => wire.path))].sort() });
    const kept = keepTripwires(drafts, gatherOutcomes((await this.#run(setup, wanted, 'emit', tried)).results));
    this.evidence.tripwires = kept.length;
    return { tripwires: kept.map(describeTripwire), files: wireTests(solved, kept, false) };
  }

  /** Lists test files that an agent would find in the form that judges it. Where the change brings them, the agent does not find them anyway. */
  #listHidden({ detected: { language, framework } }: TestSetup, { failToPass }: PinnedTests): readonly string[] {
    if (this.#candidate.kind === 'fix' || !language.hidesTests) return [];
    return [...new Set(failToPass.flatMap((id) => language.findFile(id, framework) ?? []))].sort();
  }

  async #scrub(setup: TestSetup, { failToPass }: PinnedTests, hidden: readonly string[]): Promise<Instruction> {
    const { before, tested, solved } = this.#states;
    const trace = traceFix(tested, solved);
    const { history, sandboxes, steps } = this.#context;
    const ways =
      history === undefined || this.#candidate.kind !== 'fix' ? [] : await history.listWaysTo(this.#candidate.commit.id, this.#signal);
    this.evidence.leaks = ways.map((way) => `${way}: leads to the fix; the task has no history`);
    const files = replaceFiles(before, new Map(hidden.map((path) => [path, undefined])));
    const { releases } = setup.detected.language;
    const found = await searchLeaks({ sandboxes, steps }, { files, dependencies: setup.dependencies, trace, releases }, this.#signal);
    this.evidence.leaks.push(...found.map((path) => `${path}: holds the fix`));
    if (found.length > 0) throw new Refused('scrub', `the fix stands where an agent finds it: ${found.slice(0, 5).join(', ')}`);
    const names = failToPass.flatMap((id) => [
      id,
      id.split('::').at(-1)?.split('[')[0] ?? id,
      ...[setup.detected.language.findFile(id, setup.detected.framework) ?? []].flat(),
    ]);
    const instruction = await instruct(this.#context, this.#candidate, [...new Set(names)], trace.added, this.#signal);
    const issues = this.#candidate.kind === 'fix' ? this.#candidate.issues?.map(({ number }) => number) : undefined;
    this.evidence.instruction = { source: instruction.source, ...(issues && { issues }), leftOut: [...instruction.leftOut] };
    if (holdsFix(trace, instruction.text)) throw new Refused('scrub', 'the instruction holds the fix');
    return instruction;
  }

  #listSources(): readonly { readonly path: string; readonly text: string }[] {
    const { tested, solved } = this.#states;
    const changed = [...compareFiles(tested, solved).keys()].filter((path) => isCode(path) && classifyPath(path) === 'source');
    return changed.flatMap((path) => {
      const text = readText(tested, path);
      return text === undefined ? [] : [{ path, text }];
    });
  }
}

interface TestSetup {
  readonly detected: DetectedLanguage;
  readonly dependencies: SourceFiles;
  readonly testFiles: readonly string[];
}

interface Wired {
  readonly tripwires: readonly ReturnType<typeof describeTripwire>[];
  readonly files: ReturnType<typeof wireTests>;
}

function buildSuite(
  { detected: { language, framework } }: TestSetup,
  selection: Parameters<DetectedLanguage['language']['suite']>[1],
): SuiteCommand {
  return language.suite(framework, selection);
}

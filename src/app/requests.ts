import type { RunningComparison } from '../aggregation/comparison/paired-fold.ts';
import { assertKnownKeys, type Keys } from '../kernel/documents/known-keys.ts';
import { isMapping } from '../kernel/documents/path.ts';
import { InputError } from '../kernel/errors.ts';
import type { ComparisonTermsInput } from '../orchestrator/compare.ts';
import type { Progress } from '../orchestrator/facts/progress.ts';
import type { TuningProgress } from '../orchestrator/tuning/tune.ts';
import type { SuiteInput } from './suites/suite-input.ts';

export interface CheckpointInput {
  /** Path or URI of a checkpoint file or directory. */
  readonly checkpoint: string;
  readonly labels?: { readonly run?: string; readonly version?: number };
}

/** Says what was done with an earlier run of the same evaluation that `out` holds. */
export type EarlierRunFound = 'resumed' | 'begun-anew' | 'complete';

export interface EvaluationInput extends SuiteInput, CheckpointInput {}

export interface EvaluationOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /**
   * Directory for summary, episodes and configuration: a new one, or that of the same evaluation (checkpoint, suite with its rule and budget,
   * template). An interrupted evaluation is resumed, one of which all episodes failed starts again, and of a complete one the summary is returned.
   */
  readonly out?: string;
  /** Called when `out` holds an earlier run of the same evaluation. */
  readonly onEarlier?: (earlier: EarlierRunFound) => void;
  /**
   * The previous evaluation. Meanwhile the checkpoint is read, and loaded where sandboxes are forked and into sandboxes that the previous one no
   * longer needs; the first episode, the clock and the budget begin when it is over, however it ends. When this one is given up before that, it
   * rejects with the signal's reason.
   */
  readonly after?: Promise<unknown>;
}

export interface ComparisonInput extends SuiteInput {
  /** Path or URI of a checkpoint, or path of the results directory of an evaluation on the same suite. */
  readonly baseline: string;
  /** Paths or URIs of checkpoints, at least one. */
  readonly candidates: readonly string[];
  readonly terms?: ComparisonTermsInput;
}

export interface ComparisonOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress<RunningComparison>) => void;
  /** Directory for summary, episodes and configuration: a new one, or that of the same comparison, as for an evaluation. */
  readonly out?: string;
  /** Called when `out` holds an earlier run of the same comparison. */
  readonly onEarlier?: (earlier: EarlierRunFound) => void;
}

export interface TuningInput extends SuiteInput, Pick<CheckpointInput, 'checkpoint'> {
  /** The approximate time for all trials together. */
  readonly seconds: number;
}

export interface TuningOptions {
  readonly signal?: AbortSignal;
  /** Called when a trial begins. */
  readonly onProgress?: (progress: TuningProgress) => void;
}

export interface OneEvaluationOptions extends EvaluationOptions {
  /** Path of a configuration file; the defaults alone when left out. */
  readonly configFile?: string;
  /** The largest number of sandboxes at a time, instead of the configured number. */
  readonly sandboxes?: number;
}

const SUITE: Keys<SuiteInput> = { suite: true, stop: true, changes: true };
const EVALUATION: Keys<EvaluationInput> = { ...SUITE, checkpoint: true, labels: true };
const COMPARISON: Keys<ComparisonInput> = { ...SUITE, baseline: true, candidates: true, terms: true };
const TERMS: Keys<ComparisonTermsInput> = { confidence: true, margin: true, budgetEpisodes: true };
const TUNING: Keys<TuningInput> = { ...SUITE, checkpoint: true, seconds: true };
const COMPARISON_OPTIONS: Keys<ComparisonOptions> = { signal: true, onProgress: true, out: true, onEarlier: true };
const EVALUATION_OPTIONS: Keys<EvaluationOptions> = { ...COMPARISON_OPTIONS, after: true };
const TUNING_OPTIONS: Keys<TuningOptions> = { signal: true, onProgress: true };
const SCRIPT_OPTIONS: Keys<OneEvaluationOptions> = { ...EVALUATION_OPTIONS, configFile: true, sandboxes: true };

/** @throws InputError `library.input` for what is missing, mistyped or unknown. */
export function assertEvaluation(input: EvaluationInput, options: EvaluationOptions, known: object = EVALUATION_OPTIONS): void {
  assertKnownKeys('evaluate()', input, EVALUATION, known);
  assertKnownKeys('options of evaluate()', options, known, EVALUATION);
  assertListeners('options of evaluate()', options);
  assertSuite('evaluate()', input.suite);
  assertCheckpoint('evaluate(): checkpoint', input.checkpoint);
}

/** Checks the input of a script that opens no `Muster`. @throws as `assertEvaluation` does. */
export function assertOneEvaluation(input: EvaluationInput, options: OneEvaluationOptions): void {
  assertEvaluation(input, options, SCRIPT_OPTIONS);
  const { sandboxes } = options;
  if (sandboxes !== undefined && !(Number.isSafeInteger(sandboxes) && sandboxes >= 1))
    throw createWrongError('options of evaluate(): sandboxes', 'a whole number from 1 on', sandboxes);
}

/** @throws as `assertEvaluation` does. */
export function assertComparison(input: ComparisonInput, options: ComparisonOptions): void {
  for (const term of Object.keys(input ?? {}).filter((key) => Object.hasOwn(TERMS, key)))
    throw new InputError('library.input', `compare(): ${term}: unknown key; expected below another key: terms.${term}`);
  assertKnownKeys('compare()', input, COMPARISON, COMPARISON_OPTIONS);
  assertKnownKeys('options of compare()', options, COMPARISON_OPTIONS, COMPARISON);
  assertListeners('options of compare()', options);
  assertSuite('compare()', input.suite);
  assertCheckpoint('compare(): baseline', input.baseline);
  if (!Array.isArray(input.candidates) || input.candidates.length === 0)
    throw createWrongError('compare(): candidates', 'a list of paths or URIs of checkpoints, one at least', input.candidates);
  for (const candidate of input.candidates) assertCheckpoint('compare(): candidates', candidate);
}

/** @throws as `assertEvaluation` does. */
export function assertTuning(input: TuningInput, options: TuningOptions): void {
  assertKnownKeys('tune()', input, TUNING, TUNING_OPTIONS);
  assertKnownKeys('options of tune()', options, TUNING_OPTIONS, TUNING);
  assertListeners('options of tune()', options);
  assertSuite('tune()', input.suite);
  assertCheckpoint('tune(): checkpoint', input.checkpoint);
}

/** @throws InputError `library.input` for a value that `readConfiguration` cannot have returned. */
export function assertConfiguration(config: unknown): void {
  if (isMapping(config) && typeof config['stateDir'] === 'string' && isMapping(config['templates'])) return;
  throw new InputError('library.input', 'Muster.open(): expected a configuration, as readConfiguration(FILE, SANDBOXES) gives one');
}

function assertListeners(what: string, { signal, onProgress }: { readonly signal?: unknown; readonly onProgress?: unknown }): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw createWrongError(`${what}: signal`, 'an AbortSignal', signal);
  if (onProgress !== undefined && typeof onProgress !== 'function') throw createWrongError(`${what}: onProgress`, 'a function', onProgress);
}

function assertSuite(call: string, suite: unknown): void {
  if (typeof suite === 'string' || (typeof suite === 'object' && suite !== null && !(suite instanceof URL))) return;
  throw createWrongError(`${call}: suite`, 'the path of a suite file, or a suite as an object', suite);
}

function assertCheckpoint(what: string, checkpoint: unknown): void {
  if (typeof checkpoint !== 'string' || checkpoint === '')
    throw createWrongError(what, 'the path or URI of a checkpoint, as a string', checkpoint);
}

function createWrongError(what: string, expected: string, given: unknown): InputError {
  const got = given instanceof URL ? 'a URL' : typeof given === 'number' ? String(given) : JSON.stringify(given);
  return new InputError('library.input', `${what}: expected ${expected}, got ${got}`);
}

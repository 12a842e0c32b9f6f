import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { RunningComparison } from './aggregation/paired-fold.ts';
import { openRecordedEvaluation } from './adapters/results/recorded-evaluation.ts';
import { ResultsDirectory } from './adapters/results/results-directory.ts';
import type { Config } from './config/config.ts';
import { keptConfig } from './config/kept-config.ts';
import { loadConfig } from './config/load-config.ts';
import { Ground, type LoadedSuite } from './ground.ts';
import { kept } from './kept-results.ts';
import { compare as compareOn, ComparisonFailedError, type ComparisonTermsInput, type NamedCheckpoint } from './orchestrator/compare.ts';
import type { ComparisonSummary } from './orchestrator/comparison-summary.ts';
import type { Baseline } from './orchestrator/comparison.ts';
import { evaluate as evaluateOn, EvaluationFailedError } from './orchestrator/evaluate.ts';
import type { Progress } from './orchestrator/progress.ts';
import { isUri } from './own-checkpoints.ts';
import { recordedBaseline } from './orchestrator/recorded-baseline.ts';
import type { SuiteDefinition } from './orchestrator/suite-definition.ts';
import type { Summary } from './orchestrator/summary.ts';
import { tune, type TuningProgress } from './orchestrator/tune.ts';
import type { Tuning } from './orchestrator/tuning.ts';
import type { StoredCheckpoint } from './policy-distribution/checkpoint-store.ts';
import type { SuiteInput } from './suite-input.ts';

export type { LoadedSuite } from './ground.ts';

/**
 * The composition root, with ground.ts, pools.ts and serve.ts: where the domain meets its adapters. Everything that is opened here is closed with the Muster
 * that it belongs to.
 */

export interface CheckpointInput {
  /** Path or URI of a checkpoint file or directory. */
  readonly checkpoint: string;
  readonly labels?: { readonly run?: string; readonly version?: number };
}

export interface EvaluationInput extends SuiteInput, CheckpointInput {}

export interface EvaluationOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** New directory to keep summary, episodes and configuration in. */
  readonly out?: string;
}

export interface ComparisonInput extends SuiteInput {
  /** Path or URI of a checkpoint, or path of a directory that an evaluation on the same suite was kept in. */
  readonly baseline: string;
  /** Paths or URIs of checkpoints; one at least. */
  readonly candidates: readonly string[];
  readonly terms?: ComparisonTermsInput;
}

export interface ComparisonOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress<RunningComparison>) => void;
  /** New directory to keep summary, episodes and configuration in. */
  readonly out?: string;
}

export interface TuningInput extends SuiteInput, Pick<CheckpointInput, 'checkpoint'> {
  /** For all trials together, about. */
  readonly seconds: number;
}

export interface TuningOptions {
  readonly signal?: AbortSignal;
  /** Called when a trial begins. */
  readonly onProgress?: (progress: TuningProgress) => void;
}

export class Muster implements AsyncDisposable {
  readonly #ground: Ground;

  private constructor(ground: Ground) {
    this.#ground = ground;
  }

  /** @throws InfrastructureError when the state directory cannot be used. */
  static async open(config: Config): Promise<Muster> {
    return new Muster(await Ground.open(config));
  }

  /**
   * @throws InputError when suite or checkpoint are wrong or do not fit together; InfrastructureError when the machine fails,
   * as `EvaluationFailedError` with the partial summary once episodes have been played.
   */
  async evaluate(input: EvaluationInput, options: EvaluationOptions = {}): Promise<Summary> {
    return this.evaluateLoaded(await this.loadSuite(input, options.signal), input, options);
  }

  /** For several checkpoints on the same suite. @throws as `evaluate` does. */
  async evaluateLoaded(suite: LoadedSuite, input: CheckpointInput, options: EvaluationOptions = {}): Promise<Summary> {
    const signal = this.#ground.either(options.signal);
    const checkpoint = await this.#ground.addCheckpoint(input.checkpoint, signal, input.labels);
    await using _held = await this.#ground.hold([checkpoint, suite.files]);
    await using results = await this.#results(options.out, { suite: suite.definition, checkpoint: identity(checkpoint) });
    const request = { suite: suite.definition, suiteFiles: suite.files, checkpoint, checkpointUri: input.checkpoint };
    const play = async (): Promise<Summary> => {
      const context = await this.#ground.context({ ...request, checkpoints: [checkpoint] }, signal);
      using _sharing = context.sharing;
      return await evaluateOn(context, request, {
        ...(options.onProgress ? { onProgress: options.onProgress } : {}),
        ...(results ? { episodes: results } : {}),
        signal,
      });
    };
    return await kept(results, play, (partial, cause) => new EvaluationFailedError(partial, cause));
  }

  /**
   * Candidates against a baseline, on the same episodes.
   *
   * @throws InputError when suite, checkpoints or terms are wrong or do not fit together; InfrastructureError when the machine fails,
   * as `ComparisonFailedError` with the partial summary once episodes have been played.
   */
  async compare(input: ComparisonInput, options: ComparisonOptions = {}): Promise<ComparisonSummary> {
    const signal = this.#ground.either(options.signal);
    const { definition: suite, files: suiteFiles } = await this.loadSuite(input, signal);
    const baseline = await this.#baseline(input.baseline, suite, signal);
    const candidates: NamedCheckpoint[] = [];
    for (const uri of input.candidates) candidates.push({ uri, checkpoint: await this.#ground.addCheckpoint(uri, signal) });
    await using _held = await this.#ground.hold([
      ...(baseline.kind === 'played' ? [baseline.checkpoint] : []),
      ...candidates.map(({ checkpoint }) => checkpoint),
      suiteFiles,
    ]);
    const compared = {
      baseline: baseline.kind === 'played' ? identity(baseline.checkpoint) : { digest: baseline.digest, recorded: input.baseline },
      candidates: candidates.map(({ checkpoint }) => identity(checkpoint)),
    };
    await using results = await this.#results(options.out, { suite, ...compared });
    const request = { suite, suiteFiles, baseline, baselineUri: input.baseline, candidates, terms: input.terms ?? {} };
    const play = async (): Promise<ComparisonSummary> => {
      const played = [...(baseline.kind === 'played' ? [baseline.checkpoint] : []), ...candidates.map(({ checkpoint }) => checkpoint)];
      const context = await this.#ground.context({ suite, suiteFiles, checkpoints: played }, signal);
      using _sharing = context.sharing;
      return await compareOn(context, request, {
        ...(options.onProgress ? { onProgress: options.onProgress } : {}),
        ...(results ? { episodes: results } : {}),
        signal,
      });
    };
    return await kept(results, play, (partial, cause) => new ComparisonFailedError(partial, cause));
  }

  /**
   * Plays a suite in several ways, and says how fast each of them is on this machine.
   *
   * @throws InputError when suite or checkpoint are wrong or do not fit together; InfrastructureError when the machine fails; the signal's
   * reason when it is aborted.
   */
  async tune(input: TuningInput, options: TuningOptions = {}): Promise<Tuning> {
    const signal = this.#ground.either(options.signal);
    const { definition: suite, files: suiteFiles } = await this.loadSuite(input, signal);
    const checkpoint = await this.#ground.addCheckpoint(input.checkpoint, signal);
    await using _held = await this.#ground.hold([checkpoint, suiteFiles]);
    const context = await this.#ground.context({ suite, suiteFiles, checkpoints: [checkpoint] }, signal);
    using _sharing = context.sharing;
    const terms = { processors: availableParallelism(), seconds: input.seconds };
    const request = { suite, suiteFiles, checkpoint, checkpointUri: input.checkpoint, ...terms };
    return await tune(context, request, { signal, ...(options.onProgress ? { onProgress: options.onProgress } : {}) });
  }

  /** A results directory of an earlier evaluation stands in for playing its checkpoint again. */
  async #baseline(path: string, suite: SuiteDefinition, signal: AbortSignal): Promise<Baseline> {
    const recorded = isUri(path) ? undefined : await openRecordedEvaluation(resolve(path));
    if (recorded) return { kind: 'recorded', ...(await recordedBaseline(recorded, suite)) };
    return { kind: 'played', checkpoint: await this.#ground.addCheckpoint(path, signal) };
  }

  /** Reads and checks a suite, with its files. @throws InputError when it is wrong. */
  loadSuite(input: SuiteInput, signal?: AbortSignal): Promise<LoadedSuite> {
    return this.#ground.loadSuite(input, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ground[Symbol.asyncDispose]();
  }

  async #results(out: string | undefined, facts: object): Promise<ResultsDirectory | undefined> {
    return out === undefined ? undefined : ResultsDirectory.create(out, { config: keptConfig(this.#ground.config), ...facts });
  }
}

export interface OneEvaluationOptions extends EvaluationOptions {
  /** Path of a configuration file; the defaults alone when left out. */
  readonly configFile?: string;
  /** Most sandboxes at a time, in place of the configuration's. */
  readonly sandboxes?: number;
}

/** Of a checkpoint, for the record. */
function identity({ digest, kind, labels, files }: StoredCheckpoint): object {
  return { digest, kind, labels, files: files.map(({ path, size, digest: ofFile }) => ({ path, size, digest: ofFile })) };
}

/**
 * Opens Muster, evaluates one checkpoint, closes it: for a script. A program that evaluates often keeps a `Muster` open, and
 * with it its warm sandboxes.
 *
 * @throws as `Muster.evaluate` does, and InputError when the configuration is wrong.
 */
export async function evaluate(input: EvaluationInput, options: OneEvaluationOptions = {}): Promise<Summary> {
  await using muster = await Muster.open(configuration(options.configFile, options.sandboxes));
  return await muster.evaluate(input, options);
}

/** The configuration of a command or a script: the file, the environment's variables, and `--sandboxes` over both. */
export function configuration(file?: string, sandboxes?: number): Config {
  const flags = sandboxes === undefined ? [] : [{ name: '--sandboxes', path: ['pool', 'max'], value: sandboxes }];
  return loadConfig({ file, environment: process.env, flags });
}

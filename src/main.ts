import { join, resolve } from 'node:path';
import { pino } from 'pino';
import type { RunningComparison } from './aggregation/paired-fold.ts';
import { filesystemSource } from './adapters/checkpoints/filesystem.ts';
import { openRecordedEvaluation } from './adapters/results/recorded-evaluation.ts';
import { ResultsDirectory } from './adapters/results/results-directory.ts';
import type { Config } from './config/config.ts';
import { contentToShare, type Played } from './content-to-share.ts';
import { keptConfig } from './config/kept-config.ts';
import { loadConfig } from './config/load-config.ts';
import { systemClock } from './kernel/clock.ts';
import { InfrastructureError } from './kernel/errors.ts';
import type { Log } from './kernel/log.ts';
import { kept } from './kept-results.ts';
import type { EvaluateContext } from './orchestrator/evaluate-context.ts';
import { compare as compareOn, ComparisonFailedError, type ComparisonTermsInput, type NamedCheckpoint } from './orchestrator/compare.ts';
import type { ComparisonSummary } from './orchestrator/comparison-summary.ts';
import type { Baseline } from './orchestrator/comparison.ts';
import { evaluate as evaluateOn, EvaluationFailedError } from './orchestrator/evaluate.ts';
import type { Progress } from './orchestrator/progress.ts';
import { recordedBaseline } from './orchestrator/recorded-baseline.ts';
import { defineSuite, type SuiteDefinition } from './orchestrator/suite-definition.ts';
import type { Summary } from './orchestrator/summary.ts';
import { CheckpointStore, type StoredCheckpoint } from './policy-distribution/checkpoint-store.ts';
import { Distributor } from './policy-distribution/distributor.ts';
import { Pools } from './pools.ts';
import { readSuite, type SuiteInput } from './suite-input.ts';

/**
 * The composition root, with pools.ts: where the domain meets its adapters. Everything that is opened here is closed with the Muster
 * that it belongs to.
 */

export interface CheckpointInput {
  /** Path of a checkpoint file or directory. */
  readonly checkpoint: string;
  readonly labels?: { readonly run?: string; readonly version?: number };
}

export interface EvaluationInput extends SuiteInput, CheckpointInput {}

/** A suite with its files as they were when it was read: what happens to them afterwards changes nothing. */
export interface LoadedSuite {
  readonly definition: SuiteDefinition;
  readonly files: StoredCheckpoint | undefined;
}

export interface EvaluationOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** New directory to keep summary, episodes and configuration in. */
  readonly out?: string;
}

export interface ComparisonInput extends SuiteInput {
  /** Path of a checkpoint, or of a directory that an evaluation on the same suite was kept in. */
  readonly baseline: string;
  /** Paths of checkpoints; one at least. */
  readonly candidates: readonly string[];
  readonly terms?: ComparisonTermsInput;
}

export interface ComparisonOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress<RunningComparison>) => void;
  /** New directory to keep summary, episodes and configuration in. */
  readonly out?: string;
}

export class Muster implements AsyncDisposable {
  readonly #config: Config;
  readonly #log: Log;
  readonly #store: CheckpointStore;
  readonly #pools: Pools;
  readonly #distributor = new Distributor();
  readonly #closing = new AbortController();

  private constructor(config: Config, log: Log, store: CheckpointStore) {
    this.#config = config;
    this.#log = log;
    this.#store = store;
    this.#pools = new Pools(config, systemClock, log);
  }

  /** @throws InfrastructureError when the state directory cannot be used. */
  static async open(config: Config): Promise<Muster> {
    const log = pino({ level: config.log.level, base: null }, pino.destination({ fd: 2, sync: true }));
    const store = await CheckpointStore.open({ directory: join(config.stateDir, 'store'), limits: config.checkpoints, clock: systemClock });
    return new Muster(config, log, store);
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
    const signal = this.#either(options.signal);
    const checkpoint = await this.#store.add(filesystemSource, resolve(input.checkpoint), signal, input.labels);
    await using _held = await this.#held([checkpoint, suite.files]);
    await using results = await this.#results(options.out, { suite: suite.definition, checkpoint: identity(checkpoint) });
    const request = { suite: suite.definition, suiteFiles: suite.files, checkpoint, checkpointUri: input.checkpoint };
    const play = async (): Promise<Summary> => {
      const context = await this.#context({ ...request, checkpoints: [checkpoint] }, signal);
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
    const signal = this.#either(options.signal);
    const { definition: suite, files: suiteFiles } = await this.loadSuite(input, signal);
    const baseline = await this.#baseline(input.baseline, suite, signal);
    const candidates: NamedCheckpoint[] = [];
    for (const uri of input.candidates)
      candidates.push({ uri, checkpoint: await this.#store.add(filesystemSource, resolve(uri), signal, undefined) });
    await using _held = await this.#held([
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
      const context = await this.#context({ suite, suiteFiles, checkpoints: played }, signal);
      using _sharing = context.sharing;
      return await compareOn(context, request, {
        ...(options.onProgress ? { onProgress: options.onProgress } : {}),
        ...(results ? { episodes: results } : {}),
        signal,
      });
    };
    return await kept(results, play, (partial, cause) => new ComparisonFailedError(partial, cause));
  }

  /** A results directory of an earlier evaluation stands in for playing its checkpoint again. */
  async #baseline(path: string, suite: SuiteDefinition, signal: AbortSignal): Promise<Baseline> {
    const recorded = await openRecordedEvaluation(resolve(path));
    if (recorded) return { kind: 'recorded', ...(await recordedBaseline(recorded, suite)) };
    return { kind: 'played', checkpoint: await this.#store.add(filesystemSource, resolve(path), signal, undefined) };
  }

  /** Reads and checks a suite, with its files. @throws InputError when it is wrong. */
  async loadSuite(input: SuiteInput, outer?: AbortSignal): Promise<LoadedSuite> {
    const { parsed, directory } = await readSuite(input);
    if (directory === undefined) return { definition: defineSuite(parsed, undefined), files: undefined };
    const files = await this.#store.addDirectory(filesystemSource, directory, this.#either(outer));
    return { definition: defineSuite(parsed, files.digest), files };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new DOMException('Muster is closing', 'AbortError'));
    await this.#pools[Symbol.asyncDispose]();
  }

  /** Until it is disposed, nobody removes them to make room. */
  async #held(checkpoints: readonly (StoredCheckpoint | undefined)[]): Promise<AsyncDisposable> {
    await using stack = new AsyncDisposableStack();
    for (const checkpoint of checkpoints) {
      if (!checkpoint) continue;
      const held = await this.#store.hold(checkpoint.digest);
      if (!held)
        throw new InfrastructureError('store.removed', `store: ${checkpoint.digest} was removed before it was played; start again`);
      stack.use(held);
    }
    return stack.move();
  }

  #either(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
  }

  async #results(out: string | undefined, facts: object): Promise<ResultsDirectory | undefined> {
    return out === undefined ? undefined : ResultsDirectory.create(out, { config: keptConfig(this.#config), ...facts });
  }

  async #context(played: Played, signal: AbortSignal): Promise<EvaluateContext> {
    const { template } = played.suite;
    const settings = this.#pools.settings(template);
    const content = contentToShare(played, settings, this.#distributor);
    return {
      sharing: await this.#pools.share(template, content, signal),
      pool: await this.#pools.of(template, signal),
      provider: settings.provider,
      maxSandboxes: this.#config.pool.max,
      costPerSandboxHour: settings.costPerSandboxHour,
      distributor: this.#distributor,
      clock: systemClock,
      log: this.#log,
      config: { ...this.#config.evaluation, renewMilliseconds: (this.#config.pool.leaseSeconds * 1000) / 3 },
    };
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

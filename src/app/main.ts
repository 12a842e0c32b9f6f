import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { openRecordedEvaluation } from '../adapters/files/recorded-evaluation.ts';
import { assertOneResult } from '../adapters/files/recorded-summaries.ts';
import { LOCAL_CALLER } from '../service/access/caller.ts';
import type { Config } from '../config/config.ts';
import { redactConfig } from '../config/kept-config.ts';
import { readConfiguration } from './configuration.ts';
import { Runtime, type LoadedSuite } from './runtime.ts';
import { replayRecorded, type ReplayInput } from './replays.ts';
import { openResults, playAndKeep } from './recorded-results.ts';
import { chooseJournal, describeComparison, describeEvaluation } from './runs-to-keep.ts';
import { compare as compareOn, ComparisonFailedError, type NamedCheckpoint } from '../orchestrator/compare.ts';
import type { ComparisonSummary } from '../orchestrator/results/comparison-summary.ts';
import type { Baseline } from '../orchestrator/comparison.ts';
import type { EvaluateContext } from '../orchestrator/run/evaluate-context.ts';
import { nameCheckpoint } from '../orchestrator/run/refused-checkpoint-error.ts';
import { evaluate as evaluateOn, EvaluationFailedError } from '../orchestrator/evaluate.ts';
import type { Progress } from '../orchestrator/facts/progress.ts';
import { systemClock } from '../kernel/clock.ts';
import { InfrastructureError, InputError, MusterError } from '../kernel/errors.ts';
import { isUri } from './checkpoints/own-checkpoints.ts';
import { readRecordedBaseline } from '../orchestrator/results/recorded-baseline.ts';
import { isPlayedByAgents } from '../orchestrator/suite/agent-tasks.ts';
import type { SuiteDefinition } from '../orchestrator/suite/suite-definition.ts';
import type { ReplayDocument } from '../orchestrator/replay/replay-document.ts';
import type { Summary } from '../orchestrator/results/summary.ts';
import { tune } from '../orchestrator/tuning/tune.ts';
import type { Tuning } from '../orchestrator/tuning/tuning.ts';
import type { Checkpoint, CheckpointLabels } from '../policy-distribution/checkpoint.ts';
import { toIdentity, type StoredCheckpoint } from '../policy-distribution/stored-checkpoint.ts';
import { ArrivalQueue } from '../service/playing/arrival-queue.ts';
import { blameAgent, toAgentUri, type SuiteInput } from './suites/suite-input.ts';
import {
  assertComparison,
  assertConfiguration,
  assertEvaluation,
  assertOneEvaluation,
  assertTuning,
  type CheckpointInput,
  type ComparisonInput,
  type ComparisonOptions,
  type EvaluationInput,
  type EvaluationOptions,
  type OneEvaluationOptions,
  type TuningInput,
  type TuningOptions,
} from './requests.ts';

export type { LoadedSuite } from './runtime.ts';
export type * from './requests.ts';
export { readConfiguration, InfrastructureError, InputError, MusterError, ComparisonFailedError, EvaluationFailedError };
export type { ComparisonSummary, Config, Progress, Summary };

/**
 * Muster as a library. With runtime.ts, pools.ts and serve.ts it is the composition root, which connects the domain with its adapters. Closing it
 * closes all that it has opened.
 *
 * Evaluations and comparisons that are requested at the same time run side by side: each gets the sandboxes that earlier ones do not need.
 */
export class Muster implements AsyncDisposable {
  readonly #runtime: Runtime;
  readonly #queue: ArrivalQueue;

  private constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#queue = new ArrivalQueue((template) => runtime.pools.getSize(template).max, systemClock);
  }

  /** @throws InputError when the state directory cannot be used by this user, or this is no configuration; InfrastructureError when its disk fails. */
  static async open(config: Config): Promise<Muster> {
    assertConfiguration(config);
    return new Muster(await Runtime.open(config, 'own'));
  }

  /**
   * @throws InputError when suite or checkpoint are wrong or do not fit together; InfrastructureError when the machine fails,
   * as `EvaluationFailedError` with the partial summary once episodes have been played.
   */
  async evaluate(input: EvaluationInput, options: EvaluationOptions = {}): Promise<Summary> {
    assertEvaluation(input, options);
    const position = this.#queue.takePosition();
    return this.#evaluateLoaded(position, await this.loadSuite(input, options.signal), input, options);
  }

  /** Evaluates one of several checkpoints on the same suite. @throws as `evaluate` does. */
  evaluateLoaded(suite: LoadedSuite, input: CheckpointInput, options: EvaluationOptions = {}): Promise<Summary> {
    return this.#evaluateLoaded(this.#queue.takePosition(), suite, input, options);
  }

  async #evaluateLoaded(position: number, suite: LoadedSuite, input: CheckpointInput, options: EvaluationOptions): Promise<Summary> {
    const signal = this.#runtime.joinSignals(options.signal);
    using share = this.#queue.join(position, suite.definition.template);
    const checkpoint = await this.#addCheckpoint(suite.definition, input.checkpoint, signal, input.labels);
    await using _held = await this.#runtime.hold([checkpoint, suite.files]);
    const kept = describeEvaluation(this.#getFacts(suite.files), suite.definition, checkpoint);
    const opened = await openResults(options, kept, systemClock);
    if (opened?.kind === 'complete') return opened.summary;
    await using results = opened?.directory;
    const request = { suite: suite.definition, suiteFiles: suite.files, checkpoint, checkpointUri: input.checkpoint };
    const play = async (): Promise<Summary> => {
      const storedTurns = results && { turns: results.turns, principal: LOCAL_CALLER.principal };
      const given = { ...request, checkpoints: [checkpoint], trajectories: results?.trajectories, storedTurns };
      const context = await this.#buildContext(given, [{ uri: input.checkpoint, checkpoint }], signal);
      using _players = context.players;
      return await evaluateOn({ ...context, share }, request, {
        ...(options.onProgress ? { onProgress: options.onProgress } : {}),
        ...(options.after ? { after: options.after } : {}),
        ...(results ? { episodes: results } : {}),
        ...(opened?.kind === 'resumed' && opened.journals[0] ? { journal: opened.journals[0] } : {}),
        signal,
      });
    };
    return await playAndKeep(results, play, (partial, cause) => new EvaluationFailedError(partial, cause));
  }

  /** @param named the checkpoints as the caller named them. */
  async #buildContext(
    given: Parameters<Runtime['buildContext']>[0],
    named: readonly NamedCheckpoint[],
    signal: AbortSignal,
  ): Promise<EvaluateContext> {
    try {
      return await this.#runtime.buildContext(given, LOCAL_CALLER.principal, signal);
    } catch (error) {
      throw error instanceof Error ? nameCheckpoint(error, named) : error;
    }
  }

  /**
   * Compares candidates with a baseline, on the same episodes.
   *
   * @throws InputError when suite, checkpoints or terms are wrong or do not fit together; InfrastructureError when the machine fails, as
   * `ComparisonFailedError` with the partial summary once episodes have been played.
   */
  async compare(input: ComparisonInput, options: ComparisonOptions = {}): Promise<ComparisonSummary> {
    assertComparison(input, options);
    const position = this.#queue.takePosition();
    const signal = this.#runtime.joinSignals(options.signal);
    const { definition: suite, files: suiteFiles } = await this.loadSuite(input, signal);
    using share = this.#queue.join(position, suite.template);
    const baseline = await this.#loadBaseline(input.baseline, suite, signal);
    const candidates: NamedCheckpoint[] = [];
    for (const uri of input.candidates) candidates.push({ uri, checkpoint: await this.#addCheckpoint(suite, uri, signal) });
    const named = baseline.kind === 'played' ? [{ uri: input.baseline, checkpoint: baseline.checkpoint }, ...candidates] : candidates;
    const checkpoints = named.map(({ checkpoint }) => checkpoint);
    await using _held = await this.#runtime.hold([...checkpoints, suiteFiles]);
    const { terms = {} } = input;
    const played = candidates.map(({ checkpoint }) => checkpoint);
    const kept = describeComparison(this.#getFacts(suiteFiles), suite, {
      baseline,
      baselineUri: input.baseline,
      candidates: played,
      terms,
    });
    const opened = await openResults(options, kept, systemClock);
    if (opened?.kind === 'complete') return opened.summary;
    await using results = opened?.directory;
    const request = { suite, suiteFiles, baseline, baselineUri: input.baseline, candidates, terms };
    const play = async (): Promise<ComparisonSummary> => {
      const storedTurns = results && { turns: results.turns, principal: LOCAL_CALLER.principal };
      const given = { suite, suiteFiles, checkpoints, trajectories: results?.trajectories, storedTurns };
      const context = await this.#buildContext(given, named, signal);
      using _players = context.players;
      return await compareOn({ ...context, share }, request, {
        ...(options.onProgress ? { onProgress: options.onProgress } : {}),
        ...(results ? { episodes: results } : {}),
        ...(opened?.kind === 'resumed' ? { journal: chooseJournal(opened.journals, baseline) } : {}),
        signal,
      });
    };
    return await playAndKeep(results, play, (partial, cause) => new ComparisonFailedError(partial, cause));
  }

  /**
   * Plays a suite in several ways, and reports how fast each is on this machine.
   *
   * @throws InputError when suite or checkpoint are wrong or do not fit together; InfrastructureError when the machine fails; the signal's reason
   * when it is aborted.
   */
  async tune(input: TuningInput, options: TuningOptions = {}): Promise<Tuning> {
    assertTuning(input, options);
    const signal = this.#runtime.joinSignals(options.signal);
    const { definition: suite, files: suiteFiles } = await this.loadSuite(input, signal);
    if (isPlayedByAgents(suite))
      throw new InputError(
        'suite.tasks',
        `suite ${suite.name} has tasks for agents, which have only one way of playing; expected environments for policies`,
      );
    const checkpoint = await this.#runtime.addCheckpoint(input.checkpoint, signal);
    await using _held = await this.#runtime.hold([checkpoint, suiteFiles]);
    const context = await this.#runtime.buildContext({ suite, suiteFiles, checkpoints: [checkpoint] }, LOCAL_CALLER.principal, signal);
    using _players = context.players;
    const terms = { processors: availableParallelism(), seconds: input.seconds };
    const request = { suite, suiteFiles, checkpoint, checkpointUri: input.checkpoint, ...terms };
    return await tune(context, request, { signal, ...(options.onProgress ? { onProgress: options.onProgress } : {}) });
  }

  /** Plays one episode of stored results again, and records it. @throws as `replayRecorded` does. */
  replay(input: ReplayInput, options: { readonly signal?: AbortSignal } = {}): Promise<ReplayDocument> {
    return replayRecorded(this.#runtime, input, this.#runtime.joinSignals(options.signal));
  }

  /** A results directory of an earlier evaluation replaces playing its checkpoint again. */
  async #loadBaseline(path: string, suite: SuiteDefinition, signal: AbortSignal): Promise<Baseline> {
    if (isPlayedByAgents(suite) && isUri(toAgentUri(path)))
      return { kind: 'played', checkpoint: await this.#addCheckpoint(suite, path, signal) };
    const recorded = isUri(path) ? undefined : await openRecordedEvaluation(resolve(path));
    if (recorded) return { kind: 'recorded', ...(await readRecordedBaseline(recorded, suite)) };
    if (!isUri(path)) await assertOneResult(path);
    return { kind: 'played', checkpoint: await this.#addCheckpoint(suite, path, signal) };
  }

  /** Adds an agent where the suite has tasks for agents: some agents need no file. */
  #addCheckpoint(suite: SuiteDefinition, written: string, signal: AbortSignal, labels?: CheckpointLabels): Promise<StoredCheckpoint> {
    const isAgent = isPlayedByAgents(suite);
    const adding = this.#runtime.addCheckpoint(isAgent ? toAgentUri(written) : written, signal, labels);
    return blameAgent(adding, written, isAgent);
  }

  /** Reads and checks a suite, with its files. @throws InputError when it is wrong. */
  loadSuite(input: SuiteInput, signal?: AbortSignal): Promise<LoadedSuite> {
    return this.#runtime.loadSuite(input, signal);
  }

  /** Returns the configuration and the suite's modules, for the record. */
  #getFacts(files: StoredCheckpoint | undefined): { readonly config: Config; readonly modules: Checkpoint['files'] | undefined } {
    return { config: redactConfig(this.#runtime.config), modules: files && toIdentity(files).files };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runtime[Symbol.asyncDispose]();
  }
}

/**
 * Opens Muster, evaluates one checkpoint and closes it, for scripts. A program that evaluates often keeps a `Muster` open, and with it its warm
 * sandboxes.
 *
 * @throws as `Muster.evaluate` does, and InputError when the configuration is wrong.
 */
export async function evaluate(input: EvaluationInput, options: OneEvaluationOptions = {}): Promise<Summary> {
  assertOneEvaluation(input, options);
  const { configFile, sandboxes, ...rest } = options;
  await using muster = await Muster.open(readConfiguration(configFile, sandboxes));
  return await muster.evaluate(input, rest);
}

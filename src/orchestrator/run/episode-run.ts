import PQueue from 'p-queue';
import pRetry from 'p-retry';
import { createAbortError, raceWithAbort } from '../../kernel/abort.ts';
import { InfrastructureError, toError } from '../../kernel/errors.ts';
import type { PoolTotals } from '../../pool/members/pool-state.ts';
import type { PlayedEpisode } from '../../runner/played-episode.ts';
import type { Arm } from '../arm/arm.ts';
import { ArmShifts } from './arm-shifts.ts';
import { watchBudget } from './budget-watch.ts';
import type { EvaluateContext } from './evaluate-context.ts';
import { ProgressReporter, type Progress } from '../facts/progress.ts';
import { runFacts, type RunFacts } from '../facts/run-facts.ts';
import { SandboxTime } from './sandbox-time.ts';
import { Workers } from './workers.ts';
import type { RunningFigures, Study } from '../arm/study.ts';
import type { Ending } from '../results/summary.ts';
import { Places } from './places.ts';
import { Waiters } from './waiters.ts';

export interface RunOptions<Running extends RunningFigures> {
  /** Aborting it ends the run with the results so far. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress<Running>) => void;
  /**
   * Leases sandboxes that no other run needs, and loads them at once. The first episode, the clock and the budget wait until this promise
   * has settled.
   */
  readonly after?: Promise<unknown>;
  /** It only adds the outcomes that the journals know, and ends as interrupted: this gives the result of a run that was cancelled. */
  readonly recallOnly?: boolean;
}

export interface RunResult {
  readonly ending: Ending;
  /** Why it failed: an InfrastructureError with `ending` 'failed', or any other error, which the caller throws. */
  readonly failure: Error | undefined;
  readonly facts: RunFacts;
}

/** One for all runs: recording the stack of a new error, which is never read, takes as long as some episodes. */
const OVER = new DOMException('the evaluation is over', 'AbortError');

/**
 * Plays the episodes of a study until it needs no more, on as many sandboxes as the pool may have.
 *
 * It starts as many *workers* as there are blocks of episodes waiting, at most one for each sandbox that the pool may have. A worker leases
 * one sandbox after the other and plays with each (`Players`), for the arm with the most work. With several arms, a shift without work ends
 * when another arm has some.
 *
 * The file is long because each step may end the run: its budget, its progress, its journals and its workers share one end and one failure.
 * What needs neither is in other files: who plays for which arm (arm-shifts.ts), slots (workers.ts), sandbox time, the budget's timer.
 */
export class EpisodeRun<Running extends RunningFigures> {
  readonly #context: EvaluateContext;
  readonly #study: Study<Running>;
  readonly #progress: ProgressReporter<Running>;
  readonly #queue: PQueue;
  readonly #idle = new Waiters();
  readonly #over = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #recallOnly: boolean;
  readonly #after: Promise<unknown> | undefined;
  readonly #begun = Promise.withResolvers<void>();
  readonly #poolBefore: PoolTotals;
  readonly #sandboxTime = new SandboxTime();
  readonly #shifts: ArmShifts;
  readonly #places = new Places();
  #ending: Ending = 'rule';
  #failure: Error | undefined;
  readonly #workers: Workers;

  constructor(context: EvaluateContext, study: Study<Running>, options: RunOptions<Running>) {
    this.#context = context;
    this.#study = study;
    this.#shifts = new ArmShifts(study.arms);
    this.#caller = options.signal;
    this.#recallOnly = options.recallOnly ?? false;
    this.#after = options.after;
    this.#progress = new ProgressReporter(context.clock, study, () => context.players.state(), this.#guardListener(options.onProgress));
    this.#poolBefore = context.players.state().totals;
    this.#workers = new Workers(context.share);
    this.#queue = new PQueue({ concurrency: context.maxSandboxes });
  }

  /** Never rejects: a failure is part of the result. */
  async play(): Promise<RunResult> {
    const onAbort = (): void => this.#end('interrupted');
    if (this.#caller?.aborted) onAbort();
    this.#caller?.addEventListener('abort', onAbort, { once: true });
    if (this.#after) await this.#prepare(this.#after);
    // A run that has not begun has no results.
    if (this.#caller?.aborted && this.#after) this.#fail(createAbortError(this.#caller));
    using _budget = this.#watchBudget();
    using _progress = this.#progress.start();
    await this.#recall().catch((error: unknown) => this.#fail(toError(error)));
    if (this.#recallOnly) this.#end('interrupted');
    this.#begun.resolve();
    await this.#waitForSharing();
    if (!this.#over.signal.aborted) this.#putToWork();
    await this.#queue.onIdle();
    this.#caller?.removeEventListener('abort', onAbort);
    this.#progress.report();
    if (!this.#failure) await this.#finish().catch((error: unknown) => this.#fail(toError(error)));
    return { ending: this.#failure ? 'failed' : this.#ending, failure: this.#failure, facts: this.#getFacts() };
  }

  /** Loads policies into sandboxes that no other run uses, until it is this run's turn. */
  async #prepare(after: Promise<unknown>): Promise<void> {
    using _back = this.#context.share?.standBack();
    const turn = Promise.allSettled([after]);
    await this.#waitForSharing();
    if (!this.#over.signal.aborted) this.#putToWork();
    await raceWithAbort(turn, this.#over.signal).catch(() => undefined);
  }

  /** Waits while the content that the run shares is loaded. Others play with the present content meanwhile. */
  async #waitForSharing(): Promise<void> {
    await this.#context.players.waitUntilShared(this.#over.signal);
  }

  async #finish(): Promise<void> {
    for (const arm of this.#study.arms) await arm.finish();
  }

  #getFacts(): RunFacts {
    const { clock, players, provider, maxSandboxes, costPerSandboxHour } = this.#context;
    const sandboxSeconds = this.#sandboxTime.sumSeconds(clock.now());
    const suite = this.#study.arms[0]?.suite;
    return runFacts({
      arms: this.#study.arms,
      surplus: this.#study.surplus,
      timings: this.#progress.getTimings(),
      sandboxSeconds,
      costPerSandboxHour,
      deliveries: players.deliveries,
      provider,
      template: suite?.template ?? '',
      sandboxesMax: maxSandboxes,
      pool: players.state(),
      poolBefore: this.#poolBefore,
    });
  }

  /** A listener that throws in a timer would end the whole process; here it ends the run. */
  #guardListener(listener: RunOptions<Running>['onProgress']): RunOptions<Running>['onProgress'] {
    return (
      listener &&
      ((progress) => {
        try {
          listener(progress);
        } catch (error) {
          this.#fail(toError(error));
        }
      })
    );
  }

  #watchBudget(): Disposable {
    const { clock, costPerSandboxHour } = this.#context;
    const budget = this.#study.arms[0]?.suite.budget;
    const cost = (): number => ((costPerSandboxHour ?? 0) * this.#sandboxTime.sumSeconds(clock.now())) / 3600;
    return watchBudget({ clock, seconds: budget?.seconds, cost: budget?.cost, spent: cost, onSpent: (what) => this.#end(what) });
  }

  #end(ending: Ending): void {
    if (this.#over.signal.aborted) return;
    this.#ending = ending;
    this.#over.abort(OVER);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#end('failed');
  }

  /** Adds the outcomes that the journals know of needed episodes, as far as the study gets with them. */
  async #recall(): Promise<void> {
    const { arms } = this.#study;
    if (arms.every(({ isRecalled }) => isRecalled)) return;
    let goesOn = true;
    while (goesOn && !this.#over.signal.aborted) {
      goesOn = false;
      for (const arm of arms) if (await arm.recall(this.#context.maxSandboxes, this.#over.signal)) goesOn = true;
      if (this.#study.ended) this.#end(this.#study.ended);
    }
  }

  /** Starts as many workers as there are blocks of episodes waiting, within the pool's bounds. */
  #putToWork(): void {
    const wanted = this.#countAvailable() - this.#idle.count;
    const free = this.#context.maxSandboxes - this.#workers.size;
    for (let i = 0; i < Math.min(wanted, free); i += 1) {
      const worker = this.#workers.add();
      void this.#queue.add(() => this.#work(worker));
    }
  }

  /** Counts the blocks of episodes that could be dispatched now. */
  #countAvailable(): number {
    let sum = 0;
    for (const arm of this.#study.arms) sum += arm.countAvailable(this.#context.maxSandboxes);
    return sum;
  }

  /** Leases one sandbox after the other until there is nothing left to play. */
  async #work(worker: Disposable): Promise<void> {
    using _worker = worker;
    const { infrastructureRetries, retryMilliseconds } = this.#context.config;
    try {
      while (!this.#over.signal.aborted) {
        await pRetry(() => this.#shift(), {
          retries: infrastructureRetries,
          minTimeout: retryMilliseconds,
          maxTimeout: 64 * retryMilliseconds,
          signal: this.#over.signal,
          shouldRetry: ({ error }) => error instanceof InfrastructureError,
          onFailedAttempt: ({ error, retriesLeft }) => {
            if (error instanceof InfrastructureError)
              this.#context.log.warn({ error: error.message, retriesLeft }, 'a sandbox could not be used');
          },
        });
        // One worker is enough to watch for stragglers; slots are taken again when there is work.
        if (this.#countAvailable() === 0 && this.#idle.count > 0) return;
      }
    } catch (error) {
      if (!this.#over.signal.aborted) this.#fail(toError(error));
    }
  }

  /**
   * Has one worker play with one sandbox, until either is done.
   *
   * @throws InfrastructureError when it gave no result that an episode can be held responsible for.
   */
  async #shift(): Promise<void> {
    using slot = await this.#workers.takeSlot(this.#over.signal);
    const arm = this.#shifts.findNeediest();
    using _shift = this.#shifts.begin(arm);
    using place = this.#places.take();
    let sandbox = `place ${place.number}`;
    await this.#context.players.work({
      arm,
      idle: this.#idle,
      over: this.#over.signal,
      slot,
      begun: this.#begun.promise,
      turns: this.#context.turns,
      countSandboxes: () => this.#shifts.countSandboxes(arm, this.#workers.atWork),
      isWantedElsewhere: () => this.#study.arms.some((other) => other !== arm && other.countAvailable(1) > 0),
      record: (played) => this.#record(arm, sandbox, played),
      hold: (id) => this.#hold((sandbox = id ?? sandbox)),
    });
  }

  #hold(sandbox: string): Disposable {
    const { clock } = this.#context;
    const startedAt = clock.now();
    this.#sandboxTime.start(startedAt);
    const held = this.#progress.hold(sandbox);
    return {
      [Symbol.dispose]: () => {
        held[Symbol.dispose]();
        this.#sandboxTime.end(startedAt, clock.now());
      },
    };
  }

  /** Results that cannot be stored end the run: no retry would recover them. */
  async #record(arm: Arm, sandbox: string, played: readonly PlayedEpisode[]): Promise<void> {
    this.#progress.countOutcomes(sandbox, played);
    try {
      const wait = arm.record(played);
      this.#onRecorded();
      if (!wait) return;
      await wait;
      // Results that had to be stored first count only now, and the journal may know those that follow.
      await this.#recall();
      this.#onRecorded();
    } catch (error) {
      this.#fail(toError(error));
    }
  }

  #onRecorded(): void {
    if (this.#study.ended) return this.#end(this.#study.ended);
    this.#putToWork();
    // At the tail one worker checks even without waiting blocks: there may be a straggler with only one copy.
    this.#idle.wake(Math.max(1, this.#countAvailable()));
  }
}

import type { Conclusion } from '../../evaluation-store/evaluation-course.ts';
import type { FinalState, StoredEvaluation } from '../../evaluation-store/evaluation-record.ts';
import type { EvaluationStore } from '../../evaluation-store/evaluation-store.ts';
import { OwnershipLostError, type Ownership } from '../../evaluation-store/ownership.ts';
import { buildCacheKey } from '../../evaluation-store/cache-key.ts';
import { StoredJournal, takeTurns } from '../../evaluation-store/stored-journal.ts';
import type { Clock } from '../../kernel/clock.ts';
import { getMessage, MusterError } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';
import { Once } from '../../kernel/once.ts';
import type { Turns } from '../../kernel/turns.ts';
import type { RunLook } from '../../orchestrator/facts/progress.ts';
import type { SlotShare } from '../../orchestrator/run/slot-share.ts';
import { AllFailedError, RunFailedError } from '../../orchestrator/run/run-failed-error.ts';
import { createConclusion } from '../orders/concluded.ts';
import { parsePlayableOrder, type EvaluationOrder } from '../orders/evaluation-order.ts';
import { getAnsweredQuestion } from '../acceptance/repetition.ts';
import { describeCause, isStoreFailure, toFailure, getPartialAnswer } from './failed-run.ts';
import { keepOwned } from './keep-owned.ts';
import type { NewsKind } from './news.ts';
import type { Answer, PlayCourse, Player } from '../orders/player.ts';
import type { RunningFigures } from '../orders/running-figures.ts';
import { Reporter } from './reporter.ts';
import { Stop, type StopReason } from './stop.ts';

export interface RunningEvaluationOptions {
  readonly store: EvaluationStore;
  readonly player: Player;
  readonly clock: Clock;
  readonly log: Log;
  /** All evaluations that this process plays. */
  readonly turns: Turns;
  readonly ownershipMilliseconds: number;
  readonly reportMilliseconds: number;
  /** It has ended, and the end is durable. */
  readonly onConcluded?: ((state: FinalState) => void) | undefined;
  /** Called when something happened to the evaluation that others may be waiting for. */
  readonly onNews: (kind: NewsKind, running?: RunningFigures) => void;
  /** Returns the evaluation's share of a template's sandboxes. */
  readonly share: (template: string) => SlotShare;
}

/**
 * One evaluation, from the moment when this process owns it until it no longer does.
 *
 * It ends *concluded* (with its answer; cancelled, or past its deadline, with a partial one; or failed), *given back* (the process ends: the process
 * that claims it resumes it), *left* (its end could not be stored: its ownership expires, and it is claimed again), or *lost* (another process owns it: nothing
 * more is written).
 */
export class RunningEvaluation {
  readonly #options: RunningEvaluationOptions;
  readonly #ownership: Ownership;
  readonly #stop: Stop;
  /** Its first sandbox begins it. */
  readonly #beginning: Once<void>;
  #hasBegun = false;
  #figures: RunningFigures | undefined;
  #look: RunLook | undefined;

  constructor(ownership: Ownership, options: RunningEvaluationOptions) {
    this.#options = options;
    this.#ownership = ownership;
    this.#stop = new Stop(options.clock);
    this.#beginning = new Once(() => options.store.course.begin(ownership));
  }

  stop(reason: StopReason): void {
    this.#stop.stopNow(reason);
  }

  /** How it is played; undefined before it is. */
  get look(): RunLook | undefined {
    return this.#look;
  }

  /** Never rejects: a failure is a part of the evaluation's end. */
  async run(): Promise<void> {
    const { store, log, turns } = this.#options;
    const { evaluation } = this.#ownership;
    try {
      const conclusion = await this.#perform();
      if (conclusion) {
        await store.course.conclude(this.#ownership, conclusion);
        await turns.next();
        this.#options.onConcluded?.(conclusion.state);
      } else if (this.#stop.reason !== 'lost') {
        await store.ownerships.release(this.#ownership);
      }
    } catch (error) {
      const fields = { evaluation, error: getMessage(error) };
      if (error instanceof OwnershipLostError) log.warn(fields, 'another Muster took the evaluation over');
      else log.error(fields, `${describeCause(error)}: the evaluation waits, and goes on server.ownershipSeconds after that is mended`);
    } finally {
      this.#options.onNews('end');
    }
  }

  /** Returns undefined when another process decides how it ends. @throws InfrastructureError of the store. */
  async #perform(): Promise<Conclusion | undefined> {
    const { store, clock, log, turns, ownershipMilliseconds } = this.#options;
    using stop = this.#stop;
    using _owned = keepOwned(this.#ownership, {
      ownerships: store.ownerships,
      clock,
      log,
      milliseconds: ownershipMilliseconds,
      onCancel: () => stop.stopNow('cancelled'),
      onLost: () => stop.stopNow('lost'),
    });
    const stored = await store.evaluations.find(this.#ownership.evaluation);
    if (!stored) return undefined;
    if (stored.cancelRequestedAt) stop.stopNow('cancelled');
    await turns.next();
    const order = this.#parseOrder(stored);
    if ('state' in order) return order;
    if (order.deadline !== undefined) stop.stopAt(order.deadline);
    if (stored.state === 'waiting' && stop.reason !== undefined) return this.#concludeStopped(order, undefined);
    return await this.#play(order, stored.principal);
  }

  /**
   * Begins with the first sandbox; or at the conclusion, where all episodes are known and none is needed. @throws InfrastructureError of the store.
   */
  async #begin(): Promise<void> {
    await this.#beginning.run();
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#options.onNews('progress');
  }

  #getShare(template: string): SlotShare {
    const share = this.#options.share(template);
    return {
      standBack: () => share.standBack(),
      take: async (signal) => {
        const slot = await share.take(signal);
        try {
          await this.#begin();
          return slot;
        } catch (error) {
          slot[Symbol.dispose]();
          throw error;
        }
      },
    };
  }

  /** Parses the order. An unreadable one fails the evaluation, as it will not be readable the next time either. */
  #parseOrder(stored: StoredEvaluation): EvaluationOrder | Conclusion {
    try {
      return parsePlayableOrder(stored);
    } catch (error) {
      if (error instanceof MusterError) return { state: 'failed', failure: toFailure(error), webhooks: [] };
      throw error;
    }
  }

  async #play(order: EvaluationOrder, principal: string): Promise<Conclusion | undefined> {
    const { store, clock, log, reportMilliseconds, onNews } = this.#options;
    await using reporter = new Reporter({
      course: store.course,
      ownership: this.#ownership,
      clock,
      log,
      everyMilliseconds: reportMilliseconds,
      onReported: (running) => onNews('progress', running),
      onLost: () => this.#stop.stopNow('lost'),
    });
    const conclusion = await this.#playOrder(order, principal, reporter);
    if (conclusion?.state === 'finished' && !this.#hasBegun) {
      await this.#begin();
      if (this.#figures) reporter.update(this.#figures);
    }
    if (conclusion) return { ...conclusion, report: await reporter.close() };
    await reporter.flush();
    return undefined;
  }

  /** Returns undefined and @throws as `#perform`. */
  async #playOrder(order: EvaluationOrder, principal: string, reporter: Reporter): Promise<Conclusion | undefined> {
    const { player, turns } = this.#options;
    try {
      const answer = await player.play(order, this.#buildCourse(order, principal, reporter));
      await turns.next();
      return answer.partial && this.#stop.reason !== undefined
        ? this.#concludeStopped(order, answer)
        : this.#conclude(order, { state: 'finished', summary: answer, question: getAnsweredQuestion(player, order, principal, answer) });
    } catch (error) {
      return this.#concludeFailed(order, error);
    }
  }

  #buildCourse(order: EvaluationOrder, principal: string, reporter: Reporter): PlayCourse {
    const { store, turns } = this.#options;
    const isOver = this.#stop.reason !== undefined;
    return {
      principal,
      openJournal: (arm, parts) => {
        const leg = { arm, cacheKey: order.cache ? buildCacheKey(parts, principal) : undefined };
        return takeTurns(new StoredJournal(store, this.#ownership, leg), turns);
      },
      share: (template) => this.#getShare(template),
      turns,
      // Stored episodes have to be added even when there is nothing left to play.
      signal: isOver ? this.#stop.untilLost : this.#stop.signal,
      recallOnly: isOver,
      onProgress: (figures, look) => {
        this.#figures = figures;
        this.#look = look;
        if (this.#hasBegun) reporter.update(figures);
      },
    };
  }

  /** @param partial what there is of an answer. */
  #concludeStopped(order: EvaluationOrder, partial: Answer | undefined): Conclusion | undefined {
    switch (this.#stop.reason) {
      case 'lost':
      case 'drained':
      case undefined:
        return undefined;
      case 'cancelled':
        return this.#conclude(order, { state: 'cancelled', summary: partial });
      case 'deadline': {
        const message = `it was not over by its deadline, ${order.deadline?.toISOString()}; allow more time, or ask for a wider interval`;
        const failure = { kind: 'input', code: 'evaluation.deadline', message } as const;
        return this.#conclude(order, { state: 'cancelled', summary: partial, failure });
      }
    }
  }

  /** @throws the error when it says nothing about the evaluation itself. */
  #concludeFailed(order: EvaluationOrder, error: unknown): Conclusion | undefined {
    if (this.#stop.reason === 'lost' || this.#stop.reason === 'drained') return undefined;
    const cause = error instanceof RunFailedError ? error.cause : error;
    if (cause instanceof OwnershipLostError || isStoreFailure(cause)) throw cause;
    if (this.#stop.reason !== undefined) return this.#concludeStopped(order, getPartialAnswer(error));
    const { evaluation } = this.#ownership;
    this.#options.log.warn({ evaluation, error: getMessage(error) }, 'the evaluation failed');
    // The cause of the failures may be corrected outside of suite and checkpoint, so a repeated question is not answered with these.
    const withheld = error instanceof AllFailedError;
    return this.#conclude(order, { state: 'failed', summary: getPartialAnswer(error), failure: toFailure(error), withheld });
  }

  #conclude(order: EvaluationOrder, end: Omit<Conclusion, 'webhooks'>): Conclusion {
    return createConclusion(this.#ownership.evaluation, order, end);
  }
}

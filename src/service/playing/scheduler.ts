import { LRUCache } from 'lru-cache';
import type { FinalState } from '../../evaluation-store/evaluation-record.ts';
import type { Claimable } from '../../evaluation-store/ownership.ts';
import type { EvaluationStore } from '../../evaluation-store/evaluation-store.ts';
import { withTimeout } from '../../kernel/deadline.ts';
import type { Clock } from '../../kernel/clock.ts';
import { InfrastructureError, getMessage } from '../../kernel/errors.ts';
import type { EvaluationId, OwnerId } from '../../kernel/ids.ts';
import type { Log } from '../../kernel/log.ts';
import type { Turns } from '../../kernel/turns.ts';
import type { RunLook } from '../../orchestrator/facts/progress.ts';
import { planClaims } from './claims.ts';
import type { News } from './news.ts';
import { RunningEvaluation } from './running-evaluation.ts';
import type { Slots } from './slots.ts';
import type { Player } from '../orders/player.ts';
import { Chore } from '../../kernel/chore.ts';

export interface SchedulerConfig {
  /** Evaluations that are played at a time. */
  readonly slots: number;
  readonly ownershipMilliseconds: number;
  readonly reportMilliseconds: number;
  /** How often to look for evaluations that other processes have left; evaluations that are accepted here are seen at once. */
  readonly pollMilliseconds: number;
}

export interface SchedulerOptions {
  readonly store: EvaluationStore;
  readonly player: Player;
  readonly owner: OwnerId;
  readonly clock: Clock;
  readonly log: Log;
  readonly news: News;
  /** Work that is played, or not answered at once, yields to quick answers. */
  readonly turns: Turns;
  readonly config: SchedulerConfig;
  readonly onConcluded?: ((state: FinalState) => void) | undefined;
  /** Returns the sandboxes of a template, shared out between evaluations. */
  readonly slotsOf: (template: string) => Slots;
}

interface Playing extends Claimable {
  readonly evaluation: RunningEvaluation;
  readonly ended: Promise<void>;
}

/** Up to some hundred kilobytes each, of an evaluation on hundreds of sandboxes. */
const LOOKS_KEPT = 50;
/** Claimable evaluations that are read for each slot: enough to include a principal that would otherwise come after others. */
const SEEN_PER_SLOT = 4;

/**
 * Finds evaluations to play and plays them. It is *open* until `drain` is called; then it claims nothing more, and releases what it
 * plays when it must.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #playing = new Map<EvaluationId, Playing>();
  readonly #looking: Chore;
  /** The latest priorities of evaluations that this process has played. */
  readonly #looks = new LRUCache<EvaluationId, RunLook>({ max: LOOKS_KEPT });

  /** When the store failed for the first time since it last answered. */
  #failingSince: number | undefined;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#looking = new Chore(options.clock, () => this.#claim());
  }

  get playing(): readonly Claimable[] {
    return [...this.#playing.values()];
  }

  /** Returns how an evaluation is played here, or was until a while ago. */
  lookAt(evaluation: EvaluationId): RunLook | undefined {
    return this.#playing.get(evaluation)?.evaluation.look ?? this.#looks.get(evaluation);
  }

  open(): void {
    this.#looking.open();
  }

  /** Looks soon: there may be something to claim. */
  look(): void {
    this.#looking.look();
  }

  /** Cancels it at once when it is played here; otherwise its owner hears of it from the store. */
  cancel(evaluation: EvaluationId): void {
    this.#playing.get(evaluation)?.evaluation.stop('cancelled');
  }

  /** Claims nothing more, waits for what is played, gives back what is not over in time. Resolves when nothing is played any more. */
  async drain(milliseconds: number): Promise<void> {
    await this.#looking.close();
    const ended = Promise.all([...this.#playing.values()].map(({ ended }) => ended));
    const createTimeoutError = (): Error =>
      new InfrastructureError('service.drain', `evaluations were still played after ${milliseconds} ms`);
    try {
      await withTimeout(this.#options.clock, milliseconds, ended, createTimeoutError);
    } catch (error) {
      this.#options.log.info({ evaluations: this.#playing.size }, `${getMessage(error)}; they are given back for the next Muster`);
      for (const { evaluation } of this.#playing.values()) evaluation.stop('drained');
      await ended;
    }
  }

  /** @returns milliseconds until the next look. */
  async #claim(): Promise<number> {
    const { store, owner, config, clock, log } = this.#options;
    try {
      const claimable = await store.ownerships.listClaimable(SEEN_PER_SLOT * config.slots);
      const free = claimable.filter(({ id }) => !this.#playing.has(id));
      const byId = new Map(free.map((each) => [each.id, each]));
      for (const id of planClaims({ slots: config.slots, active: this.playing, claimable: free })) {
        const ownership = await store.ownerships.claim(id, owner, config.ownershipMilliseconds);
        const claimed = byId.get(id);
        if (ownership && claimed) this.#play(claimed, (options) => new RunningEvaluation(ownership, options));
      }
      if (this.#failingSince !== undefined)
        log.warn({ seconds: Math.round((clock.now() - this.#failingSince) / 1000) }, 'the store answers again after an outage');
      this.#failingSince = undefined;
    } catch (error) {
      this.#failingSince ??= clock.now();
      log.warn({ error: getMessage(error) }, 'could not look for evaluations to play');
    }
    return config.pollMilliseconds;
  }

  #play(claimed: Claimable, begin: (options: ConstructorParameters<typeof RunningEvaluation>[1]) => RunningEvaluation): void {
    const { store, player, clock, log, config, news, turns, slotsOf, onConcluded } = this.#options;
    const shares = new DisposableStack();
    const evaluation = begin({
      store,
      player,
      clock,
      log,
      turns,
      ...config,
      onConcluded,
      onNews: (kind, running) => news.announce(claimed.id, kind, running),
      share: (template) => shares.use(slotsOf(template).join(claimed)),
    });
    const ended = evaluation.run().finally(() => {
      const timeline = evaluation.look?.readLanes();
      if (timeline) this.#looks.set(claimed.id, { getReturns: () => undefined, readLanes: () => timeline });
      shares[Symbol.dispose]();
      this.#playing.delete(claimed.id);
      this.look();
    });
    this.#playing.set(claimed.id, { ...claimed, evaluation, ended });
  }
}

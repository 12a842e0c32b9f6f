import type { RunningStatistics } from '../aggregation/prefix-fold.ts';
import type { Clock } from '../kernel/clock.ts';
import type { PoolState } from '../pool/pool-state.ts';
import type { Evaluation } from './evaluation.ts';

/** An evaluation at a glance, while it runs. */
export interface Progress {
  readonly statistics: RunningStatistics;
  /** Episodes that came to an end, folded or not. */
  readonly outcomes: number;
  readonly inFlight: number;
  readonly surplus: number;
  /** Since the first outcome. */
  readonly episodesPerSecond: number;
  readonly seconds: number;
  /** Until the rule is likely to be satisfied; undefined while nothing can be said. */
  readonly secondsLeft: number | undefined;
  readonly pool: PoolState;
}

export interface Timings {
  readonly startedAt: Date;
  readonly seconds: number;
  readonly firstEpisodeSeconds: number | undefined;
  readonly episodesPerSecond: number;
  readonly outcomes: number;
}

/** Reports are for people: ten times a second looks alive, and costs nothing. */
const INTERVAL_MILLISECONDS = 100;

/** Watches an evaluation and tells its caller how it goes. */
export class ProgressReporter {
  readonly #clock: Clock;
  readonly #evaluation: Evaluation;
  readonly #pool: () => PoolState;
  readonly #listener: ((progress: Progress) => void) | undefined;
  readonly #startedAt: Date;
  readonly #start: number;
  #firstOutcome: number | undefined;
  #outcomes = 0;

  constructor(clock: Clock, evaluation: Evaluation, pool: () => PoolState, listener: ((progress: Progress) => void) | undefined) {
    this.#clock = clock;
    this.#evaluation = evaluation;
    this.#pool = pool;
    this.#listener = listener;
    this.#startedAt = clock.date();
    this.#start = clock.now();
  }

  countOutcomes(count: number): void {
    this.#outcomes += count;
    if (count > 0) this.#firstOutcome ??= this.#clock.now();
  }

  /** Reports ten times a second until disposed. */
  start(): Disposable {
    if (!this.#listener) return { [Symbol.dispose]: () => undefined };
    const tick = (): void => {
      this.report();
      timer = this.#clock.after(INTERVAL_MILLISECONDS, tick);
    };
    let timer = this.#clock.after(INTERVAL_MILLISECONDS, tick);
    return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
  }

  report(): void {
    this.#listener?.(this.#progress());
  }

  timings(): Timings {
    const now = this.#clock.now();
    const first = this.#firstOutcome;
    return {
      startedAt: this.#startedAt,
      seconds: (now - this.#start) / 1000,
      firstEpisodeSeconds: first === undefined ? undefined : (first - this.#start) / 1000,
      episodesPerSecond: this.#rate(now),
      outcomes: this.#outcomes,
    };
  }

  #rate(now: number): number {
    if (this.#firstOutcome === undefined || now <= this.#firstOutcome) return 0;
    return (1000 * this.#outcomes) / (now - this.#firstOutcome);
  }

  #progress(): Progress {
    const now = this.#clock.now();
    const statistics = this.#evaluation.running();
    const episodesPerSecond = this.#rate(now);
    return {
      statistics,
      outcomes: this.#outcomes,
      inFlight: this.#evaluation.dispatcher.inFlight,
      surplus: this.#evaluation.surplus,
      episodesPerSecond,
      seconds: (now - this.#start) / 1000,
      secondsLeft: episodesPerSecond > 0 ? statistics.expectedRemaining / episodesPerSecond : undefined,
      pool: this.#pool(),
    };
  }
}

import type { RunningStatistics } from '../../aggregation/prefix-fold.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { PoolState } from '../../pool/members/pool-state.ts';
import type { PlayedEpisode } from '../../runner/played-episode.ts';
import type { RunningReturns } from '../../aggregation/results/running-returns.ts';
import type { RunningFigures, Study } from '../arm/study.ts';
import { SandboxTimeline, type SandboxTimelineDocument } from './sandbox-timeline.ts';

/** A summary of a running study. */
export interface Progress<Running extends RunningFigures = RunningStatistics> {
  readonly statistics: Running;
  /** Episodes that have ended, folded or not. */
  readonly outcomes: number;
  /** Failed ones among `outcomes`. */
  readonly failed: number;
  readonly inFlight: number;
  readonly surplus: number;
  /** Episodes per second since the first outcome. */
  readonly episodesPerSecond: number;
  readonly seconds: number;
  /** Seconds until the rule is likely to be satisfied. It is undefined while that cannot be estimated. */
  readonly secondsLeft: number | undefined;
  readonly pool: PoolState;
  readonly look: RunLook;
}

/** A closer look at a running study, which callers may take at any time. */
export interface RunLook {
  /** Returns undefined for a comparison. */
  getReturns(): RunningReturns | undefined;
  readLanes(): SandboxTimelineDocument;
}

export interface Timings {
  readonly startedAt: Date;
  readonly seconds: number;
  readonly firstEpisodeSeconds: number | undefined;
  readonly episodesPerSecond: number;
  readonly outcomes: number;
  /** It is undefined while no episode has ended. */
  readonly episodeSeconds: EpisodeSeconds | undefined;
  /** Share of the episodes' time that the policy's forward passes took, over runners that measure it. It is undefined when none does. */
  readonly forwardShare: number | undefined;
}

/** Reports are for people: ten a second look live and cost nothing. */
const INTERVAL_MILLISECONDS = 100;

/** Observes a study and reports its progress to the caller. */
export class ProgressReporter<Running extends RunningFigures> {
  readonly #clock: Clock;
  readonly #study: Study<Running>;
  readonly #pool: () => PoolState;
  readonly #listener: ((progress: Progress<Running>) => void) | undefined;
  readonly #timeline: SandboxTimeline;
  readonly #look: RunLook;
  #startedAt: Date;
  #start: number;
  #firstOutcome: number | undefined;
  #outcomes = 0;
  #failed = 0;
  readonly #times = new EpisodeTimes();
  readonly #forward = new ForwardTime();

  constructor(clock: Clock, study: Study<Running>, pool: () => PoolState, listener: ((progress: Progress<Running>) => void) | undefined) {
    this.#clock = clock;
    this.#study = study;
    this.#pool = pool;
    this.#listener = listener;
    this.#startedAt = clock.date();
    this.#start = clock.now();
    const timeline = (this.#timeline = new SandboxTimeline(this.#start));
    this.#look = { getReturns: () => study.getReturns?.(), readLanes: () => timeline.read(clock.now()) };
  }

  /** Notes that the study holds the sandbox, until the result is disposed. */
  hold(sandbox: string): Disposable {
    this.#timeline.begin(sandbox, this.#clock.now());
    return { [Symbol.dispose]: () => this.#timeline.end(sandbox, this.#clock.now()) };
  }

  countOutcomes(sandbox: string, played: readonly PlayedEpisode[]): void {
    this.#timeline.note(sandbox, played, this.#clock.now());
    for (const { outcome, seconds, forwardSeconds } of played) {
      if (outcome.kind === 'lost') continue;
      this.#outcomes += 1;
      if (outcome.kind === 'failed') this.#failed += 1;
      this.#times.add(seconds);
      if (forwardSeconds !== undefined) this.#forward.add(seconds, forwardSeconds);
    }
    if (this.#outcomes > 0) this.#firstOutcome ??= this.#clock.now();
  }

  /** Starts the clock, and reports ten times a second until disposed. */
  start(): Disposable {
    this.#startedAt = this.#clock.date();
    this.#start = this.#clock.now();
    if (!this.#listener) return { [Symbol.dispose]: () => undefined };
    const tick = (): void => {
      this.report();
      timer = this.#clock.after(INTERVAL_MILLISECONDS, tick);
    };
    let timer = this.#clock.after(INTERVAL_MILLISECONDS, tick);
    return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
  }

  report(): void {
    this.#listener?.(this.#buildProgress());
  }

  getTimings(): Timings {
    const now = this.#clock.now();
    const first = this.#firstOutcome;
    return {
      startedAt: this.#startedAt,
      seconds: (now - this.#start) / 1000,
      firstEpisodeSeconds: first === undefined ? undefined : (first - this.#start) / 1000,
      episodesPerSecond: this.#computeRate(now),
      outcomes: this.#outcomes,
      episodeSeconds: this.#times.summarise(),
      forwardShare: this.#forward.share,
    };
  }

  #computeRate(now: number): number {
    if (this.#firstOutcome === undefined || now <= this.#firstOutcome) return 0;
    return (1000 * this.#outcomes) / (now - this.#firstOutcome);
  }

  #buildProgress(): Progress<Running> {
    const now = this.#clock.now();
    const statistics = this.#study.getRunning();
    const episodesPerSecond = this.#computeRate(now);
    return {
      statistics,
      outcomes: this.#outcomes,
      failed: this.#failed,
      inFlight: this.#study.arms.reduce((sum, arm) => sum + arm.dispatcher.inFlight, 0),
      surplus: this.#study.surplus,
      episodesPerSecond,
      seconds: (now - this.#start) / 1000,
      secondsLeft: episodesPerSecond > 0 ? statistics.expectedRemaining / episodesPerSecond : undefined,
      pool: this.#pool(),
      look: this.#look,
    };
  }
}

/** Share of the episodes' time that the policy's forward passes took, as runners measured it. */
class ForwardTime {
  #seconds = 0;
  #forward = 0;

  add(seconds: number, forwardSeconds: number): void {
    this.#seconds += seconds;
    this.#forward += forwardSeconds;
  }

  /** It is undefined while nothing was measured. */
  get share(): number | undefined {
    return this.#seconds > 0 ? this.#forward / this.#seconds : undefined;
  }
}

interface EpisodeSeconds {
  readonly mean: number;
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
}

/** Shortest time that differs from none; in seconds. */
const SHORTEST = 1e-6;
/** Buckets for each doubling of the time: quantiles are exact to 2^(1/32), which is 2.2 %. */
const PER_DOUBLING = 32;
/** Up to 2⁴⁰ µs, twelve days. */
const DOUBLINGS = 40;

/** Distribution of episodes' times, in constant memory. */
export class EpisodeTimes {
  readonly #buckets = new Uint32Array(PER_DOUBLING * DOUBLINGS + 1);
  #count = 0;
  #sum = 0;
  #max = 0;

  add(seconds: number): void {
    const bucket = Math.ceil(Math.log2(seconds / SHORTEST) * PER_DOUBLING);
    const at = Math.min(Math.max(bucket, 0), this.#buckets.length - 1);
    this.#buckets[at] = (this.#buckets[at] ?? 0) + 1;
    this.#count += 1;
    this.#sum += seconds;
    if (seconds > this.#max) this.#max = seconds;
  }

  /** Returns undefined while there is none. */
  summarise(): EpisodeSeconds | undefined {
    if (this.#count === 0) return undefined;
    return { mean: this.#sum / this.#count, p50: this.#computeQuantile(0.5), p95: this.#computeQuantile(0.95), max: this.#max };
  }

  /** Returns the upper end of the quantile's bucket. */
  #computeQuantile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.#count));
    let seen = 0;
    const bucket = this.#buckets.findIndex((count) => (seen += count) >= rank);
    return bucket === 0 ? 0 : Math.min(this.#max, SHORTEST * 2 ** (bucket / PER_DOUBLING));
  }
}

import type { EpisodeIndex } from '../kernel/ids.ts';
import type { PlannedEpisode } from '../runner/playlist.ts';
import { Flights, type Flight } from './flights.ts';
import { rangeSize } from './range-size.ts';
import { afterLoss, NO_ATTEMPTS, type LostAttempts, type RetryDecision } from './retry.ts';

export interface DispatchConfig {
  /** How long a range should keep a runner busy. */
  readonly rangeMilliseconds: number;
  /** An episode is a straggler when it has been out for this many times what it and those before it usually take… */
  readonly stragglerFactor: number;
  /** …and at least this long. */
  readonly stragglerMilliseconds: number;
  /** How often an index is played in all before it counts as unresolved. */
  readonly maxAttempts: number;
}

export interface DispatchView {
  /** Milliseconds on the clock. */
  readonly now: number;
  /** First index that may not be dispatched yet. */
  readonly horizon: number;
  /** That share the episodes, those yet to come included. */
  readonly sandboxes: number;
  /** Ranges, and episodes in them, that the asking runner has not finished. */
  readonly outstanding: { readonly ranges: number; readonly episodes: number };
  /** Most episodes that the asking runner may still be given. */
  readonly capacity: number;
}

/** Weight of the newest episode in the smoothed episode time. */
const SMOOTHING = 0.1;

/**
 * Which episodes go out next. An index is *new*, then *in flight* in one copy (two for a straggler), then *settled*; a
 * copy that is lost or handed back makes it *returned*, and returned ones go out before new ones. No I/O, no clock of its own.
 */
export class Dispatcher {
  readonly #plan: (index: number) => PlannedEpisode;
  readonly #config: DispatchConfig;
  readonly #flights = new Flights();
  readonly #attempts = new Map<EpisodeIndex, LostAttempts>();
  readonly #returned: PlannedEpisode[] = [];
  #next = 0;
  #episodeMilliseconds: number | undefined;
  #retried = 0;
  #duplicated = 0;

  constructor(plan: (index: number) => PlannedEpisode, config: DispatchConfig) {
    this.#plan = plan;
    this.#config = config;
  }

  /** Indices that were dispatched again because their sandbox was lost. */
  get retried(): number {
    return this.#retried;
  }

  /** Stragglers that were given a second copy. */
  get duplicated(): number {
    return this.#duplicated;
  }

  get inFlight(): number {
    return this.#flights.size;
  }

  /** The first index that is new. */
  get next(): number {
    return this.#next;
  }

  /** The next new index needs no dispatch: its outcome is known. */
  passNext(): PlannedEpisode {
    return this.#plan(this.#next++);
  }

  /** The next new index goes out before those after it, of which some are known. */
  returnNext(): void {
    this.#returned.push(this.#plan(this.#next++));
  }

  available(horizon: number): number {
    return this.#returned.length + Math.max(0, horizon - this.#next);
  }

  /** The next range for a runner that asks; empty when there is nothing for it. */
  take(view: DispatchView): readonly PlannedEpisode[] {
    const size = rangeSize({
      available: this.available(view.horizon),
      sandboxes: view.sandboxes,
      outstanding: view.outstanding.ranges,
      episodeMilliseconds: this.#episodeMilliseconds,
      rangeMilliseconds: this.#config.rangeMilliseconds,
    });
    const range: PlannedEpisode[] = [];
    while (range.length < Math.min(size, view.capacity)) range.push(this.#takeOne(view.now, view.outstanding.episodes + range.length));
    return range;
  }

  /** The straggler that the fold waits for first, as a second copy for a free sandbox. */
  takeStraggler(now: number): PlannedEpisode | undefined {
    const candidate = this.#flights.firstSingle();
    if (!candidate || now < this.#straggles(candidate)) return undefined;
    candidate.copies = 2;
    this.#duplicated += 1;
    return candidate.episode;
  }

  /** When the next episode in flight becomes a straggler; undefined when none can. */
  nextStragglerAt(): number | undefined {
    const candidate = this.#flights.firstSingle();
    return candidate && this.#straggles(candidate);
  }

  /** Episodes that were sent but never begun. It costs them no attempt. */
  giveBack(episodes: readonly PlannedEpisode[]): void {
    for (const episode of episodes) this.#dropCopy(episode.index);
  }

  /** A copy whose sandbox was lost. Undefined: another copy is still being played, and decides. A final outcome is yet to be settled. */
  lost(index: EpisodeIndex, detail: string, killed: boolean): RetryDecision | undefined {
    const flight = this.#flights.get(index);
    if (!flight) return undefined;
    const decision = afterLoss(this.#attempts.get(index) ?? NO_ATTEMPTS, detail, killed, this.#config.maxAttempts);
    if (decision.kind === 'again') {
      this.#attempts.set(index, decision.attempts);
      this.#retried += 1;
      this.#dropCopy(index);
      return decision;
    }
    if (flight.copies === 1) return decision;
    flight.copies -= 1;
    flight.isLast = true;
    return undefined;
  }

  /** @returns the episode, and how many other copies of it are still out; undefined when it was settled before. */
  settle(index: EpisodeIndex, milliseconds: number): { readonly episode: PlannedEpisode; readonly others: number } | undefined {
    const flight = this.#flights.get(index);
    if (!flight) return undefined;
    const before = this.#episodeMilliseconds ?? milliseconds;
    this.#episodeMilliseconds = before + SMOOTHING * (milliseconds - before);
    this.#flights.remove(index);
    this.#attempts.delete(index);
    return { episode: flight.episode, others: flight.copies - 1 };
  }

  #takeOne(now: number, behind: number): PlannedEpisode {
    const episode = this.#returned.shift() ?? this.#plan(this.#next++);
    this.#flights.add({ episode, since: now, behind, copies: 1 });
    return episode;
  }

  #dropCopy(index: EpisodeIndex): void {
    const flight = this.#flights.get(index);
    if (!flight) return;
    flight.copies -= 1;
    if (flight.copies > 0) return;
    this.#flights.remove(index);
    this.#returned.push(flight.episode);
  }

  #straggles(flight: Flight): number {
    const usual = this.#episodeMilliseconds ?? Number.POSITIVE_INFINITY;
    return flight.since + Math.max(this.#config.stragglerMilliseconds, this.#config.stragglerFactor * usual * (1 + flight.behind));
  }
}

import type { EpisodeIndex } from '../../kernel/ids.ts';
import type { Outcome } from '../../kernel/outcome.ts';
import { MAX_RANGE_EPISODES } from '../../runner/frames.ts';
import type { PlannedEpisode } from '../../runner/playlist.ts';
import { Block } from './block.ts';
import { Flights, type Flight } from './flights.ts';
import { chooseRangeSize } from './range-size.ts';
import type { Killed } from '../../runner/played-episode.ts';
import { decideAfterLoss } from './retry.ts';

export interface DispatchConfig {
  /** How long a range should keep a runner busy. */
  readonly rangeMilliseconds: number;
  /** A block is a straggler when it has been out for this many times the usual time of itself and the blocks before it… */
  readonly stragglerFactor: number;
  /** …and at least this long. */
  readonly stragglerMilliseconds: number;
  /** The largest number of plays of a block; episodes that then have no outcome are unresolved. */
  readonly maxAttempts: number;
}

export interface DispatchView {
  /** Milliseconds on the clock. */
  readonly now: number;
  /** The first index that may not be dispatched yet, unless its block begins before it. */
  readonly horizon: number;
  /** Sandboxes that share the episodes, including those that are being created. */
  readonly sandboxes: number;
  /** Ranges, and their episodes, that this runner has not finished. */
  readonly outstanding: { readonly ranges: number; readonly episodes: number };
  /** The largest number of episodes that this runner may still get; a block that begins within it is included whole. */
  readonly capacity: number;
}

/** Says what happens to a block whose sandbox was lost. */
export type LossDecision =
  | { readonly kind: 'again' }
  /** The episodes without an outcome, which are still to be settled. */
  | { readonly kind: 'final'; readonly outcome: Outcome; readonly episodes: readonly PlannedEpisode[] };

export interface Settled {
  readonly episode: PlannedEpisode;
  /** Whether episodes of its block may be played again or are being played: the block is not complete, or another copy of it is out. */
  readonly mayComeAgain: boolean;
}

/** Weight of the newest episode in the smoothed episode time. */
const SMOOTHING = 0.1;

/**
 * Decides which episodes are dispatched next. They are dispatched in blocks; without batching, a block is one episode. A block is *new*,
 * then *in flight* in one copy (two for a straggler), then *settled*; a copy that is lost or given back makes it *returned*, and returned
 * blocks are dispatched before new ones. It does no I/O and has no clock.
 */
export class Dispatcher {
  readonly #plan: (index: number) => PlannedEpisode;
  readonly #config: DispatchConfig;
  readonly #blockSize: number;
  readonly #flights = new Flights();
  readonly #returned: Block[] = [];
  /** Number of the first block that is new. */
  #next = 0;
  #episodeMilliseconds: number | undefined;
  #retried = 0;
  #duplicated = 0;

  constructor(plan: (index: number) => PlannedEpisode, config: DispatchConfig, blockSize = 1) {
    this.#plan = plan;
    this.#config = config;
    this.#blockSize = blockSize;
  }

  /** Counts how often a block was dispatched again because its sandbox was lost. */
  get retried(): number {
    return this.#retried;
  }

  /** Stragglers that got a second copy. */
  get duplicated(): number {
    return this.#duplicated;
  }

  /** Episodes of the blocks in flight. */
  get inFlight(): number {
    return this.#flights.size * this.#blockSize;
  }

  /** The first new index, where a block begins. */
  get next(): number {
    return this.#next * this.#blockSize;
  }

  /** Removes the next new block. It is dispatched only if it is returned later; not when all its outcomes are known. */
  passNext(): Block {
    const start = this.next;
    const episodes = Array.from({ length: this.#blockSize }, (_, position) => this.#plan(start + position));
    return new Block(this.#next++, episodes);
  }

  /** Dispatches the block before new ones. */
  return(block: Block): void {
    this.#returned.push(block);
  }

  /** Counts the blocks that could be dispatched now: as many runners could get work. */
  countAvailable(horizon: number): number {
    return this.#returned.length + Math.max(0, Math.ceil(horizon / this.#blockSize) - this.#next);
  }

  /** Takes the next range for a runner: whole blocks, or nothing when there is no work for it. */
  take(view: DispatchView): readonly PlannedEpisode[] {
    const { ranges, episodes } = view.outstanding;
    const size = chooseRangeSize({
      available: this.countAvailable(view.horizon),
      sandboxes: view.sandboxes,
      outstanding: ranges,
      blockMilliseconds: this.#episodeMilliseconds === undefined ? undefined : this.#blockSize * this.#episodeMilliseconds,
      rangeMilliseconds: this.#config.rangeMilliseconds,
      most: Math.floor(MAX_RANGE_EPISODES / this.#blockSize),
    });
    const blocks = Math.min(size, Math.ceil(view.capacity / this.#blockSize));
    const range: PlannedEpisode[] = [];
    for (let taken = 0; taken < blocks; taken += 1) range.push(...this.#takeBlock(view.now, episodes + range.length));
    return range;
  }

  /** Takes a second copy, for a free sandbox, of the straggler that the fold waits for first; empty when there is none. */
  takeStraggler(now: number): readonly PlannedEpisode[] {
    const candidate = this.#flights.findFirstSingle();
    if (!candidate || now < this.#measureDelay(candidate)) return [];
    candidate.copies = 2;
    this.#duplicated += 1;
    return candidate.block.episodes;
  }

  /** Returns when the next block in flight becomes a straggler, and undefined when none can. */
  nextStragglerAt(): number | undefined {
    const candidate = this.#flights.findFirstSingle();
    return candidate && this.#measureDelay(candidate);
  }

  /** Returns episodes that a runner was sent and has not finished, through no fault of its own. This does not count as an attempt. */
  giveBack(episodes: readonly PlannedEpisode[]): void {
    let last: number | undefined;
    for (const { index } of episodes) {
      const number = this.#getBlockNumber(index);
      if (number !== last) this.#dropCopy(number);
      last = number;
    }
  }

  /**
   * Records that the sandbox of one copy of the episode's block was lost. Returns undefined when another copy is still being played, which
   * decides.
   */
  recordLoss(index: EpisodeIndex, detail: string, killed: Killed): LossDecision | undefined {
    const flight = this.#flights.get(this.#getBlockNumber(index));
    if (!flight) return undefined;
    const { block } = flight;
    const decision = decideAfterLoss(block.attempts, detail, killed, this.#config.maxAttempts);
    if (decision.kind === 'again') {
      block.attempts = decision.attempts;
      this.#retried += 1;
      this.#dropCopy(block.number);
      return { kind: 'again' };
    }
    if (flight.copies === 1) return { ...decision, episodes: block.listUnsettled() };
    flight.copies -= 1;
    flight.isLast = true;
    return undefined;
  }

  /** @returns undefined when the episode was settled before. */
  settle(index: EpisodeIndex, milliseconds: number): Settled | undefined {
    const number = this.#getBlockNumber(index);
    const flight = this.#flights.get(number);
    // An outcome from before its runner's end may arrive after the block was given back.
    const block = flight?.block ?? this.#returned.find((returned) => returned.number === number);
    const episode = block?.settle(index);
    if (!block || !episode) return undefined;
    const before = this.#episodeMilliseconds ?? milliseconds;
    this.#episodeMilliseconds = before + SMOOTHING * (milliseconds - before);
    if (!block.isSettled) return { episode, mayComeAgain: true };
    if (flight) this.#flights.remove(number);
    else this.#returned.splice(this.#returned.indexOf(block), 1);
    const isOver = (flight === undefined || flight.copies === 1) && episode === block.episodes.at(-1);
    return { episode, mayComeAgain: !isOver };
  }

  /** Whether a runner has the episode's block. */
  isOut(index: EpisodeIndex): boolean {
    return this.#flights.get(this.#getBlockNumber(index)) !== undefined;
  }

  #getBlockNumber(index: EpisodeIndex): number {
    return Math.floor(index / this.#blockSize);
  }

  #takeBlock(now: number, behind: number): readonly PlannedEpisode[] {
    const block = this.#returned.shift() ?? this.passNext();
    this.#flights.add({ block, since: now, behind, copies: 1 });
    return block.episodes;
  }

  #dropCopy(number: number): void {
    const flight = this.#flights.get(number);
    if (!flight) return;
    flight.copies -= 1;
    if (flight.copies > 0) return;
    this.#flights.remove(number);
    this.#returned.push(flight.block);
  }

  #measureDelay({ block, since, behind }: Flight): number {
    const usual = this.#episodeMilliseconds ?? Number.POSITIVE_INFINITY;
    const { stragglerMilliseconds, stragglerFactor } = this.#config;
    return since + Math.max(stragglerMilliseconds, stragglerFactor * usual * (block.episodes.length + behind));
  }
}

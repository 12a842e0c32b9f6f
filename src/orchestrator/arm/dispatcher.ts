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
  /** A block is a straggler when it has been out for this many times what it and those before it usually take… */
  readonly stragglerFactor: number;
  /** …and at least this long. */
  readonly stragglerMilliseconds: number;
  /** How often a block is played in all before what has no outcome counts as unresolved. */
  readonly maxAttempts: number;
}

export interface DispatchView {
  /** Milliseconds on the clock. */
  readonly now: number;
  /** First index that may not be dispatched yet, unless its block begins before it. */
  readonly horizon: number;
  /** That share the episodes, those yet to come included. */
  readonly sandboxes: number;
  /** Ranges, and episodes in them, that the asking runner has not finished. */
  readonly outstanding: { readonly ranges: number; readonly episodes: number };
  /** Most episodes that the asking runner may still be given; a block that begins within it is given whole. */
  readonly capacity: number;
}

/** What becomes of a block whose sandbox was lost. */
export type LossDecision =
  | { readonly kind: 'again' }
  /** Of the episodes without an outcome, which are yet to be settled. */
  | { readonly kind: 'final'; readonly outcome: Outcome; readonly episodes: readonly PlannedEpisode[] };

export interface Settled {
  readonly episode: PlannedEpisode;
  /** Episodes of its block may be played again, or are just being: the block has not come to its end, or another copy of it is out. */
  readonly mayComeAgain: boolean;
}

/** Weight of the newest episode in the smoothed episode time. */
const SMOOTHING = 0.1;

/**
 * Which episodes go out next. They go out in blocks; without batching each is a block of its own. A block is *new*, then *in flight* in one
 * copy (two for a straggler), then *settled*; a copy that is lost or handed back makes it *returned*, and returned ones go out before new ones.
 * No I/O, no clock of its own.
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

  /** Times that a block was dispatched again because its sandbox was lost. */
  get retried(): number {
    return this.#retried;
  }

  /** Stragglers that were given a second copy. */
  get duplicated(): number {
    return this.#duplicated;
  }

  /** Episodes of the blocks in flight. */
  get inFlight(): number {
    return this.#flights.size * this.#blockSize;
  }

  /** The first index that is new; a block begins there. */
  get next(): number {
    return this.#next * this.#blockSize;
  }

  /** Takes the next new block off: it goes out when it is returned, and need not when its outcomes are known. */
  passNext(): Block {
    const start = this.next;
    const episodes = Array.from({ length: this.#blockSize }, (_, position) => this.#plan(start + position));
    return new Block(this.#next++, episodes);
  }

  /** The block goes out before new ones. */
  return(block: Block): void {
    this.#returned.push(block);
  }

  /** Blocks that could go out now: as many runners could have something to do. */
  countAvailable(horizon: number): number {
    return this.#returned.length + Math.max(0, Math.ceil(horizon / this.#blockSize) - this.#next);
  }

  /** The next range for a runner that asks: whole blocks, or nothing when there is nothing for it. */
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

  /** The straggler that the fold waits for first, as a second copy for a free sandbox; empty when there is none. */
  takeStraggler(now: number): readonly PlannedEpisode[] {
    const candidate = this.#flights.findFirstSingle();
    if (!candidate || now < this.#measureDelay(candidate)) return [];
    candidate.copies = 2;
    this.#duplicated += 1;
    return candidate.block.episodes;
  }

  /** When the next block in flight becomes a straggler; undefined when none can. */
  nextStragglerAt(): number | undefined {
    const candidate = this.#flights.findFirstSingle();
    return candidate && this.#measureDelay(candidate);
  }

  /** What one runner was sent and has not played to its end, for no fault of its own. It costs the blocks no attempt. */
  giveBack(episodes: readonly PlannedEpisode[]): void {
    let last: number | undefined;
    for (const { index } of episodes) {
      const number = this.#getBlockNumber(index);
      if (number !== last) this.#dropCopy(number);
      last = number;
    }
  }

  /** A copy of the episode's block whose sandbox was lost. Undefined: another copy is still being played, and decides. */
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
    // What came of a block before its runner's end may be reported after the block has been handed back.
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

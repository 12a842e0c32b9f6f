import type { Bounds } from '../intervals/bounds.ts';
import { Moments } from '../intervals/moments.ts';
import type { Score } from '../stopping/stopping-rule.ts';
import { chooseDesign, drawTask, designProportionally, type SamplingDesign } from './sampling-design.ts';
import { computeShares } from './shares.ts';
import { TaskEstimates } from './task-estimates.ts';

/** The first block has this many episodes, and this many a task, if that is more. What follows the second is decided by what they return. */
const FIRST_BLOCK = 32;
const FIRST_BLOCK_PER_TASK = 2;
/** Later blocks have this many episodes at least, which many sandboxes can share … */
const SHORTEST_BLOCK = 64;
/** … and are this share of all before them, so that an episode takes constant time on average, however many tasks there are. */
const BLOCK_GROWTH = 0.25;

export interface AllocationOptions {
  /** Of the tasks, positive; relative to each other. */
  readonly weights: readonly number[];
  /** Of the return. */
  readonly bounds: Bounds | undefined;
  /** That the rule `certified` aims at, in units of the return. Undefined with other rules. */
  readonly halfWidth: number | undefined;
  /** Indices come in groups of so many that are sent out together: a block holds whole groups. 1 when left out. */
  readonly playedTogether?: number | undefined;
}

/** Episodes start … end − 1 draw their tasks in the same way. */
interface Block {
  readonly start: number;
  readonly end: number;
  readonly design: SamplingDesign;
}

/**
 * Decides which tasks the episodes of a suite play, so that few are needed: more of those whose returns vary much.
 *
 * Indices come in blocks. The first two draw tasks by weight. The design of each later one is decided by the episodes up to the start of
 * the block before it, and so is known while that block is still being played. Every decision depends on the folded prefix alone: an
 * index has the same task however many sandboxes there are and in whatever order episodes arrive.
 *
 * State is constant: two designs and the estimates of the tasks.
 */
export class Allocation {
  readonly #options: AllocationOptions;
  readonly #proportional: SamplingDesign;
  readonly #estimates: TaskEstimates;
  readonly #scores = new Moments();
  #current: Block;
  #next: Block;
  #folded = 0;

  /** @throws RangeError when there is no task, or a weight that is not positive and finite. */
  constructor(options: AllocationOptions) {
    const shares = computeShares(options.weights);
    this.#options = options;
    const length = this.#countWholeGroups(Math.max(FIRST_BLOCK, FIRST_BLOCK_PER_TASK * shares.length));
    this.#proportional = designProportionally(shares, options.bounds);
    this.#estimates = new TaskEstimates(shares, options.bounds);
    this.#current = { start: 0, end: length, design: this.#proportional };
    this.#next = { start: length, end: 2 * length, design: this.#proportional };
  }

  /** The first index whose task is not decided yet; it moves on as episodes are folded. */
  get decidedUpTo(): number {
    return this.#next.end;
  }

  /**
   * Position of the task that an index plays.
   *
   * @param index from the folded ones on, and before `decidedUpTo`.
   * @param draw uniform in [0, 1), belonging to the index alone.
   * @throws RangeError when the index is not decided yet, or lies before the block of the fold, or the draw is out of its range.
   */
  pickTask(index: number, draw: number): number {
    if (!(draw >= 0 && draw < 1)) throw new RangeError(`expected a draw in [0, 1), got ${draw}`);
    if (!Number.isSafeInteger(index) || index < this.#current.start || index >= this.#next.end)
      throw new RangeError(`only the tasks of indices ${this.#current.start} to ${this.#next.end - 1} are known here, got ${index}`);
    const { design } = index < this.#next.start ? this.#current : this.#next;
    return drawTask(design, draw);
  }

  /**
   * Takes the next index in.
   *
   * @param task the one that `taskOf` gave for the index.
   * @param score of its return.
   * @returns what the episode counts for; that is what a stopping rule folds.
   * @throws RangeError when there is no such task.
   */
  fold(task: number, score: Score): Score {
    const allocated = allocateScore(this.#current.design, task, score);
    if (score.low === score.high) {
      this.#estimates.add(task, score.low);
      this.#scores.add(allocated.low);
    }
    this.#folded += 1;
    if (this.#folded === this.#current.end) this.#advance();
    return allocated;
  }

  /** Of the allocated scores of resolved episodes. */
  get scores(): Moments {
    return this.#scores;
  }

  /** Estimate of the suite's mean Σ wₖ·μₖ: the mean of the allocated scores, which may lie outside of the bounds where the mean cannot. */
  get mean(): number | undefined {
    const { mean } = this.#scores;
    const { low = -Infinity, high = Infinity } = this.#options.bounds ?? {};
    return mean === undefined ? undefined : Math.min(Math.max(mean, low), high);
  }

  #advance(): void {
    const { bounds, halfWidth } = this.#options;
    const estimates = this.#estimates.getCurrent();
    const design = estimates === undefined ? this.#proportional : chooseDesign(estimates, this.#proportional, bounds, halfWidth);
    const start = this.#next.end;
    this.#current = this.#next;
    this.#next = { start, end: start + this.#countWholeGroups(Math.max(SHORTEST_BLOCK, Math.ceil(BLOCK_GROWTH * start))), design };
  }

  #countWholeGroups(episodes: number): number {
    const { playedTogether = 1 } = this.#options;
    return playedTogether * Math.ceil(episodes / playedTogether);
  }
}

/**
 * What an episode counts for when tasks are not drawn in proportion to their weights: y = m + (wₖ/pₖ)·(x − mₖ) for the return x of
 * task k, where m = Σ wₖ·mₖ.
 *
 * Whatever the probabilities pₖ and the centres mₖ are, as long as they were fixed before the episode, y has the suite's mean Σ wₖ·μₖ as its
 * expectation: Σ pₖ·(wₖ/pₖ)·(μₖ − mₖ) is the suite's mean less m. With mₖ near the means μₖ its variance is near Σ (wₖ²/pₖ)·σₖ²: differences
 * between the tasks no longer add to it. (Augmented inverse probability weighting; Robins, Rotnitzky and Zhao 1994.)
 *
 * @throws RangeError when there is no such task.
 */
export function allocateScore({ tasks, centre, range }: SamplingDesign, task: number, score: Score): Score {
  const drawn = tasks[task];
  if (drawn === undefined) throw new RangeError(`there are ${tasks.length} tasks, got number ${task}`);
  const weigh = (value: number): number => centre + drawn.factor * (value - drawn.centre);
  const allocated = { low: weigh(score.low), high: weigh(score.high), returned: { low: score.low, high: score.high } };
  return range === undefined ? allocated : { ...allocated, range };
}

import type { Bounds } from '../intervals/bounds.ts';
import { Moments } from '../intervals/moments.ts';
import type { Score } from '../stopping/stopping-rule.ts';
import { chooseDesign, drawTask, designProportionally, type SamplingDesign } from './sampling-design.ts';
import { computeShares } from './shares.ts';
import { TaskEstimates } from './task-estimates.ts';

/** The first block has at least this many episodes, and at least this many a task. The returns decide everything after the second block. */
const FIRST_BLOCK = 32;
const FIRST_BLOCK_PER_TASK = 2;
/** Later blocks have at least this many episodes, which many sandboxes can share … */
const SHORTEST_BLOCK = 64;
/** … and at least this share of all before them, so that an episode takes constant time on average, however many tasks there are. */
const BLOCK_GROWTH = 0.25;

export interface AllocationOptions {
  /** Weights of the tasks: positive, relative to each other. */
  readonly weights: readonly number[];
  readonly bounds: Bounds | undefined;
  /** The half-width of the rule `certified`, in units of the return. Undefined with other rules. */
  readonly halfWidth: number | undefined;
  /** Indices are dispatched in groups of this size, and a block holds whole groups. 1 when left out. */
  readonly playedTogether?: number | undefined;
}

/** Episodes start … end − 1, which draw their tasks from the same design. */
interface Block {
  readonly start: number;
  readonly end: number;
  readonly design: SamplingDesign;
}

/**
 * Decides which tasks the episodes of a suite play, so that few are needed: it plays tasks with variable returns more often.
 *
 * Indices come in blocks. The first two draw tasks by weight. The episodes up to the start of the previous block decide the design of each later one,
 * so it is known while the previous block is still being played. Every decision depends on the folded prefix alone: an index has the same task
 * however many sandboxes there are and in whatever order episodes arrive.
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

  /** The first index whose task is not decided yet; it grows as episodes are folded. */
  get decidedUpTo(): number {
    return this.#next.end;
  }

  /**
   * Returns the position of the task of an index.
   *
   * @param index not yet folded, and before `decidedUpTo`. @param draw uniform in [0, 1), belonging to the index alone. @throws RangeError when the
   * index is not decided yet or is before the fold's block, or the draw is out of its range.
   */
  pickTask(index: number, draw: number): number {
    if (!(draw >= 0 && draw < 1)) throw new RangeError(`expected a draw in [0, 1), got ${draw}`);
    if (!Number.isSafeInteger(index) || index < this.#current.start || index >= this.#next.end)
      throw new RangeError(`only the tasks of indices ${this.#current.start} to ${this.#next.end - 1} are known here, got ${index}`);
    const { design } = index < this.#next.start ? this.#current : this.#next;
    return drawTask(design, draw);
  }

  /**
   * Adds the next index.
   *
   * @param task as `pickTask` gave it for the index. @param score of its return. @returns the allocated score, which a stopping rule folds. @throws
   * RangeError when there is no such task.
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

  /** Moments of the allocated scores of resolved episodes. */
  get scores(): Moments {
    return this.#scores;
  }

  /** Estimate of the suite's mean Σ wₖ·μₖ: the mean of the allocated scores. It may be outside of the bounds, although the suite's mean cannot be. */
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
 * Computes the allocated score of an episode, for tasks that are not drawn in proportion to their weights: y = m + (wₖ/pₖ)·(x − mₖ) for the return x
 * of task k, where m = Σ wₖ·mₖ.
 *
 * For any probabilities pₖ and centres mₖ that were fixed before the episode, the expectation of y is the suite's mean Σ wₖ·μₖ, because Σ
 * pₖ·(wₖ/pₖ)·(μₖ − mₖ) is the suite's mean less m. With mₖ near the means μₖ its variance is near Σ (wₖ²/pₖ)·σₖ²: differences between the tasks no
 * longer add to it. (Augmented inverse probability weighting; Robins, Rotnitzky and Zhao 1994.)
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

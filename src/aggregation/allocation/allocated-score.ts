import type { SamplingDesign } from './sampling-design.ts';
import type { Score } from '../stopping/stopping-rule.ts';

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
export function allocatedScore({ tasks, centre, range }: SamplingDesign, task: number, score: Score): Score {
  const drawn = tasks[task];
  if (drawn === undefined) throw new RangeError(`there are ${tasks.length} tasks, got number ${task}`);
  const counted = (value: number): number => centre + drawn.factor * (value - drawn.centre);
  const allocated = { low: counted(score.low), high: counted(score.high), returned: { low: score.low, high: score.high } };
  return range === undefined ? allocated : { ...allocated, range };
}

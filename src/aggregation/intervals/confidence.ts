/**
 * The largest confidence for which the intervals can be computed: with the next larger number, the probability (1 + c)/2 of a quantile rounds to 1,
 * and its quantile is infinite.
 */
export const LARGEST_CONFIDENCE = 1 - 2 ** -52;

/** Says what is wrong with a confidence that several intervals share; returns undefined when it is valid. */
export function findConfidenceProblem(confidence: number, intervals = 1): string | undefined {
  const largest = 1 - intervals * 2 ** -52;
  if (confidence > 0.5 && confidence <= largest) return undefined;
  const shared = intervals === 1 ? '' : `, of which each of the ${intervals} comparisons gets its part`;
  return `expected a number above 0.5 and at most ${largest}${shared}, got ${confidence}`;
}

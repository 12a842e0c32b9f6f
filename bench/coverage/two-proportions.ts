/** Of the beta prior on either probability; Turner et al. choose it for small samples. */
const PRIOR = 0.18;

/**
 * The anytime-valid test of two probabilities of success by Turner, Ly and Grünwald (2024), which takes one episode of each checkpoint at a time and does
 * not know of pairs: the likelihood of both outcomes under the probabilities estimated so far, over that under their mean. Equal probabilities are ruled out
 * where it reaches 1/α.
 */
export class TwoProportionsTest {
  readonly #limit: number;
  #pairs = 0;
  #baselineSuccesses = 0;
  #candidateSuccesses = 0;
  #log = 0;

  /** @param risk α, in both directions together. */
  constructor(risk: number) {
    this.#limit = -Math.log(risk);
  }

  /** @param baseline 1 for a success, 0 for a failure; so the candidate. */
  fold(baseline: number, candidate: number): void {
    const own = this.#estimate(this.#candidateSuccesses);
    const other = this.#estimate(this.#baselineSuccesses);
    const both = (own + other) / 2;
    this.#log += Math.log(
      (likelihood(own, candidate) * likelihood(other, baseline)) / (likelihood(both, candidate) * likelihood(both, baseline)),
    );
    this.#pairs += 1;
    this.#baselineSuccesses += baseline;
    this.#candidateSuccesses += candidate;
  }

  get verdict(): 'promote' | 'regress' | undefined {
    if (this.#log < this.#limit) return undefined;
    return this.#candidateSuccesses > this.#baselineSuccesses ? 'promote' : 'regress';
  }

  #estimate(successes: number): number {
    return (successes + PRIOR) / (this.#pairs + 2 * PRIOR);
  }
}

function likelihood(probability: number, outcome: number): number {
  return outcome === 1 ? probability : 1 - probability;
}

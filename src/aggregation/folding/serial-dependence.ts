/** Allowed probability of a false alarm. It is reached for the worst returns; ordinary ones give 1 in 1,000 or fewer. */
const BOUND = 0.01;
/** The rate of false alarms in words, as simulations confirm it. */
const RATE = '1 evaluation in 500';

/** Sums of one task, in index order. All values are relative to the first one, so that an offset costs no precision. */
interface Chain {
  readonly first: number;
  count: number;
  sum: number;
  squares: number;
  /** Σ xᵢ·xᵢ₊₁ */
  products: number;
  last: number;
  min: number;
  max: number;
}

interface LagOne {
  /** S, less its average over all orders. */
  readonly excess: number;
  readonly variance: number;
  /** Σd² */
  readonly squares: number;
  /** No product of two deviations is larger. */
  readonly largest: number;
}

/**
 * Whether episodes depend on the previous one, for example because an environment keeps state. Every interval assumes independent episodes, and is
 * too narrow where neighbours are alike.
 *
 * Compares each return with the previous one of the same task, so that alternating tasks, or tasks with different means, do not count as dependence.
 * With d the deviations from the mean of the task, S = Σ dᵢ·dᵢ₊₁ over all tasks. If the returns were independent, each order of a task's returns
 * would be equally probable, with S on average −Σd²/n, and a variance of about (n − 1)·(Σd²/n)² (Wald and Wolfowitz 1943). S exceeds that by s with a
 * probability of about exp(−s² / 2(V + M·s/3)), M being the largest product (Bernstein 1946). The term with M is needed for rare failures: two of
 * them can be neighbours by chance, which a normal tail would report. The coverage study checks this rate of false alarms.
 *
 * Constant state for each task.
 */
export class SerialDependence {
  readonly #chains = new Map<number, Chain>();

  /** Adds the next resolved return, in index order. */
  add(task: number, value: number): void {
    const chain = this.#chains.get(task);
    if (chain === undefined) {
      this.#chains.set(task, { first: value, count: 1, sum: 0, squares: 0, products: 0, last: 0, min: 0, max: 0 });
      return;
    }
    const shifted = value - chain.first;
    chain.count += 1;
    chain.sum += shifted;
    chain.squares += shifted * shifted;
    chain.products += chain.last * shifted;
    chain.last = shifted;
    chain.min = Math.min(chain.min, shifted);
    chain.max = Math.max(chain.max, shifted);
  }

  /** S, less its average without dependence, over Σd²; undefined while no two returns of a task differ. */
  get correlation(): number | undefined {
    const { excess, squares } = this.#computeLagOne();
    return squares > 0 ? Math.min(excess / squares, 1) : undefined;
  }

  /** Whether neighbours are more alike than chance explains. */
  get isBeyondChance(): boolean {
    const { excess, variance, largest } = this.#computeLagOne();
    return excess > 0 && excess ** 2 > 2 * Math.log(1 / BOUND) * (variance + (largest * excess) / 3);
  }

  #computeLagOne(): LagOne {
    let [excess, variance, squares, largest] = [0, 0, 0, 0];
    for (const chain of this.#chains.values()) {
      const one = computeLagOne(chain);
      excess += one.excess;
      variance += one.variance;
      squares += one.squares;
      largest = Math.max(largest, one.largest);
    }
    return { excess, variance, squares, largest };
  }
}

/** Returns a warning for people when neighbours are more alike than chance explains. @param what is correlated: "returns" or "differences". */
export function warnOfDependence({ correlation, isBeyondChance }: SerialDependence, what: string): string[] {
  if (correlation === undefined || !isBeyondChance) return [];
  const factor = Math.sqrt((1 + correlation) / (1 - correlation));
  const narrow = factor < 10 ? `about ${factor.toFixed(1)} times` : 'at least 10 times';
  return [
    `Episodes depend on one another: ${what} of neighbouring episodes of a task have a correlation of ${correlation.toFixed(2)}. Intervals and verdicts take episodes for independent; with this correlation intervals would have to be ${narrow} as wide. Look for state that the environment keeps from one episode to the next, and clear it in reset(), or play each episode in a sandbox of its own (episodesPerSandbox: 1). Independent episodes cause this warning in at most ${RATE}.`,
  ];
}

function computeLagOne({ count, sum, squares, products, last, min, max }: Chain): LagOne {
  const mean = sum / count;
  const deviations = Math.max(0, squares - sum * mean);
  // The first value is 0 here. The sum over later values of all pairs lacks the first value, the sum over earlier ones the last.
  const found = products - mean * (2 * sum - last) + (count - 1) * mean * mean;
  return {
    excess: found + deviations / count,
    variance: (count - 1) * (deviations / count) ** 2,
    squares: deviations,
    largest: Math.max(mean - min, max - mean) ** 2,
  };
}

/** The bets that are tried: 0.005, 0.015, … 0.995. */
const BETS = 100;
/** The prior counts of either checkpoint, all bins together. */
const PRIOR = 2;
/** A return on the edge of a bin is in the bin that begins there, whatever rounding has made of it. */
const ROUNDING = 1e-9;

/**
 * N-SCORE (Snyder et al. 2026), with the settings of its authors' program: returns of [0, 1] are counted in bins that begin at 0, 1/steps, … 1, for either checkpoint
 * by itself and with 2/(steps + 1) put into each. The next bet is the one of a hundred with which capital would grow fastest if a return of each
 * checkpoint were drawn from its bins, each by itself. It is on the checkpoint whose bins have the higher mean. There is a capital for each direction, which
 * its bets multiply by 1 ± λ·(candidate − baseline), and a direction is shown where its capital reaches 1/α.
 */
export class NScoreTest {
  readonly #steps: number;
  readonly #limit: number;
  readonly #baseline: Counts;
  readonly #candidate: Counts;
  /** Of all pairs of a counted return of each: how many the candidate wins, and loses, by so many bins. */
  readonly #wins: Float64Array;
  readonly #losses: Float64Array;
  /** Positive on the candidate, negative on the baseline. */
  #bet = 0;
  #logPromote = 0;
  #logRegress = 0;

  /** @param steps 1 for successes and failures, 100 for other returns. @param risk α, in either direction. */
  constructor(steps: number, risk: number) {
    this.#steps = steps;
    this.#limit = -Math.log(risk);
    this.#baseline = new Float64Array(steps + 1).fill(PRIOR / (steps + 1));
    this.#candidate = Float64Array.from(this.#baseline);
    const pairs = (difference: number): number => (steps + 1 - difference) * (PRIOR / (steps + 1)) ** 2;
    this.#wins = Float64Array.from({ length: steps + 1 }, (_, difference) => pairs(difference));
    this.#losses = Float64Array.from(this.#wins);
  }

  fold(baseline: number, candidate: number): void {
    const growth = Math.log1p(this.#bet * (candidate - baseline));
    if (this.#bet > 0) this.#logPromote += growth;
    else this.#logRegress += growth;
    this.#count(this.#bin(baseline), this.#bin(candidate));
    this.#bet = this.#nextBet();
  }

  get verdict(): 'promote' | 'regress' | undefined {
    if (this.#logPromote >= this.#limit) return 'promote';
    return this.#logRegress >= this.#limit ? 'regress' : undefined;
  }

  /** Logarithms of the capitals of both directions. */
  get logs(): { readonly promote: number; readonly regress: number } {
    return { promote: this.#logPromote, regress: this.#logRegress };
  }

  #bin(value: number): number {
    return Math.min(this.#steps, Math.floor((value + ROUNDING) * this.#steps));
  }

  #count(baseline: number, candidate: number): void {
    add(this.#wins, this.#losses, this.#candidate, baseline);
    this.#baseline[baseline] = (this.#baseline[baseline] ?? 0) + 1;
    add(this.#losses, this.#wins, this.#baseline, candidate);
    this.#candidate[candidate] = (this.#candidate[candidate] ?? 0) + 1;
  }

  #nextBet(): number {
    const excess = meanBin(this.#candidate) - meanBin(this.#baseline);
    if (excess === 0) return 0;
    return excess > 0 ? fastestBet(this.#wins, this.#losses) : -fastestBet(this.#losses, this.#wins);
  }
}

type Counts = Float64Array;

/** A further return of one checkpoint, in this bin, against all of the other one's: those above it and below it, by how many bins. */
function add(above: Float64Array, below: Float64Array, others: Counts, bin: number): void {
  for (let difference = 1; difference < others.length; difference += 1) {
    above[difference] = (above[difference] ?? 0) + (others[bin + difference] ?? 0);
    below[difference] = (below[difference] ?? 0) + (others[bin - difference] ?? 0);
  }
}

function meanBin(counts: Counts): number {
  let [sum, all] = [0, 0];
  for (const [bin, count] of counts.entries()) {
    sum += bin * count;
    all += count;
  }
  return sum / all;
}

/** The first of the bets with the fastest growth, Σ wins·log(1 + λd) + losses·log(1 − λd), which is concave in λ: so where it no longer rises. */
function fastestBet(wins: Float64Array, losses: Float64Array): number {
  const steps = wins.length - 1;
  const growth = (bet: number): number => {
    let sum = 0;
    for (let difference = 1; difference <= steps; difference += 1) {
      const stake = (betOf(bet) * difference) / steps;
      sum += (wins[difference] ?? 0) * Math.log1p(stake) + (losses[difference] ?? 0) * Math.log1p(-stake);
    }
    return sum;
  };
  let [first, last] = [0, BETS - 1];
  while (first < last) {
    const middle = Math.floor((first + last) / 2);
    if (growth(middle + 1) > growth(middle)) first = middle + 1;
    else last = middle;
  }
  return betOf(first);
}

function betOf(place: number): number {
  return (place + 0.5) / BETS;
}

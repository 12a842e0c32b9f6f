/** No bet risks more than this share of its capital, so no factor falls below 1/20. */
export const BET_CAP = 0.95;

/** Decides the size of a bet: against a point at distance z from the worst value it is aim/(seen + supposed·z). */
export interface Stake {
  readonly aim: number;
  readonly cubes: number;
  readonly seen: number;
  readonly supposed: number;
}

/** The capital of the bets in one direction, for each grid point. */
export interface Capital {
  /** Distance of the point from the worst value. */
  readonly distances: Float64Array;
  /** Largest bet allowed against the point. */
  readonly caps: Float64Array;
  /** Product of the factors since the last flush. */
  readonly product: Float64Array;
  /** Logarithm of all earlier factors. */
  readonly flushed: Float64Array;
}

export function createCapital(grid: number): Capital {
  return {
    distances: new Float64Array(grid + 1),
    caps: new Float64Array(grid + 1),
    product: new Float64Array(grid + 1).fill(1),
    flushed: new Float64Array(grid + 1),
  };
}

/** Limits a bet. At the worst value itself any bet is safe, so it is treated like its neighbour to keep bets finite. */
export function limitBet({ distances, caps }: Capital, point: number, distance: number, grid: number): void {
  distances[point] = distance;
  caps[point] = BET_CAP / Math.max(distance, 1 / grid);
}

export function readLogCapital(capital: Capital, point: number): number {
  return (capital.flushed[point] ?? 0) + Math.log(capital.product[point] ?? 1);
}

export function placeBet({ distances, caps }: Capital, point: number, { aim, seen, supposed }: Stake): number {
  return Math.min(aim / (seen + supposed * (distances[point] ?? 0)), caps[point] ?? 0);
}

/** Multiplies the capital of the points first … last by 1 + bet·(gain − distance). @param gain of the value over the worst one. */
export function settleBets(capital: Capital, first: number, last: number, stake: Stake, gain: number): void {
  const { distances, caps, product } = capital;
  const { aim, seen, supposed } = stake;
  for (let point = first; point <= last; point += 1) {
    const distance = distances[point] ?? 0;
    const bet = Math.min(aim / (seen + supposed * distance), caps[point] ?? 0);
    product[point] = (product[point] ?? 1) * (1 + bet * (gain - distance));
  }
}

export function flushProducts({ product, flushed }: Capital, first: number, last: number): void {
  for (let point = first; point <= last; point += 1) {
    flushed[point] = (flushed[point] ?? 0) + Math.log(product[point] ?? 1);
    product[point] = 1;
  }
}

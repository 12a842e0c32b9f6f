import { FIRST_LOOK, lookAfter } from './approximate-rule.ts';
import { FEWEST_VALUES } from './asymptotic-sequence.ts';
import type { Bounds } from '../intervals/bounds.ts';
import { BET_CAP } from './bet-capital.ts';
import { computeAdjustedInterval, computeHalfWidth } from '../intervals/intervals.ts';
import { Moments } from '../intervals/moments.ts';
import type { Stop } from './stopping-rule.ts';

/**
 * The narrowest half-width as a share of the range. Narrower ones need some 10⁸ episodes, and a grid that does not fit a processor's cache.
 */
const NARROWEST = 1e-4;

/**
 * Explains why an evaluation cannot have this half-width with these bounds: what is wrong, what was expected, the remedy. Returns undefined when it
 * can.
 */
export function findHalfWidthProblem(halfWidth: number, bounds: Bounds): string | undefined {
  const range = bounds.high - bounds.low;
  if (halfWidth >= range / 2)
    return `expected less than ${range / 2}: reward.bounds alone, ${range} apart, put the mean within ±${range / 2} before any episode; got ${halfWidth}`;
  if (halfWidth >= NARROWEST * range) return undefined;
  return `${halfWidth} is out of reach with reward.bounds ${range} apart; ask for ${NARROWEST * range} or more, or declare tighter bounds`;
}

/**
 * Computes the least number of episodes of a rule, which it takes when all returns are equal. A whole number.
 *
 * `fixed`, `approximate` and `asymptotic` are never satisfied earlier, whatever the returns. `certified` may be when returns drift along the indices,
 * first high and then low, so that means are dropped from either side one after the other. Independent returns do that only by chance, and rarely.
 *
 * @param bounds needed by `certified` and `approximate`, with a half-width that `findHalfWidthProblem` accepts. @throws RangeError when they are
 * missing.
 */
export function computeLeastEpisodes(stop: Stop, bounds: Bounds | undefined): number {
  switch (stop.rule) {
    case 'fixed':
      return stop.episodes;
    case 'asymptotic':
      return FEWEST_VALUES;
    case 'certified':
      return findLeastCertified(stop.halfWidth, stop.confidence, requireBounds(bounds));
    case 'approximate':
      return findLeastApproximate(stop.halfWidth, stop.confidence, requireBounds(bounds));
  }
}

/**
 * Computes ln(2/α) / ln((1 − 2h + 2ch)/(1 − 2h)), h on the unit scale and c the share of the capital that bets may risk.
 *
 * The interval is narrow enough once means a and b at most 2h apart are dropped. Returns of x multiply the capital against a by at most 1 + c(x −
 * a)/a an episode, and that against b by at most 1 + c(b − x)/(1 − b). The lesser of the two fractions is at most their mediant, c(b − a)/(1 − (b −
 * a)). So one of the capitals needs at least as many episodes to reach 2/α as a growth by 1 + 2ch/(1 − 2h) does. The actual number differs by up to a
 * sixth, because bets start small.
 */
function findLeastCertified(halfWidth: number, confidence: number, bounds: Bounds): number {
  const width = (2 * halfWidth) / (bounds.high - bounds.low);
  return Math.ceil(Math.log(2 / (1 - confidence)) / Math.log1p((BET_CAP * width) / (1 - width)));
}

/**
 * Finds the first look at which some returns suffice. Returns in the middle of the range have the narrowest adjusted interval, unless one that is cut
 * at a bound is narrower: that of returns which are all on the bound.
 */
function findLeastApproximate(halfWidth: number, confidence: number, bounds: Bounds): number {
  const candidates = [bounds.low, bounds.low + (bounds.high - bounds.low) / 2].map((value) => ({ value, moments: new Moments() }));
  for (let look = FIRST_LOOK; ; look = lookAfter(look)) {
    for (const { value, moments } of candidates) {
      while (moments.count < look) moments.add(value);
      const interval = computeAdjustedInterval(moments, bounds, confidence);
      if (interval !== undefined && computeHalfWidth(interval) <= halfWidth) return look;
    }
  }
}

function requireBounds(bounds: Bounds | undefined): Bounds {
  if (bounds === undefined) throw new RangeError('expected bounds on the return, which this stopping rule needs');
  return bounds;
}

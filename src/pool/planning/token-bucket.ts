/** A rate limit as a value: it had `tokens` at the time `at` (milliseconds), and gains more over time, up to the burst. */
export interface TokenBucket {
  readonly tokens: number;
  readonly at: number;
}

export interface TokenRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Rounding may leave the sum of many small refills just below a whole token; this difference is tolerated. */
const ROUNDING = 1e-9;

export function createFullBucket(rate: TokenRate, now: number): TokenBucket {
  return { tokens: rate.burst, at: now };
}

/** Counts the whole tokens that are available now. */
export function countTokensAt(bucket: TokenBucket, rate: TokenRate, now: number): number {
  return Math.floor(computeLevel(bucket, rate, now) + ROUNDING);
}

/** Finds when the next whole token becomes available if none is taken before. */
export function findNextTokenTime(bucket: TokenBucket, rate: TokenRate, now: number): number {
  const missing = countTokensAt(bucket, rate, now) + 1 - computeLevel(bucket, rate, now);
  return now + (missing / rate.perSecond) * 1000;
}

export function takeTokens(bucket: TokenBucket, rate: TokenRate, now: number, count: number): TokenBucket {
  return { tokens: Math.max(0, computeLevel(bucket, rate, now) - count), at: now };
}

/** Returns the bucket as it is now, before its rate changes. */
export function refillBucket(bucket: TokenBucket, rate: TokenRate, now: number): TokenBucket {
  return takeTokens(bucket, rate, now, 0);
}

function computeLevel(bucket: TokenBucket, rate: TokenRate, now: number): number {
  return Math.min(rate.burst, bucket.tokens + ((now - bucket.at) / 1000) * rate.perSecond);
}

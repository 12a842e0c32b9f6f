import { compiled, incbi, ndtri, stdtri } from 'cephes';

// The library is WebAssembly, which Node compiles without blocking.
await compiled;

/** From this number on, the expansion in powers of one over the degrees of freedom is more exact than an inverse of the distribution function. */
const MANY_DEGREES = 100_000;

/** Computes the standard normal deviate with probability `p` below it. @throws RangeError unless 0 < p < 1. */
export function computeNormalQuantile(p: number): number {
  return checkFinite(ndtri(checkProbability(p)), p);
}

/**
 * Computes a quantile of Student's t with `degreesOfFreedom`, a positive integer, to within 1e-9.
 *
 * @throws RangeError unless 0 < p < 1.
 */
export function computeStudentQuantile(p: number, degreesOfFreedom: number): number {
  if (degreesOfFreedom >= MANY_DEGREES) return expandStudentQuantile(computeNormalQuantile(p), degreesOfFreedom);
  return checkFinite(stdtri(checkPositive(degreesOfFreedom), checkProbability(p)), p);
}

/** Computes the quantile of the beta distribution with shapes `alpha` and `beta` > 0. @throws RangeError unless 0 < p < 1. */
export function computeBetaQuantile(p: number, alpha: number, beta: number): number {
  return checkFinite(incbi(checkPositive(alpha), checkPositive(beta), checkProbability(p)), p);
}

/** Expands after Abramowitz and Stegun, 26.7.5, from the normal deviate of the same probability. */
function expandStudentQuantile(z: number, degreesOfFreedom: number): number {
  const first = (z ** 3 + z) / 4;
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96;
  return z + (first + second / degreesOfFreedom) / degreesOfFreedom;
}

function checkProbability(p: number): number {
  if (p > 0 && p < 1) return p;
  throw new RangeError(`a quantile needs a probability between 0 and 1, got ${p}`);
}

function checkPositive(parameter: number): number {
  if (parameter > 0) return parameter;
  throw new RangeError(`a quantile needs positive shapes and degrees of freedom, got ${parameter}`);
}

function checkFinite(quantile: number, p: number): number {
  if (Number.isFinite(quantile)) return quantile;
  throw new RangeError(`the quantile for probability ${p} is not a finite number`);
}

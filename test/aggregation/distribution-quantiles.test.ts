import { expect, test } from 'vitest';
import {
  computeBetaQuantile,
  computeNormalQuantile,
  computeStudentQuantile,
} from '../../src/aggregation/intervals/distribution-quantiles.ts';

// References: scipy.stats 1.17.1, t.ppf, norm.ppf and beta.ppf.
const TOLERANCE = 1e-9;

test.each([
  [0.975, 1, 12.706204736174694],
  [0.975, 2, 4.302652729749462],
  [0.995, 3, 5.840909309733355],
  [0.975, 7, 2.364624251592784],
  [0.9995, 10, 4.586893858702708],
  [0.975, 19, 2.0930240544083087],
  [0.975, 63, 1.998340542520741],
  [0.975, 499, 1.9647293909876886],
  [0.95, 999, 1.646380345427535],
  [0.975, 9999, 1.960201263621357],
  [0.975, 99_999, 1.9599877077718442],
  [0.975, 999_999, 1.9599663568164791],
  [0.975, 9_999_999, 1.9599642217672286],
])('Student t: quantile %d with %d degrees of freedom', (p, degreesOfFreedom, expected) => {
  expect(Math.abs(computeStudentQuantile(p, degreesOfFreedom) - expected)).toBeLessThan(TOLERANCE);
});

test.each([
  [0.025, -1.959963984540054],
  [0.75, 0.6744897501960817],
  [0.95, 1.6448536269514722],
  [0.975, 1.959963984540054],
  [0.995, 2.5758293035489004],
  [0.9995, 3.2905267314919255],
])('normal: quantile %d', (p, expected) => {
  expect(Math.abs(computeNormalQuantile(p) - expected)).toBeLessThan(TOLERANCE);
});

test.each([
  [0.025, 18, 3, 0.6830172859809177],
  [0.975, 19, 2, 0.9876514728297052],
  [0.025, 1, 20, 0.0012650894979498038],
  [0.975, 1, 20, 0.1684334709830853],
  [0.025, 20, 1, 0.8315665290169146],
  [0.975, 500, 501, 0.5304537166614578],
  [0.025, 4990, 11, 0.9963250145191396],
  [0.975, 100_000, 900_001, 0.10058864557704408],
  [0.025, 1, 1_000_000, 2.5317807663794178e-8],
])('beta: quantile %d of Beta(%d, %d)', (p, alpha, beta, expected) => {
  expect(Math.abs(computeBetaQuantile(p, alpha, beta) - expected)).toBeLessThan(TOLERANCE);
});

test('a probability or shape that makes no sense is refused', () => {
  expect(() => computeNormalQuantile(0)).toThrow(RangeError);
  expect(() => computeNormalQuantile(1)).toThrow(RangeError);
  expect(() => computeStudentQuantile(0.975, 0)).toThrow(RangeError);
  expect(() => computeBetaQuantile(0.5, -1, 2)).toThrow(RangeError);
  expect(() => computeBetaQuantile(Number.NaN, 1, 2)).toThrow(RangeError);
});

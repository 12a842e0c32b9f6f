import { describe, expect, it } from 'vitest';
import { suiteSchema } from '../../src/orchestrator/suite/suite.ts';

const suiteWith = (changes: object): unknown => ({
  name: 'toy',
  environment: 'toys:Toy',
  stop: { rule: 'fixed', episodes: 10 },
  ...changes,
});
const isAccepted = (changes: object): boolean => suiteSchema.safeParse(suiteWith(changes)).success;

describe('a suite', () => {
  it('has a budget of at most a year', () => {
    expect(isAccepted({ budget: { seconds: 31_536_000 } })).toBe(true);
    expect(isAccepted({ budget: { seconds: 31_536_001 } })).toBe(false);
    expect(isAccepted({ budget: { seconds: Infinity } })).toBe(false);
  });

  it('names its template by a name of the configuration', () => {
    expect(isAccepted({ template: 'large-memory-2' })).toBe(true);
    for (const template of ['', 'Large', '2nd', '__proto__', 'a'.repeat(33)]) expect(isAccepted({ template })).toBe(false);
  });

  it('has the rules that aim at a half-width, with their defaults filled in', () => {
    const stopOf = (stop: object): unknown => suiteSchema.parse(suiteWith({ stop })).stop;
    expect(stopOf({ rule: 'approximate', halfWidth: 2 })).toEqual({ rule: 'approximate', halfWidth: 2, confidence: 0.95 });
    expect(stopOf({ rule: 'asymptotic', halfWidth: 2, confidence: 0.9 })).toEqual({
      rule: 'asymptotic',
      halfWidth: 2,
      confidence: 0.9,
      tightestAt: 500,
    });
    for (const tightestAt of [63, 99.5, 10_000_001])
      expect(isAccepted({ stop: { rule: 'asymptotic', halfWidth: 2, tightestAt } })).toBe(false);
    expect(isAccepted({ stop: { rule: 'certified', halfWidth: 2, tightestAt: 500 } })).toBe(false);
  });

  it('has a confidence between one half and certainty, whatever its rule', () => {
    const rules = [{ rule: 'fixed', episodes: 10 }, ...['certified', 'approximate', 'asymptotic'].map((rule) => ({ rule, halfWidth: 1 }))];
    for (const rule of rules) {
      for (const confidence of [0, 0.5, 1, 95]) {
        const { error } = suiteSchema.safeParse(suiteWith({ stop: { ...rule, confidence } }));
        expect(error?.issues.map(({ path }) => path)).toEqual([['stop', 'confidence']]);
      }
    }
  });

  it('defines success, and the number of attempts', () => {
    const successOf = (success: object): unknown => suiteSchema.parse(suiteWith({ success })).success;
    expect(successOf({ threshold: 475 })).toEqual({ threshold: 475, k: [1] });
    expect(successOf({ threshold: -0.5, k: [10, 1, 5, 10, 100] })).toEqual({ threshold: -0.5, k: [1, 5, 10, 100] });
    expect(isAccepted({ success: { threshold: 0, k: Array.from({ length: 16 }, (_, position) => position + 1) } })).toBe(true);
    for (const k of [[], [0], [101], [1.5], Array.from({ length: 17 }, (_, position) => position + 1)])
      expect(isAccepted({ success: { threshold: 0, k } })).toBe(false);
    expect(isAccepted({ success: { k: [1] } })).toBe(false);
  });
});

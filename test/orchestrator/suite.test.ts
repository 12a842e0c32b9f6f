import { describe, expect, it } from 'vitest';
import { suiteSchema } from '../../src/orchestrator/suite.ts';

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

  it('names its template as the configuration names them', () => {
    expect(isAccepted({ template: 'large-memory-2' })).toBe(true);
    for (const template of ['', 'Large', '2nd', '__proto__', 'a'.repeat(33)]) expect(isAccepted({ template })).toBe(false);
  });
});

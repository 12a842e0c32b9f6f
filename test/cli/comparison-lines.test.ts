import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { FailureCounts } from '../../src/aggregation/folding/failure-counts.ts';
import { formatComparison } from '../../src/cli/lines/comparison-lines.ts';
import { candidate, comparison } from '../faces/report/documents.ts';

const plain = (...parts: Parameters<typeof comparison>): string =>
  formatComparison(comparison(...parts), 'inventory')
    .map((line) => stripVTControlCharacters(line))
    .join('\n');

describe('a comparison', () => {
  it('shows every verdict first, with the number of pairs', () => {
    expect(plain()).toMatch(/^inventory · against runs\/middle\.safetensors\n {2}▲ promote runs\/step-0000\.safetensors after 480 pairs$/m);
    expect(plain()).toMatch(/▼ regress runs\/step-1000\.safetensors after 480 pairs$/m);
  });

  it('that was inconclusive shows the effect that its pairs would have found', () => {
    const text = plain({ candidates: [candidate(0, 'inconclusive', 0.001, 0.1)] });
    expect(text).toMatch(/\? inconclusive runs\/step-0000\.safetensors after 480 pairs$/m);
    expect(text).toMatch(/smallest effect +0\.01\d*: a difference that so many pairs find in 4 of 5 comparisons$/m);
  });

  it('counts failed and lost episodes of both sides', () => {
    expect(plain()).toMatch(/failed episodes +3 of 480 \(0.6 %\): 3 timeout/m);
    expect(plain()).toMatch(/baseline failed +.*2 environment-crash/m);
    expect(plain()).toMatch(/lost pairs +1, an episode of each with its sandbox \(they widen the interval\)$/m);
  });

  it('has no lines for failures that did not occur', () => {
    const spotless = { ...candidate(0, 'promote', 0.06, 2), failures: new FailureCounts().counts, unresolvedPairs: 0 };
    const text = plain({ candidates: [spotless], baselineFailures: spotless.failures });
    expect(text).not.toMatch(/failed|unresolved/);
  });

  it('that ended because all episodes of a checkpoint failed shows no verdict', () => {
    const text = plain({}, { ended: 'failures' });
    expect(text).toMatch(/^ {2}runs\/step-0000\.safetensors {2}no verdict$/m);
    expect(text).not.toMatch(/promote|regress|evidence/);
  });

  it('with a recorded baseline is marked as such', () => {
    expect(plain({}, { baseline: { uri: 'kept', files: 0, bytes: 0, recorded: true } })).toContain('against kept (recorded)');
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestBytes } from '../../src/kernel/canonical-json.ts';
import { addExposure, FRESH, mayServe, type CodeExposure, type Exposure, type PastExposure } from '../../src/pool/ports/exposure.ts';

const principals = fc.constantFrom('ann', 'bob');
const suites = fc.constantFrom(digestBytes('a suite'), digestBytes('another suite'));
const checkpoints = fc.constantFrom(undefined, digestBytes('a policy'), digestBytes('another policy'));
const exposures: fc.Arbitrary<Exposure> = fc.oneof(
  fc.record({ kind: fc.constant('data'), principal: principals }),
  fc.record({ kind: fc.constant('code'), principal: principals, suite: suites, checkpoint: checkpoints }),
);

const isCode = (exposure: Exposure): exposure is CodeExposure => exposure.kind === 'code';

describe('a sandbox', () => {
  it('never has code of one evaluation with code or data of another, and is otherwise reusable', () => {
    fc.assert(
      fc.property(fc.array(exposures, { maxLength: 12 }), (wishes) => {
        let past: PastExposure = FRESH;
        const came: Exposure[] = [];
        for (const wanted of wishes) {
          const sameCode = came.filter(isCode).every((code) => JSON.stringify(code) === JSON.stringify(wanted));
          const ownOnly = came.every(({ principal }) => principal === wanted.principal);
          const expected = sameCode && (wanted.kind === 'data' || ownOnly);
          expect(mayServe(past, wanted)).toBe(expected);
          if (!expected) continue;
          past = addExposure(past, wanted);
          came.push(wanted);
        }
      }),
      { seed: 20_262, numRuns: 1000 },
    );
  });

  it('that is given a forbidden exposure is a defect', () => {
    const code = { kind: 'code', principal: 'ann', suite: digestBytes('a suite'), checkpoint: undefined } as const;
    expect(() => addExposure(code, { kind: 'data', principal: 'ann' })).toThrow('is not for');
  });
});

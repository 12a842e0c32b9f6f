import { describe, expect, it } from 'vitest';
import { openEvaluator } from '../../src/cli/commands/suite-evaluator.ts';
import { InputError } from '../../src/kernel/errors.ts';

describe('a Muster whose suite cannot be read', () => {
  it('is closed before the error is printed', async () => {
    let isClosed = false;
    const muster = {
      loadSuite: () => Promise.reject(new InputError('suite.missing', 'no such suite')),
      evaluateLoaded: () => Promise.reject(new Error('there is no suite to evaluate')),
      [Symbol.asyncDispose]: async () => void (isClosed = true),
    };
    await expect(openEvaluator(muster, { suite: 'nowhere.yaml' })).rejects.toThrow('no such suite');
    expect(isClosed).toBe(true);
  });
});

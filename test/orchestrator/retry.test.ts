import { describe, expect, it } from 'vitest';
import { decideAfterLoss, NO_ATTEMPTS } from '../../src/orchestrator/arm/retry.ts';

describe('an episode whose sandbox was lost', () => {
  it('is played again elsewhere', () => {
    expect(decideAfterLoss(NO_ATTEMPTS, 'gone', false, 3)).toEqual({ kind: 'again', attempts: { lost: 1, killed: 0 } });
  });

  it('is unresolved, and not scored, after the last attempt', () => {
    expect(decideAfterLoss({ lost: 2, killed: 0 }, 'gone', false, 3)).toMatchObject({ kind: 'final', outcome: { kind: 'lost' } });
    expect(decideAfterLoss({ lost: 2, killed: 1 }, 'killed', 'runner', 3)).toMatchObject({ kind: 'final', outcome: { kind: 'lost' } });
  });

  it('is a crash when its runner was killed in every attempt', () => {
    const crash = (cause: string) => ({ kind: 'final', outcome: { kind: 'failed', cause } });
    expect(decideAfterLoss({ lost: 2, killed: 2 }, 'killed', 'runner', 3)).toMatchObject(crash('environment-crash'));
    expect(decideAfterLoss({ lost: 2, killed: 2 }, 'killed', 'policy', 3)).toMatchObject(crash('policy-crash'));
  });
});

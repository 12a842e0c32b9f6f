import { describe, expect, it } from 'vitest';
import type { Claimable } from '../../src/evaluation-store/ownership.ts';
import { parseEvaluationId } from '../../src/kernel/ids.ts';
import { planClaims } from '../../src/service/playing/claims.ts';

function waiting(id: string, principal: string, priority = 0): Claimable {
  return { id: parseEvaluationId(id), principal, priority };
}

const BATCH = Array.from({ length: 50 }, (_, i) => waiting(`batch-${i}`, 'batch'));

describe('the next evaluation that a Muster begins', () => {
  it('fills its slots, alternating between principals', () => {
    const claimable = [...BATCH, waiting('loop-1', 'loop'), waiting('loop-2', 'loop')];
    expect(planClaims({ slots: 4, active: [], claimable })).toEqual(['batch-0', 'loop-1', 'batch-1', 'loop-2']);
  });

  it('is none of a principal whose evaluations take all slots', () => {
    expect(planClaims({ slots: 2, active: BATCH.slice(0, 2), claimable: BATCH.slice(2) })).toEqual([]);
  });

  it('is one of a principal that plays nothing, though all slots are taken', () => {
    const claimable = [...BATCH.slice(2), waiting('loop-1', 'loop'), waiting('loop-2', 'loop')];
    expect(planClaims({ slots: 2, active: BATCH.slice(0, 2), claimable })).toEqual(['loop-1']);
  });

  it('is one that is more urgent than all that its principal plays, though all slots are taken', () => {
    const claimable = [waiting('urgent', 'batch', 1), ...BATCH.slice(2)];
    expect(planClaims({ slots: 2, active: BATCH.slice(0, 2), claimable })).toEqual(['urgent']);
  });

  it('never is more than twice its slots, whichever evaluations come', () => {
    const claimable = Array.from({ length: 20 }, (_, i) => waiting(`new-${i}`, `principal-${i}`));
    expect(planClaims({ slots: 2, active: BATCH.slice(0, 2), claimable })).toHaveLength(2);
  });
});

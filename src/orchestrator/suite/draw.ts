import { STATISTICS_VERSION } from '../../aggregation/statistics-version.ts';
import type { SuiteDefinition } from './suite-definition.ts';

/**
 * Describes how the indices of an evaluation draw their tasks, beyond the suite's digest: equal for evaluations in which an index means the same
 * episode. A comparison always draws `proportional`.
 */
export function describeDraw({ allocation, stop }: Pick<SuiteDefinition, 'allocation' | 'stop'>): string {
  switch (allocation) {
    case 'proportional':
      return 'proportional';
    case 'adaptive':
      // Adaptive designs depend on the half-width to certify and on the bets that certify it, so other settings draw other tasks.
      return stop.rule === 'certified' ? `adaptive ${stop.halfWidth} by statistics ${STATISTICS_VERSION}` : 'adaptive';
  }
}

import { STATISTICS_VERSION } from '../../aggregation/statistics-version.ts';
import type { SuiteDefinition } from './suite-definition.ts';

/**
 * How the indices of an evaluation draw their tasks, beside what the suite's digest says: the same for evaluations in which an index stands for
 * the same episode. A comparison always draws `proportional`.
 */
export function describeDraw({ allocation, stop }: Pick<SuiteDefinition, 'allocation' | 'stop'>): string {
  switch (allocation) {
    case 'proportional':
      return 'proportional';
    case 'adaptive':
      // Adaptive designs aim at the half-width to certify and at the bets that certify it, so others draw other tasks.
      return stop.rule === 'certified' ? `adaptive ${stop.halfWidth} by statistics ${STATISTICS_VERSION}` : 'adaptive';
  }
}

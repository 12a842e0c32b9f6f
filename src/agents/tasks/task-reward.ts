import type { Task } from './task.ts';

/**
 * Combines the steps' rewards: their mean, or the last one's. A step that was not reached counts as 0.
 *
 * @param rewards of the steps that were reached, in order. @returns null when one has none.
 */
export function combineRewards({ steps, strategy }: Pick<Task, 'steps' | 'strategy'>, rewards: readonly (number | null)[]): number | null {
  const known = rewards.filter((reward) => reward !== null);
  if (known.length < rewards.length) return null;
  switch (strategy) {
    case 'mean':
      return known.reduce((sum, reward) => sum + reward, 0) / steps.length;
    case 'final':
      return known[steps.length - 1] ?? 0;
  }
}

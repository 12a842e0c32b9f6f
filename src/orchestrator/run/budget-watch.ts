import type { Clock } from '../../kernel/clock.ts';

export interface BudgetWatch {
  readonly clock: Clock;
  readonly seconds: number | undefined;
  readonly cost: number | undefined;
  /** Returns the cost so far. */
  readonly spent: () => number;
  readonly onSpent: (what: 'seconds' | 'cost') => void;
}

/** Pause between two computations of the cost, which take longer with more leased sandboxes. */
const LOOK_MILLISECONDS = 250;

/** Calls back when the budget of time or money is spent, until disposed. */
export function watchBudget({ clock, seconds, cost, spent, onSpent }: BudgetWatch): Disposable {
  const deadline = seconds === undefined ? undefined : clock.after(seconds * 1000, () => onSpent('seconds'));
  const look = (): void => {
    if (cost !== undefined && spent() >= cost) return onSpent('cost');
    looking = clock.after(LOOK_MILLISECONDS, look);
  };
  let looking = cost === undefined ? undefined : clock.after(LOOK_MILLISECONDS, look);
  return {
    [Symbol.dispose]: () => {
      deadline?.[Symbol.dispose]();
      looking?.[Symbol.dispose]();
    },
  };
}

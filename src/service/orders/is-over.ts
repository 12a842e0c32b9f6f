import type { StoredEvaluation } from '../../evaluation-store/evaluation-record.ts';

/** Whether nothing of it changes any more. */
export function isOver({ state }: Pick<StoredEvaluation, 'state'>): boolean {
  switch (state) {
    case 'waiting':
    case 'running':
      return false;
    case 'finished':
    case 'cancelled':
    case 'failed':
      return true;
  }
}

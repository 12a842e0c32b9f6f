import type { EvaluationCatalogue } from '../../evaluation-store/evaluation-catalogue.ts';
import type { StoredEvaluation } from '../../evaluation-store/evaluation-record.ts';
import type { EvaluationId } from '../../kernel/ids.ts';
import { getMessage } from '../../kernel/errors.ts';
import type { Log } from '../../kernel/log.ts';

const AT_A_TIME = 100;

/**
 * Cancels the evaluations of older versions of the same run that have not begun: a training that has got further has no use for them. Never
 * rejects, because the new evaluation is accepted in any case.
 */
export async function cancelStaleVersions(
  { id, principal, run, version }: StoredEvaluation,
  evaluations: Pick<EvaluationCatalogue, 'list'>,
  cancel: (stale: EvaluationId) => Promise<unknown>,
  log: Log,
): Promise<void> {
  if (run === undefined || version === undefined) return;
  try {
    let after: string | undefined;
    do {
      const page = await evaluations.list({ principal, run, states: ['waiting'] }, { limit: AT_A_TIME, after });
      for (const other of page.items) if (other.id !== id && other.version !== undefined && other.version < version) await cancel(other.id);
      after = page.next;
    } while (after !== undefined);
  } catch (error) {
    log.warn({ evaluation: id, error: getMessage(error) }, 'older versions of the run could not be cancelled');
  }
}

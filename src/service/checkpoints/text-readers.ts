import type { Caller } from '../access/caller.ts';
import type { StoredEvaluation } from '../../evaluation-store/evaluation-record.ts';
import type { EvaluationId } from '../../kernel/ids.ts';
import type { CheckpointUse } from './checkpoint-use.ts';
import { listCheckpoints, orderSchema } from '../orders/evaluation-order.ts';

type Looked = Pick<StoredEvaluation, 'id' | 'principal' | 'request'>;

/**
 * Selects the evaluations whose text a caller may read: what their programs printed, and messages that contain text of programs. A program
 * can print the checkpoint that it plays. So only the principal that requested the evaluation, principals that may use all its checkpoints, and
 * operators may read its text.
 */
export async function findReadable(
  caller: Caller,
  evaluations: readonly Looked[],
  use: Pick<CheckpointUse, 'findUsable'>,
): Promise<ReadonlySet<EvaluationId>> {
  const { principal, role } = caller;
  const isOwn = (evaluation: Looked): boolean => role === 'operator' || evaluation.principal === principal;
  const readable = new Set(evaluations.filter(isOwn).map(({ id }) => id));
  const asked = evaluations.flatMap(({ id, request }) => {
    // An order of another version of Muster may name checkpoints that this version cannot read.
    const order = readable.has(id) ? undefined : orderSchema.safeParse(request).data;
    return order ? [{ id, checkpoints: listCheckpoints(order) }] : [];
  });
  if (asked.length === 0) return readable;
  const digests = asked.flatMap(({ checkpoints }) => checkpoints.map(({ digest }) => digest));
  const isUsable = await use.findUsable(principal, [...new Set(digests)]);
  for (const { id, checkpoints } of asked) if (checkpoints.every(isUsable)) readable.add(id);
  return readable;
}

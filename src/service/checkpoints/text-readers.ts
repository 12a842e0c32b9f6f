import type { Caller } from '../access/caller.ts';
import type { StoredEvaluation } from '../../evaluation-store/evaluation-record.ts';
import type { EvaluationId } from '../../kernel/ids.ts';
import type { CheckpointUse } from './checkpoint-use.ts';
import { listCheckpoints, orderSchema } from '../orders/evaluation-order.ts';

type Looked = Pick<StoredEvaluation, 'id' | 'principal' | 'request'>;

/**
 * Those of the evaluations whose text a caller may read: what their programs printed, and messages that programs can have put words into. A program
 * can print the checkpoint that it plays. So its text is for the principal who asked, for those who may use all of the checkpoints anyway, and
 * for operators.
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
    // What another version of Muster has accepted names checkpoints that this one cannot read.
    const order = readable.has(id) ? undefined : orderSchema.safeParse(request).data;
    return order ? [{ id, checkpoints: listCheckpoints(order) }] : [];
  });
  if (asked.length === 0) return readable;
  const digests = asked.flatMap(({ checkpoints }) => checkpoints.map(({ digest }) => digest));
  const isUsable = await use.findUsable(principal, [...new Set(digests)]);
  for (const { id, checkpoints } of asked) if (checkpoints.every(isUsable)) readable.add(id);
  return readable;
}

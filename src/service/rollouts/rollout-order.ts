import { z } from 'zod';
import type { NewStream } from '../../agents/rollouts/streams/rollout-streams.ts';
import { InfrastructureError } from '../../kernel/errors.ts';
import type { Digest } from '../../kernel/ids.ts';
import type { CheckpointReference, SuiteReference } from '../orders/library.ts';
import { contentSchema, digestSchema } from '../orders/evaluation-order.ts';
import type { GivenTerms } from '../../agents/rollouts/streams/stream-order.ts';

/** What a stream plays, with everything in it that decides a trajectory except the model's weights: it names stored contents instead of files. */
const rolloutOrderSchema = z.strictObject({
  schema: z.literal('muster.rollouts/1'),
  suite: z.looseObject({ name: z.string(), template: z.string() }),
  suiteDigest: digestSchema,
  suiteFiles: contentSchema.exactOptional(),
  agent: contentSchema,
});

export type RolloutOrder = z.infer<typeof rolloutOrderSchema>;

/** A caller's request. */
export interface RolloutRequest {
  readonly suite: SuiteReference;
  readonly agent: CheckpointReference;
  /** The model of the agent when it is left out. */
  readonly policy: string | undefined;
  readonly terms: GivenTerms;
}

/** @throws InfrastructureError `store.order` when this Muster does not know it. */
export function readRolloutOrder({ id, order }: Pick<NewStream, 'id' | 'order'>): RolloutOrder {
  const parsed = rolloutOrderSchema.safeParse(order);
  if (parsed.success) return parsed.data;
  throw new InfrastructureError(
    'store.order',
    `stream ${id} was begun by another version of Muster, which this one cannot take over from; continue with that version, or cancel it and begin another`,
  );
}

/** Lists the contents without which it cannot be played. */
export function listNeeded({ suiteFiles, agent }: RolloutOrder): readonly Digest[] {
  return suiteFiles === undefined ? [agent.digest] : [agent.digest, suiteFiles.digest];
}

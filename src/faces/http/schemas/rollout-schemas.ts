import type { Readable } from 'node:stream';
import { z } from 'zod';
import { deliveredGroupSchema } from '../../../agents/rollouts/streams/delivered-group.ts';
import { memberResultSchema } from '../../../agents/rollouts/streams/member-result.ts';
import { ACKNOWLEDGEMENTS, GROUP_STATES, STREAM_STATES } from '../../../agents/rollouts/streams/rollout-streams.ts';
import { isStreamId } from '../../../agents/rollouts/streams/stream-ids.ts';
import { givenTermsSchema, groupTermsSchema } from '../../../agents/rollouts/streams/stream-order.ts';
import { checkpointReferenceSchema, suiteReferenceSchema } from './evaluation-schemas.ts';

const count = z.int().min(0);
const moment = z.string().describe('RFC 3339');

export const policyNameSchema = z
  .string()
  .min(1)
  .max(500)
  .regex(new RegExp(String.raw`^[^\u0000]*$`), 'expected text without NUL characters');

export const newRolloutsSchema = givenTermsSchema
  .extend({
    suite: suiteReferenceSchema,
    agent: checkpointReferenceSchema.describe('the file that says what the model is: where it is (`uri`), or what it contains (`sha256`)'),
    policy: policyNameSchema
      .optional()
      .describe('what the trainer calls the policy that it trains; the model of the agent when it is left out'),
  })
  .describe('NewRollouts');

export const streamParamsSchema = z.object({
  id: z.string().refine(isStreamId, 'expected the id of a stream: "ro-" and lower-case letters, digits and "-"'),
});

const countsSchema = z.strictObject({
  begun: count,
  ready: count.describe('finished, and not acknowledged'),
  acknowledged: count,
  filtered: count.describe('that no trainer gets: all core rewards were the same, or there was none'),
  stale: count.describe('that were cancelled, as the policy had become too new for them'),
  trajectories: count.describe('that have ended'),
});

export const rolloutsSchema = z
  .strictObject({
    id: z.string(),
    principal: z.string(),
    suite: z.string(),
    agent: z.string().describe('digest of the file'),
    policy: z.string(),
    terms: groupTermsSchema,
    state: z.enum(STREAM_STATES),
    problem: z.string().nullable().describe('why it failed; while it runs, what went wrong last'),
    createdAt: moment,
    endedAt: moment.nullable(),
    groups: countsSchema,
  })
  .describe('Rollouts');

export type RolloutsResource = z.infer<typeof rolloutsSchema>;

const boardGroupSchema = z
  .strictObject({
    group: z.string(),
    number: count,
    state: z.enum(GROUP_STATES),
    task: z.string().nullable().describe('null until it is ready'),
    wanted: count.describe('trajectories that it is to have'),
    members: z
      .array(memberResultSchema.extend({ rep: count }))
      .describe('trajectories that have ended, with their rewards; forgotten once the group is acknowledged or no trainer gets it'),
    mean: z.number().nullable().describe('of the rewards, once it is ready'),
    advantages: z.array(z.number().nullable()).describe('by position in the group, once it is ready'),
    versions: z.strictObject({ oldest: z.int().nullable(), newest: z.int().nullable() }).nullable(),
    staleness: count.nullable().describe('versions that were reported since the oldest one of it; null once no trainer gets it any more'),
    leases: count.describe('how often it was leased'),
    leasedUntil: moment.nullable().describe('while a trainer has it'),
  })
  .describe('a group, without its trajectories');

export const boardSchema = z
  .strictObject({
    stream: rolloutsSchema,
    versions: z.strictObject({
      reported: count.describe('how often a version was reported since the stream began'),
      last: z.int().nullable().describe('the last of these'),
    }),
    capacity: z.strictObject({
      trajectories: count.describe('that have not ended'),
      mostTrajectories: count.describe('`concurrency` of the stream'),
      waiting: count.describe('groups that wait for the trainer'),
      mostWaiting: count.describe('with so many, none is begun'),
      untilNextVersion: count.describe('groups that may begin before the trainer tells the next version'),
    }),
    groups: z.array(boardGroupSchema).describe('the sixty that were begun last, latest first'),
  })
  .describe('RolloutBoard');

export type BoardResource = z.infer<typeof boardSchema>;

/** The schema does not check the stream while it is sent. */
export const boardStreamSchema = z.custom<Readable>().meta({
  type: 'object',
  description: 'one event of the stream',
  properties: { event: { const: 'board' }, data: { type: 'string', contentMediaType: 'application/json', description: 'a RolloutBoard' } },
});

export const rolloutListQuerySchema = z.strictObject({ limit: z.coerce.number().int().min(1).max(200).default(50) });
export const rolloutListSchema = z.strictObject({ items: z.array(rolloutsSchema).describe('latest first') }).describe('RolloutsList');

const MOST_LEASE_SECONDS = 604_800;

export const groupsQuerySchema = z.strictObject({
  after: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .default(0)
    .describe('only groups with a greater cursor; a group that comes again has the one that it had'),
  lease: z.coerce
    .number()
    .int()
    .min(1)
    .max(MOST_LEASE_SECONDS)
    .default(600)
    .describe('seconds for which no other gets the group; after them, a group that is not acknowledged comes again'),
  limit: z.coerce.number().int().min(1).max(100).default(1).describe('groups at most; without effect on a stream of lines'),
  wait: z.coerce.number().int().min(0).default(0).describe('seconds to wait for a group; without effect on a stream of lines'),
});

export const groupsSchema = z
  .strictObject({ items: z.array(deliveredGroupSchema), state: z.enum(STREAM_STATES), problem: z.string().nullable() })
  .describe('Groups');

const MOST_ACKNOWLEDGED = 10_000;

export const acknowledgeSchema = z
  .strictObject({
    groups: z
      .array(z.strictObject({ group: z.string().min(1).max(200), lease: z.int().min(0).max(Number.MAX_SAFE_INTEGER) }))
      .min(1)
      .max(MOST_ACKNOWLEDGED),
  })
  .describe('Acknowledgements');

export const acknowledgedSchema = z
  .strictObject({
    items: z.array(
      z.strictObject({
        group: z.string(),
        result: z
          .enum(ACKNOWLEDGEMENTS)
          .describe('late: it was leased again since, and another may have it; unknown: there is none, or it never had that lease'),
      }),
    ),
  })
  .describe('AcknowledgedGroups');

export const policyParamsSchema = z.object({ name: policyNameSchema });

export const newVersionSchema = z
  .strictObject({
    version: z.int().min(0).max(Number.MAX_SAFE_INTEGER).describe('it grows: a training step, or a number of its own'),
    endpoint: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("where it is from now on: a name from the server's models.endpoints; the agent's own endpoint when it is left out"),
  })
  .describe('NewPolicyVersion');

export const reportedVersionSchema = z
  .strictObject({ policy: z.string(), version: count, ordinal: count.describe('how often a version of it was reported') })
  .describe('PolicyVersion');

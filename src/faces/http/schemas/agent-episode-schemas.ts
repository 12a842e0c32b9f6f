import { z } from 'zod';
import { observationSchema } from '../../../agents/actions/observation.ts';
import { limitsSchema, remainingSchema, stepAnswerSchema } from '../../../agents/arena/episode-answers.ts';
import { isAgentEpisodeId } from '../../../agents/arena/episode-ids.ts';
import { END_CAUSES, OUTCOMES } from '../../../agents/arena/episode-state.ts';
import { isTaskId } from '../../../agents/tasks/task-ids.ts';

const taskName = z
  .string()
  .max(260)
  .refine(isTaskId, 'expected "name" or "org/name"')
  .describe('id of a task, or the name of its directory');
export const agentName = z
  .string()
  .min(1)
  .max(200)
  .regex(new RegExp(String.raw`^[^\u0000]*$`), 'expected text without NUL characters')
  .describe('as you call it: episodes can be listed by it');
const seed = z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe('kept with the episode, for agents that draw');

export const newEpisodeSchema = z.strictObject({ task: taskName, agent: agentName, seed }).describe('NewAgentEpisode');
export const newGymEpisodeSchema = z.strictObject({ task_id: taskName, agent_id: agentName, seed });

export const episodeParamsSchema = z.object({
  id: z.string().refine(isAgentEpisodeId, 'expected the id of an episode: "ep-" and lower-case letters, digits and "-"'),
});

/** Errors in an action are for the agent to see, so that only the number of the step is checked here. */
export const stepBodySchema = z
  .looseObject({
    step: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .describe('number that you believe to be next; a step that is sent again has the same answer'),
    action: z.unknown().describe('name of the action; its fields stand beside it: see `actions` of the answer that began the episode'),
  })
  .describe('an action, such as {"action": "run", "command": "pytest -q"}');

/** No episode has more. */
export const MOST_STEPS = 1_000_000_000;

const moment = z.string().describe('RFC 3339');

export const agentEpisodeSchema = z
  .strictObject({
    episode: z.string(),
    task: z.string(),
    taskDigest: z.string(),
    agent: z.string(),
    principal: z.string(),
    seed: z.int(),
    origin: z
      .strictObject({ episode: z.string(), step: z.int().min(0) })
      .nullable()
      .describe('the episode that it was forked from, and the step behind which it goes on'),
    state: z.enum(['open', 'grading', 'closed']),
    steps: z.int().min(0).describe('that were answered'),
    endedBy: z.enum(END_CAUSES).nullable(),
    outcome: z.enum(OUTCOMES).nullable(),
    reward: z.number().nullable(),
    limits: limitsSchema,
    remaining: remainingSchema,
    createdAt: moment,
    touchedAt: moment,
    closedAt: moment.nullable(),
  })
  .describe('AgentEpisode');

export const startedEpisodeSchema = z.strictObject({
  episode: z.string(),
  observation: observationSchema,
  limits: limitsSchema,
  actions: z
    .array(
      z.strictObject({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()).describe('JSON Schema') }),
    )
    .describe('what the agent may do, as tools of a chat completion have it'),
  links: z.strictObject({ self: z.string(), steps: z.string(), reward: z.string(), events: z.string() }),
});

export const startedGymEpisodeSchema = startedEpisodeSchema.extend({ episode_id: z.string() });

export const gradingSchema = z
  .strictObject({ episode: z.string(), state: z.literal('grading') })
  .describe('it is still being graded: try again');

export const episodeListQuerySchema = z.strictObject({
  task: z.string().max(260).optional(),
  agent: agentName.optional(),
  state: z.enum(['open', 'grading', 'closed']).optional(),
  leastReward: z.coerce.number().min(0).optional().describe('those with this reward or a higher one'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  after: z.string().min(1).max(1024).optional().describe('`next` of the page before'),
});

export const episodePageSchema = z.strictObject({ items: z.array(agentEpisodeSchema), next: z.string().nullable() });

export const rewardQuerySchema = z.strictObject({
  wait: z.coerce.number().min(0).max(3600).default(0).describe('seconds to wait for the verdict, at most'),
});

export const stepsQuerySchema = z.strictObject({
  after: z.coerce.number().int().min(0).max(1_000_000_000).default(0).describe('number of a step: those behind it'),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

export const storedStepsSchema = z.strictObject({
  items: z.array(
    z.strictObject({
      action: z.unknown().describe('as it was sent'),
      answer: stepAnswerSchema,
      digest: z.string().describe('of the body'),
      at: moment,
    }),
  ),
});

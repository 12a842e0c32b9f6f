import { z } from 'zod';

/** Increased when a reader of an earlier record would misread a new one. */
export const TRAJECTORY_FORMAT = 1;

const count = z.int().min(0);
const moment = z.iso.datetime();
const tokenIds = z.array(count);

const toolCallSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  arguments: z.string().describe('as the model wrote them: JSON, unless the model made a mistake'),
});

const observationSchema = z
  .strictObject({
    toolCall: z.string().nullable().describe('id of the call that it answers; null for a remark on the whole turn'),
    text: z.string(),
  })
  .describe('what the model received');

const turnTokensSchema = z
  .strictObject({
    segment: count.describe('position in `segments`'),
    prompt: count.describe('the prompt is the first so many ids of the segment'),
    completion: count.describe('the completion is the next so many ids'),
  })
  .describe('where the tokens of the turn are');

const turnSchema = z.strictObject({
  message: z.strictObject({ content: z.string(), reasoning: z.string().nullable() }).describe('of the model'),
  toolCalls: z.array(toolCallSchema),
  observations: z.array(observationSchema),
  finishReason: z.string().describe('as the server says it'),
  tokens: turnTokensSchema.nullable().describe('null when the server gave no token ids'),
  policyVersion: z.int().nullable().describe('of the policy that sampled it, where it is known'),
  usage: z.strictObject({ promptTokens: count, completionTokens: count, cachedTokens: count }),
  startedAt: moment,
  endedAt: moment.describe('of the completion; the observations come later'),
});

const segmentSchema = z
  .strictObject({
    ids: tokenIds,
    lossMask: z.array(z.union([z.literal(0), z.literal(1)])).describe('1 for what the model sampled here'),
    logprobs: z.array(z.number()).nullable().describe('natural logarithms; 0 where the mask is 0; null when the server gave none'),
    versions: z.array(z.int()).describe('of the policy; -1 where the mask is 0 or it is not known'),
  })
  .describe('a sequence of tokens as the model saw and sampled it; the lists are of one length');

export const TRAJECTORY_STATUSES = ['completed', 'truncated', 'failed', 'cancelled'] as const;

/** Why an agent stopped. The first two end a trajectory that is complete. */
export const STOP_REASONS = [
  'submitted',
  'script-ended',
  'no-action',
  'turns',
  'context',
  'time',
  'out-of-memory',
  'program-failed',
  'refused',
  'cancelled',
] as const;

export const trajectorySchema = z
  .strictObject({
    format: z.literal(TRAJECTORY_FORMAT),
    trajectory: z.string().describe('its id'),
    task: z.string(),
    taskDigest: z.string(),
    group: z.string().nullable().describe('id of the group that it is a member of'),
    rep: count.describe('position in the group; of an evaluation, the index of the episode'),
    seed: count.describe('of the sampling'),
    taskSeed: count.describe('decides the hidden cases of the task'),
    agent: z.string().describe('digest of the file that says what the agent is'),
    model: z.string().nullable().describe('as the server calls it'),
    tools: z.array(z.strictObject({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.json()) })),
    prompt: z.array(z.strictObject({ role: z.enum(['system', 'user']), content: z.string() })).describe('messages before the first turn'),
    turns: z.array(turnSchema),
    segments: z.array(segmentSchema),
    rewritten: z
      .boolean()
      .exactOptional()
      .describe(
        'whether a program has changed or left out what stood in the conversation before: then only the segments say what the model saw',
      ),
    reward: z.number().nullable().describe('null when there is no verdict: no part of any statistic'),
    components: z.record(z.string(), z.number()).describe('of the verdict; `correctness` is the core'),
    verdict: z.string().nullable().describe('text that says what did not pass; null when there is no verdict'),
    status: z.enum(TRAJECTORY_STATUSES),
    stopReason: z.enum(STOP_REASONS),
    timings: z.strictObject({
      startedAt: moment,
      endedAt: moment,
      modelSeconds: z.number(),
      actionSeconds: z.number(),
      gradingSeconds: z.number().exactOptional().describe('at the end; left out where nothing was graded'),
    }),
    usage: z.strictObject({ promptTokens: count, completionTokens: count, cachedTokens: count }).describe('of all turns'),
  })
  .describe('a trajectory of an agent on a task, as Muster keeps it');

export type Trajectory = z.infer<typeof trajectorySchema>;
export type Turn = z.infer<typeof turnSchema>;
export type ToolCall = z.infer<typeof toolCallSchema>;
export type StopReason = (typeof STOP_REASONS)[number];
export type TrajectoryStatus = (typeof TRAJECTORY_STATUSES)[number];
export type Usage = Trajectory['usage'];

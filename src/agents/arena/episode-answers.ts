import { z } from 'zod';
import { observationSchema } from '../actions/observation.ts';
import { END_CAUSES, OUTCOMES } from './episode-state.ts';
import { rewardTermsSchema } from '../tasks/arena-rules.ts';
import { rewardComponentsSchema } from './reward.ts';

/** The answers to an agent. Their texts are stored, and repeated requests get the same bytes. */

const amount = z.number().min(0);

export const limitsSchema = z
  .strictObject({
    steps: z.int().min(1),
    seconds: amount.describe('while a step is carried out; waiting costs nothing'),
    bytesWritten: amount.describe('by actions on files'),
    output: amount.describe('characters of observations'),
    idleSeconds: amount.describe('without a step, after which the episode is given up'),
  })
  .describe('what an episode may use');

export const remainingSchema = z
  .strictObject({ steps: z.int().min(0), seconds: amount, bytesWritten: amount, output: amount })
  .describe('what is left of the limits');

export const stepAnswerSchema = z
  .strictObject({
    step: z.int().min(1),
    observation: observationSchema,
    done: z.boolean().describe('whether the episode takes no more steps'),
    truncated: z.boolean().describe('whether a limit has ended it'),
    remaining: remainingSchema,
    notice: z.string().nullable().describe('what has happened to the workspace beside the action: processes that are gone'),
  })
  .describe('AgentStep');

export const rewardSchema = z
  .strictObject({
    episode: z.string(),
    outcome: z.enum(OUTCOMES).describe('failed: nothing was submitted. void: there is no reward, through no fault of the agent'),
    endedBy: z.enum(END_CAUSES),
    reward: z.number().min(0).nullable(),
    tests_passed: z.int().min(0),
    total_tests: z.int().min(0),
    components: rewardComponentsSchema.nullable(),
    weights: rewardTermsSchema,
    seed: z.string().describe('of the verdict: it can be taken again'),
    verifierDigest: z.string().nullable(),
    stages: z
      .array(z.strictObject({ stage: z.string(), outcome: z.string() }))
      .describe('of the verdict; what it compared stays with the verifier'),
    problem: z.string().nullable().describe('why there is no reward'),
  })
  .describe('AgentReward');

export type StepAnswer = z.infer<typeof stepAnswerSchema>;
export type RewardAnswer = z.infer<typeof rewardSchema>;

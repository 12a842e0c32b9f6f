import { z } from 'zod';
import { STOP_REASONS } from '../../rollouts/record/trajectory.ts';
import { verdictSchema } from '../../verification/verdict.ts';

/** What an agent did in an episode of an evaluation, for people: tool calls with their answers, their changes, the verdict. */

const diffSchema = z
  .strictObject({
    files: z.array(
      z.strictObject({
        path: z.string(),
        change: z.enum(['added', 'changed', 'removed']),
        isShown: z.boolean().describe('whether the patch shows it'),
      }),
    ),
    patch: z.string().describe('unified'),
  })
  .describe('what has become of the files of the workspace');

const callSchema = z.strictObject({
  name: z.string().describe('of the tool'),
  arguments: z.string().describe('JSON, unless a model made a mistake'),
  answer: z.string().nullable().describe('what the agent received; null when it was not carried out'),
  diff: diffSchema.nullable().describe('null where it is not known what this call alone has changed'),
});

const turnSchema = z.strictObject({
  content: z.string().describe('of the model'),
  reasoning: z.string().nullable(),
  calls: z.array(callSchema),
  remarks: z.array(z.string()).describe('what the model received beside the answers'),
  at: z.iso.datetime().nullable().describe('when the model was asked; null where none was'),
});

const judgedSchema = verdictSchema
  .pick({ reward: true, problem: true, gate: true, components: true, stages: true })
  .extend({ passed: z.int().min(0).describe('tests'), total: z.int().min(0) });

const stepSchema = z
  .strictObject({
    name: z.string(),
    model: z.string().nullable(),
    prompt: z.array(z.strictObject({ role: z.enum(['system', 'user']), content: z.string() })),
    turns: z.array(turnSchema),
    rest: diffSchema.nullable().describe('what has changed beside the calls: all that a program has done'),
    stopReason: z.enum(STOP_REASONS),
    printed: z.string().nullable().describe('by an agent that is a program'),
    verdict: judgedSchema.nullable().describe('null when there was nothing to grade'),
  })
  .describe('a step of the task; most tasks have one');

export const transcriptSchema = z
  .strictObject({
    format: z.literal(1),
    steps: z.array(stepSchema),
    omitted: z.int().min(0).describe('characters that were left out of long texts'),
  })
  .describe('what an agent did in an episode');

export type Transcript = z.infer<typeof transcriptSchema>;
export type TranscriptStep = z.infer<typeof stepSchema>;
export type TranscriptTurn = z.infer<typeof turnSchema>;

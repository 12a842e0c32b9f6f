import { z } from 'zod';

/** An agent outside of Muster, which requests episodes over HTTP. */
export const externalAgentSchema = z.strictObject({
  agent: z.literal('external'),
  name: z.string().min(1).max(200).describe('as you call it: another name, or another version, is another agent'),
  version: z.string().max(200).optional().describe('tells apart what has one name'),
  listen: z
    .string()
    .regex(/^(?:[\w.-]+|\[[0-9a-fA-F:]+\]):\d{1,5}$/, 'expected an address and a port, such as 127.0.0.1:7700')
    .describe('where Muster listens for it while the evaluation is played'),
  keyVariable: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, 'expected the name of an environment variable')
    .optional()
    .describe('environment variable with the key that it has to send; needed where `listen` is not this machine alone'),
  steps: z.int().min(1).max(100_000).default(250).describe('of an episode at most'),
  idleSeconds: z.number().positive().max(86_400).default(1800).describe('without a step, after which an episode is graded as it is'),
  patienceSeconds: z.number().positive().max(31_536_000).default(600).describe('for which an episode waits to be taken'),
});

export type ExternalAgent = z.infer<typeof externalAgentSchema>;

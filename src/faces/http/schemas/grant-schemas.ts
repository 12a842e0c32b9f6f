import { z } from 'zod';
import { checkpointParamsSchema } from './checkpoint-schemas.ts';

const principalSchema = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._@-]{0,62}$/,
    'expected 1 to 63 lower-case letters, digits, ".", "_", "@" and "-", beginning with a letter or digit',
  );

export const newGrantSchema = z.strictObject({ principal: principalSchema.describe('who may use the checkpoint') }).describe('NewGrant');

export const grantParamsSchema = checkpointParamsSchema.extend({ principal: principalSchema });

export const grantSchema = z
  .strictObject({
    sha256: z.string(),
    principal: z.string().describe('who may use the checkpoint'),
    grantedBy: z.string().describe('who allowed it'),
    at: z.iso.datetime(),
  })
  .describe('the right of a principal to use a checkpoint that another principal has sent');

export const grantListSchema = z.strictObject({ items: z.array(grantSchema).describe('by principal') });

export type Grant = z.infer<typeof grantSchema>;

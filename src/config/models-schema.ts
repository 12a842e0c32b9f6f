import { z } from 'zod';

const endpointSchema = z.strictObject({
  url: z
    .string()
    .regex(/^https?:\/\/[^\s?#]+$/, 'expected an http: or https: URL, such as http://127.0.0.1:8000/v1')
    .describe('base URL of an API like the one of OpenAI, with its version'),
  keyVariable: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, 'expected the name of an environment variable')
    .optional()
    .describe("environment variable of Muster's own with the key"),
});

export const modelsSchema = z
  .strictObject({
    endpoints: z
      .record(z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'expected 1 to 63 lower-case letters, digits or "-"'), endpointSchema)
      .describe('servers that agents may name; on a server of Muster they may use no others'),
    concurrency: z.int().min(1).max(100_000).describe('requests to one server at a time'),
    answerSeconds: z.number().positive().max(86_400).describe('for one answer'),
    patienceSeconds: z.number().positive().max(31_536_000).describe('for one answer with all waits and repetitions'),
  })
  .describe('servers of the models that act as agents');

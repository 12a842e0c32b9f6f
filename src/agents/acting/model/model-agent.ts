import { z } from 'zod';

const url = z.string().regex(/^https?:\/\/[^\s?#]+$/, 'expected an http: or https: URL, such as http://127.0.0.1:8000/v1');
const name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'expected the name of an endpoint in the configuration');

/** A sampling of the server: what is left out is the server's to choose. */
const samplingSchema = z
  .strictObject({
    temperature: z.number().min(0).max(10).optional().describe('0: the most likely token each time'),
    topP: z.number().gt(0).max(1).optional().describe('only the most likely tokens that have this probability together are sampled'),
    maxTokens: z.int().min(1).max(10_000_000).optional().describe('of one answer'),
    stop: z.array(z.string().min(1)).max(16).optional().describe('texts that end an answer'),
  })
  .describe("how the model samples; the server's own defaults for what is left out");

/** Shared by agents with a model behind a server with OpenAI's chat completions. */
const SERVED_MODEL = {
  endpoint: z.union([url, name]).describe('URL that ends before /chat/completions, or a name from models.endpoints of the configuration'),
  model: z.string().min(1).max(500).describe('as the server calls it'),
  version: z.string().max(200).optional().describe("names the weights where the model's name does not: another version is another agent"),
  keyVariable: z
    .string()
    .regex(/^[A-Za-z_]\w*$/, 'expected the name of an environment variable')
    .optional()
    .describe('environment variable with the key for a URL; never the key itself'),
  turns: z.int().min(1).max(1000).default(30).describe('answers of the model at most'),
  contextTokens: z
    .int()
    .min(1)
    .max(100_000_000)
    .optional()
    .describe('the episode ends when a turn has had so many, prompt and answer together'),
  sampling: samplingSchema.default({}),
  extra: z.record(z.string(), z.json()).default({}).describe('further fields of each request, as the server takes them'),
  tokenIds: z
    .enum(['none', 'vllm', 'sglang'])
    .default('none')
    .describe('which server is asked for the ids and log-probabilities of tokens; training needs them'),
};

/** A model that acts on a task through tools. */
export const modelAgentSchema = z.strictObject({
  agent: z.literal('model'),
  ...SERVED_MODEL,
  tools: z.enum(['actions', 'bash']).default('actions').describe('actions: those of the arena; bash: one tool that runs a command'),
  system: z.string().max(100_000).optional().describe('system message, in place of the one that Muster has'),
});

/** A command-line program that acts in the workspace, and queries the model by itself. */
export const programAgentSchema = z.strictObject({
  agent: z.literal('program'),
  ...SERVED_MODEL,
  command: z
    .array(z.string().max(100_000))
    .min(1)
    .max(1000)
    .describe(
      'the program and its arguments, as the workspace sees them; {instruction}, {workdir} and {model} stand for those of the episode',
    ),
  environment: z
    .record(z.string().regex(/^[A-Za-z_]\w*$/, 'expected the name of an environment variable'), z.string().max(100_000))
    .default({})
    .describe('further variables of the program; keys do not belong here'),
});

export type ModelAgent = z.infer<typeof modelAgentSchema>;
export type ProgramAgent = z.infer<typeof programAgentSchema>;
/** A request to a model server. */
export type ServedModel = Pick<ModelAgent, 'endpoint' | 'model' | 'keyVariable' | 'sampling' | 'extra' | 'tokenIds'>;

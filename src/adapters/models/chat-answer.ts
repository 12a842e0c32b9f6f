import { z } from 'zod';
import type { Completion } from '../../agents/acting/model/model-endpoint.ts';
import type { SampledTurn } from '../../agents/rollouts/record/sampled-tokens.ts';
import { UnusableAnswerError } from './model-server.ts';

/** The fields of a chat completion that Muster reads; servers add more. Token ids are where vLLM and SGLang put them. */

/**
 * The token ids of a conversation, which are read in each turn. zod's own arrays check and copy each number, which would be most of the
 * cost of reading an answer.
 */
const ids = z
  .custom<readonly number[]>((value) => Array.isArray(value) && value.every(isTokenId), 'expected whole numbers from 0 on')
  .nullish();

/** One number for each token of the answer. */
const logprobs = z
  .custom<readonly { readonly logprob: number }[]>((value) => Array.isArray(value) && value.every(hasLogprob), 'expected log-probabilities')
  .nullish();

const toolCallSchema = z.object({
  id: z.string().nullish(),
  function: z.object({ name: z.string(), arguments: z.string().nullish() }),
});

const messageSchema = z.object({
  content: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  tool_calls: z.array(toolCallSchema).nullish(),
});

const metaSchema = z.object({
  output_token_logprobs: z.array(z.tuple([z.number(), z.int().min(0)]).rest(z.unknown())).nullish(),
  weight_version: z.union([z.string(), z.number()]).nullish(),
});

const choiceSchema = z.object({
  message: messageSchema,
  finish_reason: z.string().nullish(),
  token_ids: ids,
  response_token_ids: ids,
  prompt_token_ids: ids,
  logprobs: z.object({ content: logprobs }).nullish(),
  meta_info: metaSchema.nullish(),
});

const answerSchema = z.object({
  model: z.string(),
  choices: z.array(choiceSchema).min(1),
  prompt_token_ids: ids,
  usage: z
    .object({
      prompt_tokens: z.int().min(0),
      completion_tokens: z.int().min(0).nullish(),
      prompt_tokens_details: z.object({ cached_tokens: z.int().min(0).nullish() }).nullish(),
    })
    .nullish(),
});

type Answer = z.infer<typeof answerSchema>;
type Choice = Answer['choices'][number];

function isTokenId(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function hasLogprob(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'logprob' in value && Number.isFinite(value.logprob);
}

/** @throws UnusableAnswerError */
export function readChatAnswer(value: unknown): Completion {
  const parsed = answerSchema.safeParse(value);
  if (!parsed.success) throw new UnusableAnswerError(`it is no chat completion: ${describe(parsed.error)}`);
  const answer = parsed.data;
  const [choice] = answer.choices;
  if (choice === undefined) throw new UnusableAnswerError('it has no choices');
  const { message, finish_reason: finishReason } = choice;
  const tokens = getTokens(answer, choice);
  return {
    kind: 'message',
    content: message.content ?? '',
    reasoning: message.reasoning_content ?? message.reasoning ?? null,
    toolCalls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }, i) => ({
      id: id ?? `call-${i + 1}`,
      name,
      arguments: text ?? '',
    })),
    finishReason: finishReason ?? 'unknown',
    usage: {
      promptTokens: answer.usage?.prompt_tokens ?? tokens?.promptIds.length ?? 0,
      completionTokens: answer.usage?.completion_tokens ?? tokens?.completionIds.length ?? 0,
      cachedTokens: answer.usage?.prompt_tokens_details?.cached_tokens ?? 0,
    },
    model: answer.model,
    tokens,
  };
}

/** @throws UnusableAnswerError when there is not one log-probability for each token. */
function getTokens(answer: Answer, choice: Choice): SampledTurn | undefined {
  const sampled = choice.meta_info?.output_token_logprobs;
  const promptIds = answer.prompt_token_ids ?? choice.prompt_token_ids;
  const completionIds = choice.token_ids ?? choice.response_token_ids ?? sampled?.map(([, id]) => id);
  if (!promptIds || !completionIds) return undefined;
  const logprobs = choice.logprobs?.content?.map(({ logprob }) => logprob) ?? sampled?.map(([logprob]) => logprob);
  if (logprobs && logprobs.length !== completionIds.length)
    throw new UnusableAnswerError(`it has ${completionIds.length} tokens and ${logprobs.length} log-probabilities`);
  return { promptIds, completionIds, logprobs, version: readVersion(choice) };
}

/** Versions are steps of a training: whole numbers. */
function readVersion({ meta_info: meta }: Choice): number | undefined {
  const version = Number(meta?.weight_version ?? Number.NaN);
  return Number.isSafeInteger(version) && version >= 0 ? version : undefined;
}

function describe({ issues }: z.ZodError): string {
  return issues
    .slice(0, 3)
    .map(({ path, message }) => `${path.join('.') || 'the answer'}: ${message}`)
    .join('; ');
}

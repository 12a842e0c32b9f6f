import { z } from 'zod';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { Completion } from './model-endpoint.ts';

/** A turn of an unfinished episode. */
export interface StoredTurn {
  /** Digest of the whole request: conversation, tools and seed. */
  readonly request: string;
  readonly answer: Completion;
}

/**
 * Answers of models in unfinished episodes, so that an episode that is played again does not request them twice. What `add` has resolved survives the
 * end of a Muster. Each method throws InfrastructureError when the store fails or is too slow.
 */
export interface EpisodeTurns {
  /** Reads the turns of one episode, in any order. */
  read(episode: string): Promise<readonly StoredTurn[]>;

  /** Adds a turn, unless its request has an answer already. */
  add(episode: string, turn: StoredTurn): Promise<void>;

  /** Forgets the turns of an episode that has ended. */
  forget(episode: string): Promise<void>;
}

export interface StoredTurns extends EpisodeTurns {
  /** Removes turns that were stored at least this many milliseconds ago: their episodes are no longer played. */
  forgetOld(milliseconds: number): Promise<void>;
}

const count = z.int().min(0);

const storedAnswerSchema = z.strictObject({
  kind: z.literal('message'),
  content: z.string(),
  reasoning: z.string().nullable(),
  toolCalls: z.array(z.strictObject({ id: z.string(), name: z.string(), arguments: z.string() })),
  finishReason: z.string(),
  usage: z.strictObject({ promptTokens: count, completionTokens: count, cachedTokens: count }),
  model: z.string(),
  tokens: z
    .strictObject({
      promptIds: z.array(count).readonly(),
      completionIds: z.array(count).readonly(),
      logprobs: z.array(z.number()).readonly().nullable(),
      version: z.int().nullable(),
    })
    .nullable(),
});

export type StoredAnswer = z.infer<typeof storedAnswerSchema>;

export function formatStoredAnswer({ tokens, toolCalls, ...rest }: Completion): StoredAnswer {
  const stored = tokens && { ...tokens, logprobs: tokens.logprobs ?? null, version: tokens.version ?? null };
  return { ...rest, toolCalls: [...toolCalls], tokens: stored ?? null };
}

/** @throws InfrastructureError `store.unreadable` when this Muster does not know it. */
export function parseStoredAnswer(value: unknown): Completion {
  const parsed = storedAnswerSchema.safeParse(value);
  if (!parsed.success)
    throw new InfrastructureError(
      'store.unreadable',
      'a turn of an episode has a form that this version of Muster does not know; was it stored by a newer version?',
    );
  const { tokens, ...rest } = parsed.data;
  if (tokens === null) return { ...rest, tokens: undefined };
  return { ...rest, tokens: { ...tokens, logprobs: tokens.logprobs ?? undefined, version: tokens.version ?? undefined } };
}

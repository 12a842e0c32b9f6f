import { z } from 'zod';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { Completion } from './model-endpoint.ts';

/** A turn of an episode that is under way. */
export interface StoredTurn {
  /** Digest of all that the model was asked with: conversation, tools and seed. */
  readonly request: string;
  readonly answer: Completion;
}

/**
 * What models have answered in episodes that are under way, so that an episode that is played again asks for none of it a second time. What `add` has
 * resolved for survives the end of a Muster. Each throws InfrastructureError when the store cannot do it, or not in time.
 */
export interface EpisodeTurns {
  /** Of one episode, in any order. */
  read(episode: string): Promise<readonly StoredTurn[]>;

  /** The first answer to a request stays. */
  add(episode: string, turn: StoredTurn): Promise<void>;

  /** The episode has ended. */
  forget(episode: string): Promise<void>;
}

export interface StoredTurns extends EpisodeTurns {
  /** Turns that were stored so many milliseconds ago or longer: nothing plays their episodes any more. */
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

/** As JSON has it. */
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
      'a turn of an episode is stored in a way that this Muster does not know; was it stored by a newer one?',
    );
  const { tokens, ...rest } = parsed.data;
  if (tokens === null) return { ...rest, tokens: undefined };
  return { ...rest, tokens: { ...tokens, logprobs: tokens.logprobs ?? undefined, version: tokens.version ?? undefined } };
}

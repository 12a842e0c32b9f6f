import type { z } from 'zod';
import type { RewardAnswer, StepAnswer } from '../../../../agents/arena/episode-answers.ts';
import type { agentEpisodeSchema } from '../../../http/schemas/agent-episode-schemas.ts';
import type { diffSchema } from '../../../http/schemas/episode-branch-schemas.ts';

/** Episodes of agents, as the page knows them. */

export type AgentEpisode = z.infer<typeof agentEpisodeSchema>;
export type EpisodeDiff = z.infer<typeof diffSchema>;

export interface StoredStep {
  /** The action as it was received. */
  readonly action: unknown;
  readonly answer: StepAnswer;
  readonly at: string;
}

/** The agent's episode in view. */
export interface Transcript {
  readonly id: string;
  /** Null when there is none with this id, undefined while it is read. */
  readonly episode: AgentEpisode | null | undefined;
  readonly steps: readonly StoredStep[];
  readonly reward: RewardAnswer | undefined;
  /** The changes of a step, by its number, where the reader has requested them. */
  readonly diffs: ReadonlyMap<number, EpisodeDiff | 'reading'>;
}

export function createTranscript(id: string): Transcript {
  return { id, episode: undefined, steps: [], reward: undefined, diffs: new Map() };
}

/** Reads the name of the tool, and what it was given, a line each. Any JSON may have been sent. */
export function readToolCall(action: unknown): { readonly name: string; readonly fields: readonly (readonly [string, string])[] } {
  if (typeof action !== 'object' || action === null) return { name: 'no action', fields: [['sent', formatValue(action)]] };
  const entries = Object.entries(action);
  const name = entries.find(([key]) => key === 'action')?.[1];
  return {
    name: typeof name === 'string' ? name : 'no action',
    fields: entries.filter(([key]) => key !== 'action').map(([key, value]) => [key, formatValue(value)] as const),
  };
}

/** Reads arguments that a model wrote: JSON, unless the model made a mistake. */
export function readArguments(text: string): readonly (readonly [string, string])[] {
  try {
    const given: unknown = JSON.parse(text);
    if (typeof given === 'object' && given !== null && !Array.isArray(given))
      return Object.entries(given).map(([name, value]) => [name, formatValue(value)] as const);
  } catch {
    // Text that is no JSON is shown unchanged.
  }
  return text.trim() === '' ? [] : [['sent', text]];
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, undefined, 2) ?? '');
}

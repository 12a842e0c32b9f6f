import { z } from 'zod';
import { ACTION_NAMES } from '../../../agents/actions/action.ts';
import { parseAgentEpisodeId } from '../../../agents/arena/episode-ids.ts';
import { END_CAUSES, OUTCOMES } from '../../../agents/arena/episode-state.ts';
import { rewardTermsSchema } from '../../../agents/arena/reward.ts';
import { stepDeltaSchema } from '../../../agents/arena/step-files.ts';
import type { ClosedEpisode, NewAgentEpisode, StoredAgentEpisode, StoredStep } from '../../../agents/arena/trajectories.ts';
import { parseTaskDigest, parseTaskId } from '../../../agents/tasks/task-ids.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { dateOf, documentOf, numberOf, optional, textOf } from './schema/columns.ts';
import type { Row } from './schema/database.ts';

const measure = z.number().min(0);

const termsSchema = z.object({
  gradingSeed: z.string(),
  limits: z.object({ steps: measure, seconds: measure, bytesWritten: measure, output: measure, idleSeconds: measure }),
  actions: z.array(z.enum(ACTION_NAMES)),
  terms: rewardTermsSchema,
});

const spentSchema = z.object({ seconds: measure, bytesWritten: measure, output: measure });

/** What is fixed from the beginning on, as one document. */
export function termsText({ gradingSeed, limits, actions, terms }: NewAgentEpisode): string {
  return JSON.stringify({ gradingSeed, limits, actions, terms });
}

export function agentEpisodeOf(row: Row): StoredAgentEpisode {
  const read = termsSchema.safeParse(documentOf(row, 'terms'));
  const spent = spentSchema.safeParse(documentOf(row, 'spent'));
  const ended = z.enum(END_CAUSES).nullable().safeParse(row['ended_by']);
  const id = parseAgentEpisodeId(textOf(row, 'id'));
  if (!read.success || !spent.success || !ended.success) throw unknownForm(`episode ${id}`);
  return {
    id,
    principal: textOf(row, 'principal'),
    task: parseTaskId(textOf(row, 'task')),
    taskDigest: parseTaskDigest(textOf(row, 'task_digest')),
    agent: textOf(row, 'agent'),
    seed: numberOf(row, 'seed'),
    ...read.data,
    createdAt: dateOf(row, 'created_at'),
    touchedAt: dateOf(row, 'touched_at'),
    steps: numberOf(row, 'steps'),
    spent: spent.data,
    endedBy: ended.data ?? undefined,
    closed: closedOf(row),
  };
}

function closedOf(row: Row): ClosedEpisode | undefined {
  const at = optional(row, 'closed_at', dateOf);
  if (at === undefined) return undefined;
  const outcome = z.enum(OUTCOMES).safeParse(row['outcome']);
  if (!outcome.success) throw unknownForm('the end of an episode');
  return { at, outcome: outcome.data, reward: optional(row, 'reward', numberOf), document: textOf(row, 'document') };
}

export function agentStepOf(row: Row): StoredStep {
  const delta = stepDeltaSchema.optional().safeParse(optional(row, 'delta', documentOf));
  if (!delta.success) throw unknownForm('a step of an episode');
  return {
    number: numberOf(row, 'number'),
    digest: textOf(row, 'digest'),
    action: documentOf(row, 'action'),
    answer: textOf(row, 'answer'),
    delta: delta.data,
    at: dateOf(row, 'at'),
  };
}

function unknownForm(what: string): InfrastructureError {
  return new InfrastructureError(
    'store.unreadable',
    `${what} is stored in a way that this Muster does not know; was it stored by a newer one?`,
  );
}

import { z } from 'zod';
import { ACTION_NAMES } from '../../../agents/actions/action.ts';
import { isAgentEpisodeId, parseAgentEpisodeId } from '../../../agents/arena/episode-ids.ts';
import { END_CAUSES, OUTCOMES } from '../../../agents/arena/episode-state.ts';
import { rewardTermsSchema } from '../../../agents/tasks/arena-rules.ts';
import { stepDeltaSchema } from '../../../agents/arena/step-files.ts';
import type { ClosedEpisode, NewAgentEpisode, StoredAgentEpisode, StoredStep } from '../../../agents/arena/trajectories.ts';
import { parseTaskDigest, parseTaskId } from '../../../agents/tasks/task-ids.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { readDate, readDocument, readNumber, readOptional, readText } from './schema/columns.ts';
import type { Row } from './schema/database.ts';

const measure = z.number().min(0);

const spentSchema = z.object({ seconds: measure, bytesWritten: measure, output: measure });

const originSchema = z.object({
  lineage: z.array(z.object({ episode: z.string().refine(isAgentEpisodeId), through: z.int().min(0) })),
  spent: spentSchema,
});

const termsSchema = z.object({
  gradingSeed: z.string(),
  limits: z.object({ steps: measure, seconds: measure, bytesWritten: measure, output: measure, idleSeconds: measure }),
  actions: z.array(z.enum(ACTION_NAMES)),
  terms: rewardTermsSchema,
  gradesAbandoned: z.boolean(),
  // It is left out by an episode that is no fork.
  origin: originSchema.optional(),
});

/** Formats the constant fields, as one document. */
export function formatTerms({ gradingSeed, limits, actions, terms, gradesAbandoned, origin }: NewAgentEpisode): string {
  return JSON.stringify({ gradingSeed, limits, actions, terms, gradesAbandoned, origin });
}

export function readAgentEpisode(row: Row): StoredAgentEpisode {
  const read = termsSchema.safeParse(readDocument(row, 'terms'));
  const spent = spentSchema.safeParse(readDocument(row, 'spent'));
  const ended = z.enum(END_CAUSES).nullable().safeParse(row['ended_by']);
  const id = parseAgentEpisodeId(readText(row, 'id'));
  if (!read.success || !spent.success || !ended.success) throw createUnknownFormError(`episode ${id}`);
  return {
    id,
    principal: readText(row, 'principal'),
    task: parseTaskId(readText(row, 'task')),
    taskDigest: parseTaskDigest(readText(row, 'task_digest')),
    agent: readText(row, 'agent'),
    seed: readNumber(row, 'seed'),
    ...read.data,
    origin: read.data.origin,
    createdAt: readDate(row, 'created_at'),
    touchedAt: readDate(row, 'touched_at'),
    steps: readNumber(row, 'steps'),
    spent: spent.data,
    endedBy: ended.data ?? undefined,
    closed: getClosed(row),
  };
}

function getClosed(row: Row): ClosedEpisode | undefined {
  const at = readOptional(row, 'closed_at', readDate);
  if (at === undefined) return undefined;
  const outcome = z.enum(OUTCOMES).safeParse(row['outcome']);
  if (!outcome.success) throw createUnknownFormError('the end of an episode');
  return { at, outcome: outcome.data, reward: readOptional(row, 'reward', readNumber), document: readText(row, 'document') };
}

export function readAgentStep(row: Row): StoredStep {
  const delta = stepDeltaSchema.optional().safeParse(readOptional(row, 'delta', readDocument));
  if (!delta.success) throw createUnknownFormError('a step of an episode');
  return {
    number: readNumber(row, 'number'),
    digest: readText(row, 'digest'),
    action: readDocument(row, 'action'),
    answer: readText(row, 'answer'),
    delta: delta.data,
    at: readDate(row, 'at'),
  };
}

function createUnknownFormError(what: string): InfrastructureError {
  return new InfrastructureError(
    'store.unreadable',
    `${what} has a form that this version of Muster does not know; was it stored by a newer version?`,
  );
}

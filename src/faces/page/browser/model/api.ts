import type { ReplayDocument } from '../../../../orchestrator/replay/replay-document.ts';
import type { Transcript } from '../../../../agents/acting/transcript/transcript.ts';
import type { RewardAnswer } from '../../../../agents/arena/episode-answers.ts';
import type { PrincipalQuotas } from '../../../http/schemas/quota-schemas.ts';
import type { Ranking } from './route.ts';
import type { AgentEpisode, EpisodeDiff, StoredStep } from './transcript.ts';
import type { EpisodeLine } from '../../../http/schemas/episode-schemas.ts';
import type { EvaluationItem, EvaluationResource } from '../../../http/schemas/evaluation-schemas.ts';
import type { BoardResource, RolloutsResource } from '../../../http/schemas/rollout-schemas.ts';
import type { Playing } from '../../../http/schemas/playing-schemas.ts';
import type { Pool, PoolChange } from '../../../http/schemas/pool-schemas.ts';

/** The server's answer to a request that it refuses. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

export interface Session {
  readonly principal: string;
  readonly role: 'viewer' | 'submitter' | 'operator';
  readonly access: 'tokens' | 'off';
  readonly version: string;
}

export interface EvaluationPage {
  readonly items: readonly EvaluationItem[];
  readonly next: string | null;
}

export interface AuditEntry {
  readonly id: string;
  readonly at: string;
  readonly principal: string;
  readonly action: string;
  readonly target: string;
  readonly details: unknown;
}

export interface ListedToken {
  readonly id: string;
  readonly principal: string;
  readonly role: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

export const EPISODES_A_PAGE = 100;

export const getSession = (): Promise<Session> => ask('GET', '/v1/session');
export const beginSession = (token: string): Promise<Session> =>
  ask('POST', '/v1/session', undefined, { authorization: `Bearer ${token}` });
export const endSession = (): Promise<void> => ask('DELETE', '/v1/session');

/** Lists the evaluations, latest first. @param query of `GET /v1/evaluations`. */
export const listEvaluations = (query: Readonly<Record<string, string>>): Promise<EvaluationPage> =>
  ask('GET', `/v1/evaluations?${new URLSearchParams(query).toString()}`);

export const getEvaluation = (id: string): Promise<EvaluationResource> => ask('GET', `/v1/evaluations/${encodeURIComponent(id)}`);
export const getPlaying = (id: string): Promise<Playing> => ask('GET', `/v1/evaluations/${encodeURIComponent(id)}/playing`);
export const cancelEvaluation = (id: string): Promise<EvaluationResource> => ask('DELETE', `/v1/evaluations/${encodeURIComponent(id)}`);

export interface EpisodesQuery {
  readonly arm: number;
  /** The first index, or the first position in the ranking. */
  readonly from: number;
  readonly ranking?: Ranking;
  readonly limit?: number;
}

/** Lists episodes by index, or in the order of a ranking. */
export async function listEpisodes(
  id: string,
  { arm, from, ranking = '', limit = EPISODES_A_PAGE }: EpisodesQuery,
  signal: AbortSignal,
): Promise<readonly EpisodeLine[]> {
  const query = `arm=${arm}&from=${from}&limit=${limit}${ranking === '' ? '' : `&ranking=${ranking}`}`;
  const answer = await fetch(`/v1/evaluations/${encodeURIComponent(id)}/episodes?${query}`, { signal });
  if (!answer.ok) throw await readRefusal(answer);
  const lines = (await answer.text()).split('\n').filter((line) => line !== '');
  return lines.map((line): EpisodeLine => JSON.parse(line));
}

/** Plays an episode again. Resolves when a sandbox has been free and has played it. */
export const replayEpisode = (id: string, { index, arm }: { readonly index: number; readonly arm: number }): Promise<ReplayDocument> =>
  ask('POST', `/v1/evaluations/${encodeURIComponent(id)}/replays`, { index, arm });

/** Returns the transcript of an agent's episode; without steps when no agent played. */
export const getTranscript = (id: string, { index, arm }: { readonly index: number; readonly arm: number }): Promise<Transcript> =>
  ask('GET', `/v1/evaluations/${encodeURIComponent(id)}/transcripts/${index}?arm=${arm}`);

export const changePool = (name: string, change: PoolChange): Promise<Pool> =>
  ask('PATCH', `/v1/pools/${encodeURIComponent(name)}`, change);
export const listAudit = (): Promise<{ readonly items: readonly AuditEntry[] }> => ask('GET', '/v1/audit?limit=100');
export const listQuotas = (): Promise<{ readonly items: readonly PrincipalQuotas[] }> => ask('GET', '/v1/quotas');
export const listTokens = (): Promise<{ readonly items: readonly ListedToken[] }> => ask('GET', '/v1/tokens?limit=100');

export interface AgentEpisodePage {
  readonly items: readonly AgentEpisode[];
  readonly next: string | null;
}

const STEPS_A_PAGE = 100;
const formatAgentEpisodePath = (id: string): string => `/v1/episodes/${encodeURIComponent(id)}`;

/** Lists the latest first. */
export const listAgentEpisodes = (after: string | undefined): Promise<AgentEpisodePage> =>
  ask('GET', `/v1/episodes?limit=100${after === undefined ? '' : `&after=${encodeURIComponent(after)}`}`);
export const getAgentEpisode = (id: string): Promise<AgentEpisode> => ask('GET', formatAgentEpisodePath(id));
export const getReward = (id: string): Promise<RewardAnswer> => ask('GET', `${formatAgentEpisodePath(id)}/reward`);
/** @param after number of a step: returns at most a hundred later ones. */
export const listSteps = (id: string, after: number): Promise<{ readonly items: readonly StoredStep[] }> =>
  ask('GET', `${formatAgentEpisodePath(id)}/steps?after=${after}&limit=${STEPS_A_PAGE}`);
/** Returns the changes of one step. */
export const getDiff = (id: string, step: number): Promise<EpisodeDiff> =>
  ask('GET', `${formatAgentEpisodePath(id)}/diff?from=${step - 1}&at=${step}`);

/** Lists the streams of groups, latest first. */
export const listStreams = (): Promise<{ readonly items: readonly RolloutsResource[] }> => ask('GET', '/v1/rollouts?limit=100');
export const getBoard = (id: string): Promise<BoardResource> => ask('GET', `/v1/rollouts/${encodeURIComponent(id)}/board`);
export const cancelStream = (id: string): Promise<RolloutsResource> => ask('DELETE', `/v1/rollouts/${encodeURIComponent(id)}`);

/** The server's latest time, and when it came on this page's monotonic clock. */
let heard: { readonly time: number; readonly at: number } | undefined;

/** Returns milliseconds since 1970 by the server's clock; undefined before its first answer. */
export function readServerTime(): number | undefined {
  return heard && heard.time + performance.now() - heard.at;
}

function noteTime({ headers }: Response): void {
  const time = Date.parse(headers.get('date') ?? '');
  if (Number.isFinite(time)) heard = { time, at: performance.now() };
}

/** Answers of the own server are not validated: page and server have one version. */
async function ask<Answer>(method: string, url: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { ...headers, 'content-type': 'application/json' } };
  let answer: Response;
  try {
    answer = await fetch(url, { method, headers, ...content });
  } catch {
    throw new Refusal(0, 'page.unreachable', 'the server does not answer; it may be restarting');
  }
  noteTime(answer);
  if (!answer.ok) throw await readRefusal(answer);
  const text = await answer.text();
  return JSON.parse(text === '' ? 'null' : text);
}

async function readRefusal(answer: Response): Promise<Refusal> {
  const text = await answer.text();
  try {
    const { code = '', detail = answer.statusText }: { code?: string; detail?: string } = JSON.parse(text);
    return new Refusal(answer.status, code, detail);
  } catch {
    return new Refusal(answer.status, '', `${answer.status} ${answer.statusText}`);
  }
}

import type { OfficialStatistics } from '../../../../aggregation/results/statistics.ts';
import type { Transcript as ActedTranscript } from '../../../../agents/acting/transcript/transcript.ts';
import type { ReplayDocument } from '../../../../orchestrator/replay/replay-document.ts';
import { applyChanges, compareLatestFirst, isOpen } from '../../../client/live-board.ts';
import type { EpisodeLine } from '../../../http/schemas/episode-schemas.ts';
import type { EvaluationItem, EvaluationResource } from '../../../http/schemas/evaluation-schemas.ts';
import type { LiveMessage } from '../../../http/schemas/live-schemas.ts';
import type { Playing } from '../../../http/schemas/playing-schemas.ts';
import type { Pool } from '../../../http/schemas/pool-schemas.ts';
import type { BoardResource, RolloutsResource } from '../../../http/schemas/rollout-schemas.ts';
import type { PrincipalQuotas } from '../../../http/schemas/quota-schemas.ts';
import type { AuditEntry, ListedToken, Session } from './api.ts';
import type { DifferenceCourses, Pair } from './comparison.ts';
import { getEnds } from './ends.ts';
import type { Route } from './route.ts';
import type { AgentEpisode, Transcript } from './transcript.ts';

/** The whole state of the page. It is replaced, never changed. */
export interface PageState {
  readonly route: Route;
  /** It is undefined until the server has said who reads, and null where a token is needed first. */
  readonly session: Session | null | undefined;
  readonly connection: 'connecting' | 'live' | 'lost';
  /** Evaluations of the list by id, with what has changed since it was read. */
  readonly evaluations: ReadonlyMap<string, EvaluationItem>;
  /** Cursor of the list's next page; null at its end, undefined before it has been read. */
  readonly next: string | null | undefined;
  /** The largest number of rows of the list: more slow a browser down. */
  readonly rows: number;
  readonly pools: readonly Pool[];
  readonly detail: Detail | undefined;
  readonly episode: EpisodeDetail | undefined;
  /** Episodes of agents; null at the end of the list. */
  readonly agents: { readonly items: readonly AgentEpisode[]; readonly next: string | null } | undefined;
  readonly transcript: Transcript | undefined;
  /** Streams of groups for trainings. */
  readonly streams: readonly RolloutsResource[] | undefined;
  /** The stream in view; `board` is null when there is none with this id, undefined while it is read. */
  readonly stream: { readonly id: string; readonly board: BoardResource | null | undefined } | undefined;
  readonly access: Access | undefined;
  /** The latest error, for the reader. */
  readonly problem: string | undefined;
  /** Milliseconds since 1970 of the server's clock, as far as it is known here. */
  readonly now: number;
}

/** The evaluation in view. */
export interface Detail {
  readonly id: string;
  /** Null when there is none with this id. */
  readonly evaluation: EvaluationResource | null | undefined;
  /** How the interval has narrowed so far. */
  readonly course: readonly CoursePoint[];
  /** The courses of a comparison so far. */
  readonly differences: DifferenceCourses;
  /** The pairs of the selected candidate that disagree most. */
  readonly pairs: readonly Pair[];
  readonly episodes: readonly EpisodeLine[];
  /** How it is played, as last read; undefined before that. */
  readonly playing: Playing | undefined;
  /** Other evaluations that are compared with it by eye. */
  readonly beside: readonly EvaluationResource[];
}

/** The episode in view. */
export interface EpisodeDetail {
  /** Null when there is no such episode, undefined while it is read. */
  readonly line: EpisodeLine | null | undefined;
  readonly evaluation: EvaluationResource | null | undefined;
  /** The transcript of an agent. It has no steps if a policy has played. */
  readonly acted: ActedTranscript | undefined;
  readonly replay: ReplayDocument | 'playing' | undefined;
  /** Why it could not be played again. */
  readonly refused: string | undefined;
  /** Position of the shown picture in the replay. */
  readonly position: number;
  readonly isRunning: boolean;
}

export const UNREAD_EPISODE: EpisodeDetail = {
  line: undefined,
  evaluation: undefined,
  acted: undefined,
  replay: undefined,
  refused: undefined,
  position: 0,
  isRunning: false,
};

export interface CoursePoint {
  readonly episodes: number;
  readonly mean: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

export interface Access {
  readonly quotas: readonly PrincipalQuotas[];
  readonly audit: readonly AuditEntry[];
  readonly tokens: readonly ListedToken[];
}

/** The number of evaluations that a busy server plays at a time. */
export const ROWS_AT_FIRST = 200;

export function createInitialState(route: Route, now: number): PageState {
  return {
    route,
    session: undefined,
    connection: 'connecting',
    evaluations: new Map(),
    next: undefined,
    rows: ROWS_AT_FIRST,
    pools: [],
    detail: undefined,
    episode: undefined,
    agents: undefined,
    transcript: undefined,
    streams: undefined,
    stream: undefined,
    access: undefined,
    problem: undefined,
    now,
  };
}

export function applyMessage(state: PageState, message: LiveMessage): PageState {
  const board = applyChanges(state, message);
  return { ...state, ...board, detail: withRunning(state.detail, board.evaluations, message) };
}

export function applyList(state: PageState, items: readonly EvaluationItem[], next: string | null): PageState {
  const evaluations = new Map(state.evaluations);
  for (const item of items) evaluations.set(item.id, item);
  return { ...state, evaluations, next };
}

/** Selects the evaluations that the address names, latest first. */
export function filterEvaluations({ evaluations, route }: PageState): readonly EvaluationItem[] {
  if (route.view !== 'overview') return [];
  const { run, suite, state } = route.filter;
  const runs = new Set<string | null>([run, ...route.beside]);
  return [...evaluations.values()]
    .filter(
      (item) => (run === '' || runs.has(item.run)) && (suite === '' || item.suite === suite) && (state === '' || item.state === state),
    )
    .sort(compareLatestFirst);
}

/** Returns a point of the course for figures of an evaluation; a comparison has none. */
export function toCoursePoint(figures: EvaluationItem['running']): CoursePoint | undefined {
  if (figures?.kind !== 'evaluation') return undefined;
  const [low, high] = getEnds(figures.mean, figures) ?? [null, null];
  return { episodes: figures.episodes, mean: figures.mean, low, high };
}

/** Returns the summary's course, if it has one; otherwise the one received while it was played. */
export function getCourse({ evaluation, course }: Pick<Detail, 'evaluation' | 'course'>): readonly CoursePoint[] {
  const kept = evaluation && getOfficial(evaluation)?.course;
  return kept && kept.length > 1 ? kept : course;
}

/** Returns the official result of an evaluation with an answer. Returns undefined for a comparison, and for answers of earlier versions. */
export function getOfficial({ summary }: EvaluationResource): OfficialStatistics | undefined {
  return hasOfficial(summary) ? summary.official : undefined;
}

function hasOfficial(summary: unknown): summary is { readonly official: OfficialStatistics } {
  const official = getMember(summary, 'official');
  return Array.isArray(getMember(official, 'course')) && Array.isArray(getMember(official, 'tasks'));
}

function getMember(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** The board lacks an evaluation that a page shows by its address: its row was sent before the page was opened. */
function withRunning(
  detail: Detail | undefined,
  evaluations: ReadonlyMap<string, EvaluationItem>,
  { running = [] }: LiveMessage,
): Detail | undefined {
  if (!detail?.evaluation || !isOpen(detail.evaluation)) return detail;
  const item = evaluations.get(detail.id) ?? running.find(({ id }) => id === detail.id);
  return item ? { ...detail, evaluation: { ...detail.evaluation, ...item } } : detail;
}

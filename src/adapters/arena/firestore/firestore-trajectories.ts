import { parseAgentEpisodeId, type AgentEpisodeId } from '../../../agents/arena/episode-ids.ts';
import { NOTHING_SPENT, type EndCause } from '../../../agents/arena/episode-state.ts';
import { countSharedSteps, getTree } from '../../../agents/arena/shared-steps.ts';
import {
  HoldLostError,
  type ClosedEpisode,
  type EpisodeFilter,
  type Hold,
  type NewAgentEpisode,
  type NewStep,
  type StoredAgentEpisode,
  type StoredStep,
  type Trajectories,
} from '../../../agents/arena/trajectories.ts';
import { formatCutPage, parseCursor, type Page, type PageRequest } from '../../../evaluation-store/paging.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import type { OwnerId } from '../../../kernel/ids.ts';
import { formatTerms, readAgentEpisode } from '../../store/sql/agent-episode-row.ts';
import { readNumber, readOptional, readText } from '../../store/sql/schema/columns.ts';
import type { Row } from '../../store/sql/schema/database.ts';
import { FirestoreClient, type FirestoreDatabase, type Write } from './firestore-client.ts';
import { formatValue, type Fields, type StoredDocument } from './firestore-values.ts';
import { buildListQuery, formatListed, joinPath, EPISODES } from './episode-queries.ts';
import { createStepWrites, StepDocuments } from './step-documents.ts';

const REMOVED_AT_ONCE = 200;
const TREES_AT_ONCE = 100;
/** Attempts to write a document that others write as well. */
const ATTEMPTS = 8;

/**
 * Trajectories in Firestore. An episode is a document, with each of its steps as one below it. Every write names the version of the episode's
 * document on which it was decided, and is decided again when another writer was faster.
 */
export class FirestoreTrajectories implements Trajectories {
  readonly #client: FirestoreClient;
  readonly #steps: StepDocuments;
  readonly #clock: Clock;

  private constructor(client: FirestoreClient, clock: Clock) {
    this.#client = client;
    this.#steps = new StepDocuments(client);
    this.#clock = clock;
  }

  /** @throws InputError `arena.trajectories` when the database cannot be used; InfrastructureError `trajectories.failed`. */
  static async open(place: FirestoreDatabase, clock: Clock, random: () => number): Promise<FirestoreTrajectories> {
    const trajectories = new FirestoreTrajectories(new FirestoreClient(place, clock, random), clock);
    await trajectories.listUnclosed(1);
    return trajectories;
  }

  async create(episode: NewAgentEpisode): Promise<StoredAgentEpisode> {
    const { id, principal, task, taskDigest, agent, seed, origin } = episode;
    const steps = countSharedSteps(origin);
    const spent = origin?.spent ?? NOTHING_SPENT;
    const at = this.#clock.date();
    const listed = formatListed({ milliseconds: at.getTime(), id });
    const written = { created_at: at.getTime(), listed, touched_at: at.getTime(), steps, spent: JSON.stringify(spent) };
    const named = { id, tree: getTree(episode), principal, task, task_digest: taskDigest, agent, seed, terms: formatTerms(episode) };
    const fields = { ...named, ...written, state: 'open', fence: 0, holder: null, held_until: 0, ended_by: null, closed_at: null };
    // Ids are random: a document that is there already is of an attempt that got no answer.
    await this.#client.commit([{ kind: 'create', path: joinPath(id), fields }]);
    return { ...episode, createdAt: at, touchedAt: at, steps, spent, endedBy: undefined, closed: undefined };
  }

  async find(id: AgentEpisodeId): Promise<StoredAgentEpisode | undefined> {
    const document = await this.#client.get(joinPath(id));
    return document && readAgentEpisode(document.row);
  }

  async list(filter: EpisodeFilter, { limit, after }: PageRequest): Promise<Page<StoredAgentEpisode>> {
    const position = after === undefined ? undefined : parseCursor(after);
    const found = await this.#client.query(buildListQuery(filter, limit + 1, position));
    const episodes = found.map(({ row }) => readAgentEpisode(row));
    return formatCutPage(episodes, limit, ({ createdAt, id }) => ({ milliseconds: createdAt.getTime(), id }));
  }

  async countOpen(principal: string): Promise<number> {
    return await this.#client.count({ ...buildListQuery({ principal, state: 'open' }, 1_000_000_000, undefined), orderBy: [] });
  }

  async listUnclosed(limit: number): Promise<readonly StoredAgentEpisode[]> {
    const values = ['open', 'grading'].map(formatValue);
    const found = await this.#client.query({
      collection: EPISODES,
      where: [{ field: 'state', op: 'IN', value: { arrayValue: { values } } }],
      // Sorts before "open".
      orderBy: ['state', 'touched_at'],
      limit,
    });
    return found.map(({ row }) => readAgentEpisode(row));
  }

  hold(id: AgentEpisodeId, holder: OwnerId, milliseconds: number): Promise<Hold | undefined> {
    return this.#change(id, (document) => {
      if (document === undefined) return { result: undefined };
      const { row } = document;
      const fence = readNumber(row, 'fence');
      const known = readOptional(row, 'holder', readText);
      const now = this.#now();
      if (known !== undefined && known !== holder && readNumber(row, 'held_until') > now) return { result: undefined };
      const taken = known === holder ? fence : fence + 1;
      return { fields: { fence: taken, holder, held_until: now + milliseconds }, result: { episode: id, fence: taken } };
    });
  }

  append(hold: Hold, step: NewStep): Promise<void> {
    const { episode } = hold;
    return this.#change(episode, async (document, attempt) => {
      const row = requireHeld(hold, document);
      const last = readNumber(row, 'steps');
      if (attempt > 1 && last === step.number && (await this.#steps.isStored(episode, step))) return { result: undefined };
      const isNext = last === step.number - 1;
      if (!isNext || row['ended_by'] !== null || row['closed_at'] !== null) throw new HoldLostError(episode);
      const now = this.#now();
      const counted = { steps: step.number, touched_at: now, spent: JSON.stringify(step.spent) };
      const ended = step.endedBy === undefined ? {} : { ended_by: step.endedBy, state: 'grading' };
      return { fields: { ...counted, ...ended }, creations: createStepWrites(episode, step, now), result: undefined };
    });
  }

  end(hold: Hold, cause: EndCause): Promise<void> {
    return this.#change(hold.episode, (document) => {
      const row = requireHeld(hold, document);
      if (row['closed_at'] !== null) throw new HoldLostError(hold.episode);
      const endedBy = readOptional(row, 'ended_by', readText) ?? cause;
      return { fields: { ended_by: endedBy, state: 'grading', touched_at: this.#now() }, result: undefined };
    });
  }

  close(hold: Hold, cause: EndCause, { outcome, reward, document: answer }: Omit<ClosedEpisode, 'at'>): Promise<void> {
    return this.#change(hold.episode, (document) => {
      if (document !== undefined && document.row['closed_at'] !== null) return { result: undefined };
      const row = requireHeld(hold, document);
      const endedBy = readOptional(row, 'ended_by', readText) ?? cause;
      const closed = { closed_at: this.#now(), outcome, reward: reward ?? null, document: answer };
      return { fields: { ended_by: endedBy, state: 'closed', ...closed }, result: undefined };
    });
  }

  async listClosedTrees(milliseconds: number, limit: number): Promise<readonly AgentEpisodeId[]> {
    const moment = this.#now() - milliseconds;
    const where = [{ field: 'closed_at', op: 'LESS_THAN_OR_EQUAL', value: formatValue(moment) }] as const;
    const orderBy = ['closed_at', '__name__'];
    const query = { collection: EPISODES, where, orderBy, limit: TREES_AT_ONCE, select: ['id', 'tree', 'closed_at'] };
    const isOver = new Map<string, boolean>();
    const found = (): readonly string[] => [...isOver].flatMap(([tree, over]) => (over ? [tree] : []));
    let last: StoredDocument | undefined;
    do {
      const after = last && [formatValue(readNumber(last.row, 'closed_at')), this.#client.formatReference(joinPath(readId(last.row)))];
      const page = await this.#client.query({ ...query, after });
      for (const tree of new Set(page.map(({ row }) => readText(row, 'tree'))))
        if (!isOver.has(tree) && found().length < limit) isOver.set(tree, (await this.#findMembers(tree, moment)) !== undefined);
      last = page.length < TREES_AT_ONCE ? undefined : page.at(-1);
    } while (last !== undefined && found().length < limit);
    return found().map(parseAgentEpisodeId);
  }

  /** Removes the steps first: if this is interrupted, the episodes still show which steps are left. */
  async forgetTree(tree: AgentEpisodeId, milliseconds: number): Promise<void> {
    const moment = this.#now() - milliseconds;
    for (const member of (await this.#findMembers(tree, moment)) ?? []) await this.#steps.remove(readId(member.row));
    const members = (await this.#findMembers(tree, moment)) ?? [];
    for (let i = 0; i < members.length; i += REMOVED_AT_ONCE) {
      const removed = members.slice(i, i + REMOVED_AT_ONCE);
      await this.#client.commit(removed.map(({ row, updateTime }) => ({ kind: 'remove', path: joinPath(readId(row)), updateTime })));
    }
  }

  steps(id: AgentEpisodeId, after: number, limit: number): Promise<readonly StoredStep[]> {
    return this.#steps.read(id, after, limit);
  }

  /** Finds the episodes of a tree; undefined when one of them was not closed by then. */
  async #findMembers(tree: string, moment: number): Promise<readonly StoredDocument[] | undefined> {
    const where = [{ field: 'tree', op: 'EQUAL', value: formatValue(tree) }] as const;
    const members = await this.#client.query({
      collection: EPISODES,
      where,
      orderBy: [],
      limit: 100_000,
      select: ['id', 'closed_at'],
    });
    const isOver = members.every(({ row }) => (readOptional(row, 'closed_at', readNumber) ?? Infinity) <= moment);
    return isOver ? members : undefined;
  }

  /** Reads an episode's document, decides, and writes, until no other has written in between. */
  async #change<Result>(
    id: AgentEpisodeId,
    decide: (document: StoredDocument | undefined, attempt: number) => Change<Result> | Promise<Change<Result>>,
  ): Promise<Result> {
    const path = joinPath(id);
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const document = await this.#client.get(path);
      const { fields, creations = [], result } = await decide(document, attempt);
      if (fields === undefined || document === undefined) return result;
      const { updateTime } = document;
      if (await this.#client.commit([{ kind: 'update', path, fields, updateTime }, ...creations])) return result;
    }
    throw new InfrastructureError('trajectories.failed', `arena.trajectories: ${id} was written by others ${ATTEMPTS} times in between`);
  }

  #now(): number {
    return this.#clock.date().getTime();
  }
}

interface Change<Result> {
  /** Fields of the episode's document; nothing is written when they are left out. */
  readonly fields?: Fields;
  readonly creations?: readonly Write[];
  readonly result: Result;
}

function requireHeld({ episode, fence }: Hold, document: StoredDocument | undefined): Row {
  if (document === undefined || readNumber(document.row, 'fence') !== fence) throw new HoldLostError(episode);
  return document.row;
}

function readId(row: Row): AgentEpisodeId {
  return parseAgentEpisodeId(readText(row, 'id'));
}

import { parseAgentEpisodeId, type AgentEpisodeId } from '../../../agents/arena/episode-ids.ts';
import { NOTHING_SPENT, type EndCause } from '../../../agents/arena/episode-state.ts';
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
import { countSharedSteps, getTree } from '../../../agents/arena/shared-steps.ts';
import { formatCutPage, parseCursor, type Page, type PageRequest } from '../../../evaluation-store/paging.ts';
import type { OwnerId } from '../../../kernel/ids.ts';
import { readAgentEpisode, readAgentStep, formatTerms } from './agent-episode-row.ts';
import { readNumber, readText } from './schema/columns.ts';
import { guard, toStep } from './schema/database.ts';
import { joinSql, toPlainSql, sql, type Sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

export class SqlTrajectories extends SqlAdapter implements Trajectories {
  async create(episode: NewAgentEpisode): Promise<StoredAgentEpisode> {
    const { id, principal, task, taskDigest, agent, seed, origin } = episode;
    const steps = countSharedSteps(origin);
    const spent = origin?.spent ?? NOTHING_SPENT;
    const at = this.clock.date();
    const now = at.getTime();
    const created = sql`
      INSERT INTO agent_episodes (
        id, tree, principal, task, task_digest, agent, seed, terms, created_at, touched_at, steps, spent, fence, held_until)
      VALUES (${id}, ${getTree(episode)}, ${principal}, ${task}, ${taskDigest}, ${agent}, ${seed}, ${formatTerms(episode)}, ${now}, ${now}, ${steps},
        ${JSON.stringify(spent)}, 0, 0)`;
    await this.database.transact([toStep(created)]);
    return { ...episode, createdAt: at, touchedAt: at, steps, spent, endedBy: undefined, closed: undefined };
  }

  async find(id: AgentEpisodeId): Promise<StoredAgentEpisode | undefined> {
    const [row] = await this.database.query(sql`SELECT * FROM agent_episodes WHERE id = ${id}`);
    return row && readAgentEpisode(row);
  }

  async list(filter: EpisodeFilter, { limit, after }: PageRequest): Promise<Page<StoredAgentEpisode>> {
    const position = after === undefined ? undefined : parseCursor(after);
    const conditions = [
      ...buildConditions(filter),
      ...(position ? [sql`(created_at, id) < (${position.milliseconds}, ${position.id})`] : []),
    ];
    const where = conditions.length === 0 ? toPlainSql('') : sql`WHERE ${joinSql(conditions, ' AND ')}`;
    const rows = await this.database.query(sql`SELECT * FROM agent_episodes ${where} ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`);
    return formatCutPage(rows.map(readAgentEpisode), limit, ({ createdAt, id }) => ({ milliseconds: createdAt.getTime(), id }));
  }

  async countOpen(principal: string): Promise<number> {
    const [row] = await this.database.query(
      sql`SELECT count(*) AS figure FROM agent_episodes WHERE principal = ${principal} AND closed_at IS NULL AND ended_by IS NULL`,
    );
    return row === undefined ? 0 : readNumber(row, 'figure');
  }

  async listUnclosed(limit: number): Promise<readonly StoredAgentEpisode[]> {
    const rows = await this.database.query(
      sql`SELECT * FROM agent_episodes WHERE closed_at IS NULL ORDER BY ended_by IS NULL, touched_at, id LIMIT ${limit}`,
    );
    return rows.map(readAgentEpisode);
  }

  async hold(id: AgentEpisodeId, holder: OwnerId, milliseconds: number): Promise<Hold | undefined> {
    const now = this.#now();
    const held = sql`
      UPDATE agent_episodes SET fence = CASE WHEN holder = ${holder} THEN fence ELSE fence + 1 END, holder = ${holder},
        held_until = ${now + milliseconds}
      WHERE id = ${id} AND (holder IS NULL OR holder = ${holder} OR held_until <= ${now}) RETURNING fence`;
    const [row] = (await this.database.transact([guard(held)]))?.[0] ?? [];
    return row && { episode: id, fence: readNumber(row, 'fence') };
  }

  async append({ episode, fence }: Hold, step: NewStep): Promise<void> {
    const now = this.#now();
    const counted = sql`
      UPDATE agent_episodes SET steps = ${step.number}, touched_at = ${now}, spent = ${JSON.stringify(step.spent)}, ended_by = ${step.endedBy}
      WHERE id = ${episode} AND fence = ${fence} AND steps = ${step.number - 1} AND ended_by IS NULL AND closed_at IS NULL RETURNING key`;
    const delta = step.delta === undefined ? null : JSON.stringify(step.delta);
    const appended = sql`
      INSERT INTO agent_steps (episode, number, digest, action, answer, delta, at)
      SELECT key, CAST(${step.number} AS bigint), CAST(${step.digest} AS text), CAST(${JSON.stringify(step.action)} AS text),
        CAST(${step.answer} AS text), CAST(${delta} AS text), CAST(${now} AS bigint) FROM agent_episodes WHERE id = ${episode}`;
    if ((await this.database.transact([guard(counted), toStep(appended)])) === undefined) throw new HoldLostError(episode);
  }

  async end({ episode, fence }: Hold, cause: EndCause): Promise<void> {
    const ended = sql`
      UPDATE agent_episodes SET ended_by = coalesce(ended_by, ${cause}), touched_at = ${this.#now()}
      WHERE id = ${episode} AND fence = ${fence} AND closed_at IS NULL RETURNING key`;
    if ((await this.database.transact([guard(ended)])) === undefined) throw new HoldLostError(episode);
  }

  async close({ episode, fence }: Hold, cause: EndCause, { outcome, reward, document }: Omit<ClosedEpisode, 'at'>): Promise<void> {
    const now = this.#now();
    const closed = sql`
      UPDATE agent_episodes SET ended_by = coalesce(ended_by, ${cause}), closed_at = ${now}, outcome = ${outcome}, reward = ${reward},
        document = ${document}
      WHERE id = ${episode} AND fence = ${fence} AND closed_at IS NULL RETURNING key`;
    if ((await this.database.transact([guard(closed)])) !== undefined) return;
    if ((await this.find(episode))?.closed === undefined) throw new HoldLostError(episode);
  }

  async listClosedTrees(milliseconds: number, limit: number): Promise<readonly AgentEpisodeId[]> {
    const moment = this.#now() - milliseconds;
    const rows = await this.database.query(
      sql`SELECT DISTINCT tree FROM agent_episodes e WHERE closed_at <= ${moment} AND ${isOver(moment)} LIMIT ${limit}`,
    );
    return rows.map((row) => parseAgentEpisodeId(readText(row, 'tree')));
  }

  async forgetTree(tree: AgentEpisodeId, milliseconds: number): Promise<void> {
    const removed = sql`DELETE FROM agent_episodes AS e WHERE tree = ${tree} AND ${isOver(this.#now() - milliseconds)}`;
    await this.database.transact([toStep(removed)]);
  }

  async steps(id: AgentEpisodeId, after: number, limit: number): Promise<readonly StoredStep[]> {
    const rows = await this.database.query(
      sql`SELECT number, digest, action, answer, delta, at FROM agent_steps WHERE episode = (SELECT key FROM agent_episodes WHERE id = ${id})
          AND number > ${after} ORDER BY number LIMIT ${limit}`,
    );
    return rows.map(readAgentStep);
  }

  #now(): number {
    return this.clock.date().getTime();
  }
}

/** Returns the condition that the whole tree of the episode `e` is over. */
function isOver(moment: number): Sql {
  return sql`NOT EXISTS (
    SELECT 1 FROM agent_episodes o WHERE o.tree = e.tree AND (o.closed_at IS NULL OR o.closed_at > ${moment}))`;
}

function buildConditions({ principal, task, agent, state, leastReward }: EpisodeFilter): readonly Sql[] {
  const conditions: Sql[] = [];
  if (principal !== undefined) conditions.push(sql`principal = ${principal}`);
  if (task !== undefined) conditions.push(sql`task = ${task}`);
  if (agent !== undefined) conditions.push(sql`agent = ${agent}`);
  if (leastReward !== undefined) conditions.push(sql`reward >= ${leastReward}`);
  switch (state) {
    case 'open':
      conditions.push(toPlainSql('closed_at IS NULL AND ended_by IS NULL'));
      break;
    case 'grading':
      conditions.push(toPlainSql('closed_at IS NULL AND ended_by IS NOT NULL'));
      break;
    case 'closed':
      conditions.push(toPlainSql('closed_at IS NOT NULL'));
      break;
    case undefined:
      break;
  }
  return conditions;
}

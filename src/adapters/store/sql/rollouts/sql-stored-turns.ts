import { parseStoredAnswer, type StoredTurn, type StoredTurns, formatStoredAnswer } from '../../../../agents/acting/model/stored-turns.ts';
import { readDocument, readText } from '../schema/columns.ts';
import { type Step, toStep } from '../schema/database.ts';
import { sql } from '../schema/statement.ts';
import { SqlAdapter } from '../schema/sql-adapter.ts';

export class SqlStoredTurns extends SqlAdapter implements StoredTurns {
  async read(episode: string): Promise<readonly StoredTurn[]> {
    const rows = await this.database.query(sql`SELECT request, answer FROM agent_turns WHERE episode = ${episode}`);
    return rows.map((row) => ({ request: readText(row, 'request'), answer: parseStoredAnswer(readDocument(row, 'answer')) }));
  }

  async add(episode: string, { request, answer }: StoredTurn): Promise<void> {
    const added = sql`
      INSERT INTO agent_turns (episode, request, answer, at)
      VALUES (${episode}, ${request}, ${JSON.stringify(formatStoredAnswer(answer))}, ${this.clock.date().getTime()}) ON CONFLICT DO NOTHING`;
    await this.database.transact([toStep(added)]);
  }

  async forget(episode: string): Promise<void> {
    await this.database.transact([toStep(sql`DELETE FROM agent_turns WHERE episode = ${episode}`)]);
  }

  async forgetOld(milliseconds: number): Promise<void> {
    await this.database.transact([toStep(sql`DELETE FROM agent_turns WHERE at <= ${this.clock.date().getTime() - milliseconds}`)]);
  }
}

/** Forgets the turns of all episodes whose names begin with the prefix, within a transaction. */
export function forgetTurns(prefix: string): Step {
  const last = prefix.charCodeAt(prefix.length - 1);
  const behind = `${prefix.slice(0, -1)}${String.fromCharCode(last + 1)}`;
  return toStep(sql`DELETE FROM agent_turns WHERE episode >= ${prefix} AND episode < ${behind}`);
}

import type { AgentEpisodeId } from '../../../agents/arena/episode-ids.ts';
import type { FileContents } from '../../../agents/arena/step-files.ts';
import { digestBytes } from '../../../kernel/canonical-json.ts';
import type { Digest } from '../../../kernel/ids.ts';
import { readText } from './schema/columns.ts';
import { toStep, type BulkColumn } from './schema/database.ts';
import { sql, type Value } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

/** The largest number of bytes of a content in one row, before they are encoded. */
const PART_BYTES = 256 * 1024;
/** The largest number of bytes in one transaction. */
const BATCH_BYTES = 8 * 2 ** 20;

const COLUMNS: readonly BulkColumn[] = [
  { name: 'tree', type: 'text' },
  { name: 'digest', type: 'text' },
  { name: 'part', type: 'bigint' },
  { name: 'data', type: 'text' },
];

/** Contents of files in the database, for servers that share the database but no directory. */
export class SqlFileContents extends SqlAdapter implements FileContents {
  async keep(tree: AgentEpisodeId, contents: ReadonlyMap<Digest, Buffer>): Promise<void> {
    let rows: (readonly Value[])[] = [];
    let bytes = 0;
    const write = async (): Promise<void> => {
      if (rows.length > 0) await this.database.transact([{ kind: 'bulk', insert: { table: 'agent_contents', columns: COLUMNS, rows } }]);
      rows = [];
      bytes = 0;
    };
    for (const [digest, content] of contents)
      for (let part = 0; part * PART_BYTES < content.length; part += 1) {
        const data = content.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
        rows.push([tree, digest, part, data.toString('base64')]);
        bytes += data.length;
        if (bytes >= BATCH_BYTES) await write();
      }
    await write();
  }

  async read(tree: AgentEpisodeId, digest: Digest): Promise<Buffer | undefined> {
    const rows = await this.database.query(sql`SELECT data FROM agent_contents WHERE tree = ${tree} AND digest = ${digest} ORDER BY part`);
    const content = Buffer.concat(rows.map((row) => Buffer.from(readText(row, 'data'), 'base64')));
    return digestBytes(content) === digest ? content : undefined;
  }

  async forget(tree: AgentEpisodeId): Promise<void> {
    await this.database.transact([toStep(sql`DELETE FROM agent_contents WHERE tree = ${tree}`)]);
  }
}

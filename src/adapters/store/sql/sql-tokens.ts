import { z } from 'zod';
import { formatCutPage, parseCursor, type Page, type PageRequest } from '../../../evaluation-store/paging.ts';
import { ROLES, type NewToken, type StoredToken, type Tokens } from '../../../evaluation-store/tokens.ts';
import { InfrastructureError } from '../../../kernel/errors.ts';
import { isDigest, parseTokenId, type TokenId } from '../../../kernel/ids.ts';
import { readDate, readOptional, readText } from './schema/columns.ts';
import { toStep, type Row } from './schema/database.ts';
import { toPlainSql, sql, type Sql } from './schema/statement.ts';
import { SqlAdapter } from './schema/sql-adapter.ts';

export class SqlTokens extends SqlAdapter implements Tokens {
  async create(token: NewToken): Promise<StoredToken> {
    const { id, principal, role, secretDigest, expiresAt } = token;
    const createdAt = this.clock.date();
    const created = sql`
      INSERT INTO tokens (id, principal, role, secret_digest, created_at, expires_at)
      VALUES (${id}, ${principal}, ${role}, ${secretDigest}, ${createdAt.getTime()}, ${expiresAt?.getTime()})`;
    await this.database.transact([toStep(created)]);
    return { ...token, createdAt, revokedAt: undefined };
  }

  async find(id: TokenId): Promise<StoredToken | undefined> {
    const [row] = await this.database.query(selectTokens(sql`WHERE id = ${id}`));
    return row && readToken(row);
  }

  async list({ limit, after }: PageRequest): Promise<Page<StoredToken>> {
    const position = after === undefined ? undefined : parseCursor(after);
    const beyond = position ? sql`WHERE (created_at, id) < (${position.milliseconds}, ${position.id})` : toPlainSql('');
    const rows = await this.database.query(selectTokens(sql`${beyond} ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`));
    return formatCutPage(rows.map(readToken), limit, ({ createdAt, id }) => ({ milliseconds: createdAt.getTime(), id }));
  }

  async revoke(id: TokenId): Promise<StoredToken | undefined> {
    const revoked = sql`UPDATE tokens SET revoked_at = coalesce(revoked_at, ${this.clock.date().getTime()}) WHERE id = ${id}`;
    await this.database.transact([toStep(revoked)]);
    return this.find(id);
  }
}

function selectTokens(which: Sql): Sql {
  return sql`SELECT id, principal, role, secret_digest, created_at, expires_at, revoked_at FROM tokens ${which}`;
}

const checkedSchema = z.object({ role: z.enum(ROLES), secretDigest: z.string().refine(isDigest) });

function readToken(row: Row): StoredToken {
  const id = parseTokenId(readText(row, 'id'));
  const checked = checkedSchema.safeParse({ role: row['role'], secretDigest: row['secret_digest'] });
  if (!checked.success) {
    throw new InfrastructureError(
      'store.unreadable',
      `token ${id} has a form that this version of Muster does not know: ${z.prettifyError(checked.error)}`,
    );
  }
  return {
    id,
    principal: readText(row, 'principal'),
    ...checked.data,
    createdAt: readDate(row, 'created_at'),
    expiresAt: readOptional(row, 'expires_at', readDate),
    revokedAt: readOptional(row, 'revoked_at', readDate),
  };
}

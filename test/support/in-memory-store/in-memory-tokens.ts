import { formatCutPage, parseCursor, type Page, type PageRequest } from '../../../src/evaluation-store/paging.ts';
import type { NewToken, StoredToken, Tokens } from '../../../src/evaluation-store/tokens.ts';
import { InfrastructureError } from '../../../src/kernel/errors.ts';
import type { TokenId } from '../../../src/kernel/ids.ts';
import { InMemoryPart } from './in-memory-part.ts';

export class InMemoryTokens extends InMemoryPart implements Tokens {
  async create(token: NewToken): Promise<StoredToken> {
    if (this.memory.tokens.has(token.id)) throw new InfrastructureError('store.failed', `there is a token ${token.id} already`);
    const stored = { ...token, createdAt: new Date(this.memory.now), revokedAt: undefined };
    this.memory.tokens.set(token.id, stored);
    return stored;
  }

  async find(id: TokenId): Promise<StoredToken | undefined> {
    return this.memory.tokens.get(id);
  }

  async list({ limit, after }: PageRequest): Promise<Page<StoredToken>> {
    const position = after === undefined ? undefined : parseCursor(after);
    const isBeyond = ({ createdAt, id }: StoredToken): boolean =>
      !position || createdAt.getTime() < position.milliseconds || (createdAt.getTime() === position.milliseconds && id < position.id);
    const tokens = [...this.memory.tokens.values()].filter(isBeyond);
    tokens.sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1));
    return formatCutPage(tokens, limit, ({ createdAt, id }) => ({ milliseconds: createdAt.getTime(), id }));
  }

  async revoke(id: TokenId): Promise<StoredToken | undefined> {
    const token = this.memory.tokens.get(id);
    if (!token) return undefined;
    const revoked = { ...token, revokedAt: token.revokedAt ?? new Date(this.memory.now) };
    this.memory.tokens.set(id, revoked);
    return revoked;
  }
}

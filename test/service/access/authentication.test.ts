import { describe, expect, it } from 'vitest';
import { authenticate, describeRemedy, type RefusedToken } from '../../../src/service/access/authenticate.ts';
import { isSecretOf, mintBearerToken, readBearerToken } from '../../../src/service/access/bearer-token.ts';
import { TokenService } from '../../../src/service/access/token-service.ts';
import { inMemoryEvaluationStore } from '../../support/in-memory-store/in-memory-evaluation-store.ts';
import { Memory } from '../../support/in-memory-store/memory.ts';
import type { EvaluationStore } from '../../../src/evaluation-store/evaluation-store.ts';
import { digestBytes } from '../../../src/kernel/canonical-json.ts';
import { parseTokenId } from '../../../src/kernel/ids.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const DAY = 86_400_000;

interface Fixture {
  readonly clock: ManualClock;
  readonly store: EvaluationStore;
  readonly office: TokenService;
}

function fixture(): Fixture {
  const clock = new ManualClock();
  const store = inMemoryEvaluationStore(new Memory(clock));
  return { clock, store, office: new TokenService(store, clock, 'admin') };
}

describe('a bearer token', () => {
  it('has a prefix, and is different each time', () => {
    const minted = Array.from({ length: 200 }, mintBearerToken);
    for (const { text } of minted) expect(text).toMatch(/^muster_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/);
    expect(new Set(minted.map(({ text }) => text)).size).toBe(200);
    expect(new Set(minted.map(({ id }) => id)).size).toBe(200);
  });

  it('is stored as the digest of 256 random bits', () => {
    const { id, text, secretDigest } = mintBearerToken();
    const presented = readBearerToken(text);
    expect(presented?.id).toBe(id);
    expect(Buffer.from(presented?.secret ?? '', 'base64url')).toHaveLength(32);
    expect(secretDigest).toBe(digestBytes(presented?.secret ?? ''));
    expect(isSecretOf(presented?.secret ?? '', secretDigest)).toBe(true);
    expect(isSecretOf(`${presented?.secret}x`, secretDigest)).toBe(false);
  });

  it.each([
    '',
    'muster_',
    'muster_0123456789abcdef_short',
    'other_0123456789abcdef_'.padEnd(70, 'a'),
    'muster_0123456789ABCDEF_'.padEnd(67, 'a'),
  ])('is not what %j is', (text) => {
    expect(readBearerToken(text)).toBeUndefined();
  });
});

describe('a caller', () => {
  it('is the principal of the token, with its role', async () => {
    const { clock, store, office } = fixture();
    const { text, token } = await office.issue({ principal: 'pipeline', role: 'submitter', lifetimeMs: undefined });
    const expected = { kind: 'caller', caller: { principal: 'pipeline', role: 'submitter', token: token.id } };
    expect(await authenticate(store.tokens, clock, `Bearer ${text}`)).toEqual(expected);
    expect(await authenticate(store.tokens, clock, `bearer  ${text} `)).toEqual(expected);
  });

  it('is no principal without a token, with another text, or with a token of another server', async () => {
    const { clock, store } = fixture();
    expect(await authenticate(store.tokens, clock, undefined)).toEqual(refused('missing'));
    for (const header of ['', 'Bearer', 'Bearer x', 'Basic dXNlcjpwYXNz', mintBearerToken().text])
      expect(await authenticate(store.tokens, clock, header)).toEqual(refused('malformed'));
    expect(await authenticate(store.tokens, clock, `Bearer ${mintBearerToken().text}`)).toEqual(refused('unknown'));
  });

  it('is no principal with the id of one token and the secret of another, even if the first was revoked', async () => {
    const { clock, store, office } = fixture();
    const { token, text } = await office.issue({ principal: 'pipeline', role: 'operator', lifetimeMs: undefined });
    const forged = `Bearer muster_${token.id}_${readBearerToken(mintBearerToken().text)?.secret}`;
    expect(await authenticate(store.tokens, clock, forged)).toEqual(refused('unknown'));
    await office.revoke(token.id);
    expect(await authenticate(store.tokens, clock, forged)).toEqual(refused('unknown'));
    expect(await authenticate(store.tokens, clock, `Bearer ${text}`)).toEqual(refused('revoked'));
  });

  it('is refused from the moment on at which its token expires', async () => {
    const { clock, store, office } = fixture();
    const { text } = await office.issue({ principal: 'pipeline', role: 'viewer', lifetimeMs: 90 * DAY });
    await clock.advance(90 * DAY - 1);
    expect(await authenticate(store.tokens, clock, `Bearer ${text}`)).toMatchObject({ kind: 'caller' });
    await clock.advance(1);
    expect(await authenticate(store.tokens, clock, `Bearer ${text}`)).toEqual(refused('expired'));
  });

  it('gets a remedy with each refusal, and no information on the store', () => {
    const whys: readonly RefusedToken[] = ['missing', 'malformed', 'unknown', 'expired', 'revoked'];
    expect(new Set(whys.map(describeRemedy)).size).toBe(whys.length);
  });
});

describe('the token office', () => {
  it('lists tokens without their secrets, the latest first', async () => {
    const { clock, office } = fixture();
    const first = await office.issue({ principal: 'pipeline', role: 'submitter', lifetimeMs: DAY });
    await clock.advance(1);
    const second = await office.issue({ principal: 'sre', role: 'operator', lifetimeMs: undefined });
    const { items } = await office.list({ limit: 10 });
    expect(items.map(({ id, principal }) => ({ id, principal }))).toEqual([
      { id: second.token.id, principal: 'sre' },
      { id: first.token.id, principal: 'pipeline' },
    ]);
    expect(JSON.stringify(items)).not.toContain('sha256:');
  });

  it('audits who made and revoked which token, without a secret', async () => {
    const { store, office } = fixture();
    const { token, text } = await office.issue({ principal: 'pipeline', role: 'submitter', lifetimeMs: undefined });
    await office.revoke(token.id);
    const { items } = await store.audit.list({ limit: 10 });
    expect(items.map(({ principal, action, target }) => ({ principal, action, target }))).toEqual([
      { principal: 'admin', action: 'token.revoke', target: token.id },
      { principal: 'admin', action: 'token.create', target: token.id },
    ]);
    expect(JSON.stringify(items)).not.toContain(readBearerToken(text)?.secret);
  });

  it('refuses invalid names, and unknown tokens', async () => {
    const { office } = fixture();
    for (const principal of ['', 'Upper', '-x', 'a b', 'x'.repeat(64)])
      await expect(office.issue({ principal, role: 'viewer', lifetimeMs: undefined })).rejects.toMatchObject({ code: 'token.principal' });
    await expect(office.revoke(parseTokenId('nowhere'))).rejects.toMatchObject({ kind: 'input', code: 'token.unknown' });
  });
});

function refused(why: RefusedToken): unknown {
  return { kind: 'refused', why };
}

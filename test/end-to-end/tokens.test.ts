import { stat } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { authenticate } from '../../src/service/access/authenticate.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import { openEvaluationStore } from '../../src/app/stores.ts';
import { MusterServer } from './muster-server.ts';
import { Stage } from './stage.ts';

const listSchema = z.array(
  z.looseObject({ id: z.string(), principal: z.string(), role: z.string(), expiresAt: z.iso.datetime().optional() }),
);

describe('muster token', () => {
  it('makes a token that lets its holder in, and prints nothing else on stdout', async () => {
    await using stage = await Stage.open();
    const environment = { MUSTER_TOKEN: `muster_0123456789abcdef_${'x'.repeat(43)}` };
    const made = await stage.call(['token', 'create', 'pipeline', '--role', 'submitter', '--expires', '90d'], { environment });
    expect(made.exitCode).toBe(0);
    expect(made.stdout).toMatch(/^muster_[0-9a-f]{16}_[A-Za-z0-9_-]{43}\n$/);
    // Without a server's address, an operator's token in the environment is not used.
    const place = `in the store ${path.join(stage.stateDir, 'muster.db')}; keep it`;
    expect(made.stderr).toMatch(/MUSTER_TOKEN is not used, .* set MUSTER_URL, or give --server/);
    expect(made.stderr).toContain(place);
    await using store = await openEvaluationStore({ store: { url: path.join(stage.stateDir, 'muster.db') } }, systemClock);
    expect(await authenticate(store.tokens, systemClock, `Bearer ${made.stdout.trim()}`)).toMatchObject({
      kind: 'caller',
      caller: { principal: 'pipeline', role: 'submitter' },
    });
  });

  it('stores no token: neither its listing nor its store has one', async () => {
    await using stage = await Stage.open();
    const { stdout } = await stage.call(['token', 'create', 'pipeline', '--role', 'viewer']);
    const secret = stdout.trim().slice('muster_0123456789abcdef_'.length);
    const listed = await stage.call(['token', 'list', '--json']);
    expect(listed.stdout).not.toContain(secret);
    expect(listed.stdout).not.toContain('sha256');
    expect(listSchema.parse(JSON.parse(listed.stdout))).toMatchObject([{ principal: 'pipeline', role: 'viewer' }]);
    const file = path.join(stage.stateDir, 'muster.db');
    using database = new DatabaseSync(file, { readOnly: true });
    for (const table of ['tokens', 'audit']) expect(JSON.stringify(database.prepare(`SELECT * FROM ${table}`).all())).not.toContain(secret);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it('revokes a token, and lists it as revoked', async () => {
    await using stage = await Stage.open();
    const made = await stage.call(['token', 'create', 'pipeline', '--role', 'viewer', '--json']);
    const { id, token } = z.object({ id: z.string(), token: z.string() }).parse(JSON.parse(made.stdout));
    expect((await stage.call(['token', 'revoke', id])).stdout).toContain(`token ${id} of pipeline is refused`);
    expect((await stage.call(['token', 'list'])).stdout).toMatch(new RegExp(`${id} +pipeline +viewer .* revoked `));
    await using store = await openEvaluationStore({ store: { url: path.join(stage.stateDir, 'muster.db') } }, systemClock);
    expect(await authenticate(store.tokens, systemClock, `Bearer ${token}`)).toEqual({ kind: 'refused', why: 'revoked' });
  });

  it('is asked for by a server that has none', async () => {
    await using stage = await Stage.open();
    const config = await stage.write('server.json', { server: { port: 0, drainSeconds: 0, access: 'tokens' } });
    for (const hint of [expect.stringContaining('the store has no token'), expect.not.stringContaining('token')]) {
      const { command } = await MusterServer.start(stage, config);
      expect(command.stderr).toEqual(hint);
      command.signal('SIGTERM');
      await command.ended;
      await stage.token('ada', 'operator');
    }
  });

  it('says that a server has the store open', async () => {
    await using stage = await Stage.open();
    await using _store = await openEvaluationStore({ store: { url: path.join(stage.stateDir, 'muster.db') } }, systemClock);
    const result = await stage.run(['token', 'list']);
    expect({ code: result.exitCode, stdout: result.stdout }).toEqual({ code: 2, stdout: '' });
    expect(result.stderr).toContain('is in use by another Muster; stop that one');
  });

  it.each([
    ['no role', ['create', 'x'], "'-r, --role <role>' not specified"],
    ['a role that there is not', ['create', 'x', '--role', 'boss'], 'Allowed choices are viewer, submitter, operator'],
    ['an invalid time', ['create', 'x', '--role', 'viewer', '--expires', 'soon'], 'such as 90d, 12h or 30m'],
    ['no name of a principal', ['create', 'Some One', '--role', 'viewer'], 'got "Some One"'],
    ['the id of no token', ['revoke', 'nothing'], '"muster token list" lists them'],
  ])('refuses %s', async (_, command, message) => {
    await using stage = await Stage.open();
    const result = await stage.call(['token', ...command]);
    expect({ code: result.exitCode, stdout: result.stdout }).toEqual({ code: 2, stdout: '' });
    expect(result.stderr).toContain(message);
  });

  it('does not repeat a token that is given for its id', async () => {
    await using stage = await Stage.open();
    const { stdout } = await stage.call(['token', 'create', 'pipeline', '--role', 'viewer']);
    const result = await stage.call(['token', 'revoke', stdout.trim()]);
    expect(result.exitCode).toBe(2);
    expect(result.stderr).not.toContain(stdout.trim());
  });
});

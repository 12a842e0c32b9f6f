/* oxlint-disable vitest/no-standalone-expect -- the tests are made of these scenarios by sandboxProviderContract */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'vitest';
import { InfrastructureError, InputError } from '../../../src/kernel/errors.ts';
import { extent } from '../../support/full-form.ts';
import { heldMemory } from '../../support/held-memory.ts';
import type { Scenario } from '../sandbox-provider.ts';
import { firstLine, NEVER } from '../sandbox-fixture.ts';

const MEBIBYTE = 2 ** 20;
/** Of 64 KiB. */
const PIECES = extent({ short: 640, full: 1024 });

function* pieces(piece: Buffer, count: number): Generator<Buffer> {
  for (let i = 0; i < count; i += 1) {
    piece.writeUInt32LE(i);
    yield Buffer.from(piece);
  }
}

async function* failing(): AsyncGenerator<Buffer> {
  yield Buffer.alloc(1000);
  throw new Error('source broke');
}

/** Files that are brought in. */
export const uploadScenarios: Readonly<Record<string, Scenario>> = {
  'a large upload as a stream is the same inside': async (fixture) => {
    const piece = randomBytes(65_536);
    const expected = createHash('sha256');
    for (const bytes of pieces(piece, PIECES)) expected.update(bytes);
    const sandbox = await fixture.create(fixture.commands.hashFiles());
    const inside = await sandbox.upload('big/file.bin', { kind: 'stream', stream: Readable.from(pieces(piece, PIECES)) }, NEVER);
    sandbox.stdin.write(`${inside}\n`);
    expect(await firstLine(sandbox)).toBe(`${expected.digest('hex')}\n`);
  },

  'a large upload passes in bounded memory': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.hashFiles());
    const before = heldMemory();
    let growth = 0;
    let count = 0;
    const watched = function* (): Generator<Buffer> {
      for (const bytes of pieces(randomBytes(65_536), PIECES)) {
        if ((count += 1) % 256 === 0) growth = Math.max(growth, heldMemory() - before);
        yield bytes;
      }
    };
    await sandbox.upload('file', { kind: 'stream', stream: Readable.from(watched()) }, NEVER);
    expect(growth).toBeLessThan(24 * MEBIBYTE);
  },

  'a host file is the same inside': async (fixture) => {
    const directory = await mkdtemp(path.join(tmpdir(), 'muster-upload-'));
    try {
      await writeFile(path.join(directory, 'host-file'), 'weights');
      const sandbox = await fixture.create(fixture.commands.hashFiles());
      const inside = await sandbox.upload('a/b', { kind: 'file', hostPath: path.join(directory, 'host-file') }, NEVER);
      sandbox.stdin.write(`${inside}\n`);
      expect(await firstLine(sandbox)).toBe(`${createHash('sha256').update('weights').digest('hex')}\n`);
    } finally {
      await rm(directory, { recursive: true });
    }
  },

  'a host file that does not exist is an infrastructure error that names it': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.hashFiles());
    const upload = sandbox.upload('a', { kind: 'file', hostPath: '/no/such/file' }, NEVER);
    await expect(upload).rejects.toThrow(InfrastructureError);
    await expect(upload).rejects.toThrow('/no/such/file');
  },

  'an upload path that would leave the inbox is refused': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.hashFiles());
    for (const bad of ['../x', '/etc/x', 'a/../../x', 'a//b', '', 'a/', '.', 'a\0b', 'x'.repeat(300), 'x/'.repeat(1000)]) {
      const upload = sandbox.upload(bad, { kind: 'stream', stream: Readable.from(['x']) }, NEVER);
      await expect(upload).rejects.toThrow(InputError);
      await expect(upload).rejects.toHaveProperty('code', 'sandbox.path');
    }
  },

  'an upload that is aborted half-way does not appear': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.hashFiles());
    const abort = new AbortController();
    const endless = async function* (): AsyncGenerator<Buffer> {
      for (let i = 0; ; i += 1) {
        if (i === 10) abort.abort(new Error('enough'));
        yield Buffer.alloc(1000);
      }
    };
    await expect(sandbox.upload('half', { kind: 'stream', stream: Readable.from(endless()) }, abort.signal)).rejects.toThrow('enough');
    sandbox.stdin.write('/muster/inbox/half\n');
    expect(await firstLine(sandbox)).toBe('unreadable\n');
  },

  'an upload whose source fails does not appear': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.hashFiles());
    await expect(sandbox.upload('half', { kind: 'stream', stream: Readable.from(failing()) }, NEVER)).rejects.toThrow('source broke');
    sandbox.stdin.write('/muster/inbox/half\n');
    expect(await firstLine(sandbox)).toBe('unreadable\n');
  },

  'an upload to a sandbox that is gone is an infrastructure error': async (fixture) => {
    const sandbox = await fixture.create(fixture.commands.exit(0));
    await sandbox.destroy();
    await expect(sandbox.upload('a', { kind: 'stream', stream: Readable.from(['x']) }, NEVER)).rejects.toThrow(InfrastructureError);
  },

  'an uploaded file cannot be changed from inside': async (fixture) => {
    const source = `
import os, sys
path = sys.stdin.readline().strip()
for act in (lambda: open(path, 'w'), lambda: os.unlink(path), lambda: os.rename(path, path + '2'),
            lambda: os.chmod(path, 0o777), lambda: os.symlink('/etc', os.path.dirname(path) + '/link')):
    try:
        act()
        print('done')
    except OSError as error:
        print(error.errno)
`;
    const sandbox = await fixture.create(fixture.commands.python(source));
    const inside = await sandbox.upload('file', { kind: 'stream', stream: Readable.from(['x']) }, NEVER);
    sandbox.stdin.end(`${inside}\n`);
    // EPERM, EACCES or EROFS: by the owner, by the mode, or because the whole inbox is read-only.
    const refusals = [1, 13, 30];
    let printed = '';
    for await (const chunk of sandbox.stdout) printed += String(chunk);
    const answers = printed.trim().split('\n').map(Number);
    expect(answers).toHaveLength(5);
    for (const answer of answers) expect(refusals).toContain(answer);
  },
};

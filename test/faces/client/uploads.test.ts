import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import nock from 'nock';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { filesystemSource } from '../../../src/adapters/checkpoints/filesystem.ts';
import { Uploader, type UploadProgress } from '../../../src/faces/client/uploads.ts';
import { digestCheckpoint } from '../../../src/policy-distribution/checkpoint.ts';
import { parseDigest, type Digest } from '../../../src/kernel/ids.ts';
import { ClientFixture } from '../../support/client-fixture.ts';
import { CuttingProxy } from '../../support/cutting-proxy.ts';
import { sha256 } from '../../support/upload-fixture.ts';

// Real sockets are to reach the server, and to break.
beforeAll(() => nock.restore());

const PART = 1000;
const WEIGHTS = Buffer.from(Array.from({ length: 3072 }, (_, i) => (i * 31) % 256));
const { signal } = new AbortController();

let directory: string;
beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'muster-test-'))));
afterEach(() => rm(directory, { recursive: true }));

async function file(name: string, content: Uint8Array | string): Promise<string> {
  const path = join(directory, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, content);
  return path;
}

function digestOf(content: Uint8Array | string): Digest {
  return parseDigest(`sha256:${sha256(content)}`);
}

describe('sending a checkpoint to a server', () => {
  it('sends a file in parts, reports its progress, and sends nothing again', async () => {
    await using fixture = await ClientFixture.open();
    const uploader = new Uploader(fixture.calls(), filesystemSource, PART);
    const path = await file('policy.bin', WEIGHTS);
    const reported: UploadProgress[] = [];
    expect(await uploader.bring(path, { signal, onProgress: (progress) => reported.push(progress) })).toBe(digestOf(WEIGHTS));
    expect(reported.map(({ phase, bytes }) => `${phase} ${bytes}`)).toEqual([
      'reading 3072',
      ...[0, 1000, 2000, 3000, 3072].map((bytes) => `sending ${bytes}`),
    ]);
    expect((await fixture.files.checkpoints.find(digestOf(WEIGHTS)))?.files).toMatchObject([{ path: 'policy.bin', size: 3072 }]);
    reported.length = 0;
    await uploader.bring(path, { signal, onProgress: (progress) => reported.push(progress) });
    expect(reported.map(({ phase }) => phase)).toEqual(['reading']);
    // The name gives the format, so the server has to take the file again under a name of another one, and only then.
    for (const [name, phases] of Object.entries({ 'policy.zip': 6, policy: 1, 'other.zip': 1, 'policy.pt': 6 })) {
      reported.length = 0;
      await uploader.bring(await file(name, WEIGHTS), { signal, onProgress: (progress) => reported.push(progress) });
      expect([name, reported.length]).toEqual([name, phases]);
    }
    expect((await fixture.files.checkpoints.find(digestOf(WEIGHTS)))?.files).toMatchObject([{ path: 'policy.pt' }]);
  });

  it('sends the files of a directory, an empty one too, and then the manifest that names them', async () => {
    await using fixture = await ClientFixture.open();
    const contents = {
      'b.bin': WEIGHTS,
      'a/config.json': Buffer.from('{}'),
      'a/empty': Buffer.alloc(0),
      '\u{1f600}.bin': Buffer.from('astral'),
    };
    for (const [name, content] of Object.entries(contents)) await file(`policy/${name}`, content);
    const uploader = new Uploader(fixture.calls(), filesystemSource, PART);
    const digest = await uploader.bring(join(directory, 'policy'), { signal });
    const files = Object.entries(contents).map(([path, content]) => ({ path, size: content.length, digest: digestOf(content) }));
    expect(digest).toBe(digestCheckpoint('directory', files));
    expect(await fixture.files.checkpoints.find(digest)).toMatchObject({ kind: 'directory', files: { length: 4 } });
  });

  it.each([[[0]], [[1500]], [[300, 600, 900]], [[1160, 1200, 1300, 1400]]])(
    'continues where connections broke: after %s bytes',
    async (cuts) => {
      await using fixture = await ClientFixture.open();
      await using proxy = await CuttingProxy.open(fixture.url, cuts);
      const uploader = new Uploader(fixture.calls(proxy.url), filesystemSource, PART);
      const bringing = uploader.bring(await file('policy.bin', WEIGHTS), { signal });
      expect(await fixture.during(bringing)).toBe(digestOf(WEIGHTS));
      expect(await fixture.files.checkpoints.find(digestOf(WEIGHTS))).toBeDefined();
    },
  );

  it('continues an earlier upload', async () => {
    await using fixture = await ClientFixture.open();
    const headers = { 'content-range': `bytes 0-1499/${WEIGHTS.length}` };
    await fixture.server.send('PUT', `/v1/checkpoints/${sha256(WEIGHTS)}?name=policy.bin`, { body: WEIGHTS.subarray(0, 1500), headers });
    const sent: number[] = [];
    const onProgress = ({ phase, bytes }: UploadProgress): void => void (phase === 'sending' && sent.push(bytes));
    await new Uploader(fixture.calls(), filesystemSource, PART).bring(await file('policy.bin', WEIGHTS), { signal, onProgress });
    expect(sent).toEqual([1500, 2000, 3000, 3072]);
  });

  it('names the path that is wrong, and what is wrong with the checkpoint', async () => {
    await using fixture = await ClientFixture.open();
    const uploader = new Uploader(fixture.calls(), filesystemSource, PART);
    await expect(uploader.bring(join(directory, 'none'), { signal })).rejects.toMatchObject({ code: 'checkpoint.missing', kind: 'input' });
    await mkdir(join(directory, 'empty'));
    await expect(uploader.bring(join(directory, 'empty'), { signal })).rejects.toMatchObject({ code: 'checkpoint.empty', kind: 'input' });
    const broken = uploader.bring(await file('broken.safetensors', 'none'), { signal });
    await expect(broken).rejects.toMatchObject({ code: 'checkpoint.safetensors', reason: 'bad-request', status: 422 });
  });
});

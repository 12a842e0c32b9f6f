import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import nock from 'nock';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { filesystemSource } from '../../../src/adapters/checkpoints/filesystem.ts';
import { Uploader } from '../../../src/faces/client/uploads.ts';
import { InputError } from '../../../src/kernel/errors.ts';
import { parseDigest, type Digest } from '../../../src/kernel/ids.ts';
import { safetensorsFile, trained, weights } from '../../policy-distribution/safetensors-file.ts';
import { ClientFixture } from '../../support/client-fixture.ts';
import { CuttingProxy } from '../../support/cutting-proxy.ts';
import { sha256 } from '../../support/upload-fixture.ts';

// Real sockets are to reach the server, and to break.
beforeAll(() => nock.restore());

const NUMBERS = 2 ** 20;
const before = weights(NUMBERS, 1);
const { signal } = new AbortController();

let directory: string;
beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), 'muster-test-'))));
afterEach(() => rm(directory, { recursive: true }));

async function file(name: string, numbers: Uint16Array): Promise<{ path: string; digest: Digest; size: number }> {
  const content = safetensorsFile({ w: numbers });
  const path = join(directory, name);
  await writeFile(path, content);
  return { path, digest: parseDigest(`sha256:${sha256(content)}`), size: content.length };
}

/** Bytes that the client has sent to the server on its way to have the checkpoint there. */
async function sent(fixture: ClientFixture, bring: (uploader: Uploader) => Promise<unknown>): Promise<number> {
  await using proxy = await CuttingProxy.open(fixture.url, []);
  await bring(new Uploader(fixture.calls(proxy.url), filesystemSource));
  return proxy.sentBytes;
}

describe('sending the next checkpoint of a run', () => {
  it('sends a delta of the checkpoint that this client sent before', async () => {
    await using fixture = await ClientFixture.open();
    const [first, second] = [await file('step-1.safetensors', before), await file('step-2.safetensors', trained(before, 0.01, 2))];
    const bytes = await sent(fixture, async (uploader) => {
      await uploader.bring(first.path, { signal });
      expect(await uploader.bring(second.path, { signal })).toBe(second.digest);
    });
    expect(bytes - first.size).toBeLessThan(0.04 * second.size);
    expect((await fixture.files.checkpoints.find(second.digest))?.files).toMatchObject([{ path: 'step-2.safetensors', size: second.size }]);
  });

  it('sends a delta of a named base', async () => {
    await using fixture = await ClientFixture.open();
    const [first, second] = [await file('step-1.safetensors', before), await file('step-2.safetensors', trained(before, 0.01, 2))];
    await new Uploader(fixture.calls(), filesystemSource).bring(first.path, { signal });
    const bytes = await sent(fixture, (uploader) => uploader.bring(second.path, { signal, base: first.path }));
    expect(bytes).toBeLessThan(0.04 * second.size);
    expect(await fixture.files.checkpoints.find(second.digest)).toBeDefined();
  });

  it('continues with the delta where the connection broke', async () => {
    await using fixture = await ClientFixture.open();
    const [first, second] = [await file('step-1.safetensors', before), await file('step-2.safetensors', trained(before, 0.05, 2))];
    await new Uploader(fixture.calls(), filesystemSource).bring(first.path, { signal });
    await using proxy = await CuttingProxy.open(fixture.url, [100_000, 20_000, 100_000, 40_000]);
    const uploader = new Uploader(fixture.calls(proxy.url), filesystemSource, 50_000);
    const parts = vi.spyOn(fixture.files.uploads, 'append');
    expect(await fixture.during(uploader.bring(second.path, { signal, base: first.path }))).toBe(second.digest);
    const begun = parts.mock.calls.map(([{ content, offset }]) => [content.kind, offset]);
    expect(begun.length).toBeGreaterThan(3);
    expect(begun.filter(([, offset]) => offset === 0)).toHaveLength(1);
    expect(new Set(begun.map(([kind]) => kind))).toEqual(new Set(['delta']));
  });

  it.each([
    ['the server does not have the base of the delta', () => Promise.resolve(), 0.01],
    [
      'most numbers have changed',
      (fixture: ClientFixture, path: string) => new Uploader(fixture.calls(), filesystemSource).bring(path, { signal }),
      8,
    ],
    [
      'the base of the delta has changed meanwhile',
      async (_fixture: ClientFixture, path: string, uploader: Uploader) => {
        await uploader.bring(path, { signal });
        await writeFile(path, safetensorsFile({ w: weights(NUMBERS, 9) }));
      },
      0.01,
    ],
  ])('sends the whole file when %s', async (_, prepare, share) => {
    await using fixture = await ClientFixture.open();
    const [first, second] = [await file('step-1.safetensors', before), await file('step-2.safetensors', trained(before, share, 2))];
    await using proxy = await CuttingProxy.open(fixture.url, []);
    const uploader = new Uploader(fixture.calls(proxy.url), filesystemSource);
    await prepare(fixture, first.path, uploader);
    const already = proxy.sentBytes;
    expect(await uploader.bring(second.path, { signal, ...(already === 0 && { base: first.path }) })).toBe(second.digest);
    expect(proxy.sentBytes - already).toBeGreaterThan(second.size);
    expect(await fixture.files.checkpoints.find(second.digest)).toBeDefined();
  });

  it('sends the whole file when the server cannot use the delta', async () => {
    await using fixture = await ClientFixture.open();
    const [first, second] = [await file('step-1.safetensors', before), await file('step-2.safetensors', trained(before, 0.01, 2))];
    const uploader = new Uploader(fixture.calls(), filesystemSource);
    await uploader.bring(first.path, { signal });
    const gone = new InputError('checkpoint.base', 'it is not here any more');
    const refused = vi.spyOn(fixture.files.checkpoints, 'adoptDelta').mockRejectedValue(gone);
    expect(await uploader.bring(second.path, { signal })).toBe(second.digest);
    expect(refused).toHaveBeenCalledTimes(1);
    expect(await fixture.files.checkpoints.find(second.digest)).toBeDefined();
  });
});

import { describe, expect } from 'vitest';
import { CheckpointChangedError, type CheckpointSource, type ListedFile } from '../../src/policy-distribution/checkpoint-source.ts';
import { contractCase, type ExpectedFailures } from './expected-failure.ts';

/** What a source's adapter brings to be judged: a fresh, empty place that the source can read and the cases can write. */
export interface CheckpointSourceSubject extends AsyncDisposable {
  readonly source: CheckpointSource;
  /** The URI of a path in the place; `''` is the place itself. */
  readonly uri: (path: string) => string;
  /** Writes a whole file, over whatever was there. */
  readonly put: (path: string, bytes: Uint8Array) => Promise<void>;
  readonly remove: (path: string) => Promise<void>;
}

type Case = (subject: CheckpointSourceSubject) => Promise<void>;

/** Larger than what any source reads ahead at once, so that a change can happen under the read. */
const LARGE = 3 * 1024 * 1024 + 17;
const options = (): { signal: AbortSignal; maxFiles: number } => ({ signal: new AbortController().signal, maxFiles: 100 });

const cases: Readonly<Record<string, Case>> = {
  async 'a single file is listed under its own name'({ source, uri, put }) {
    await put('policy.bin', bytesOf('abc'));
    const listing = await source.list(uri('policy.bin'), options());
    expect(listing.kind).toBe('file');
    expect(listing.files).toMatchObject([{ path: 'policy.bin', size: 3 }]);
  },

  async 'a directory is listed with all that is below it, hidden files included'({ source, uri, put }) {
    await put('step-1/a.bin', bytesOf('a'));
    await put('step-1/deep/er/b.bin', bytesOf('bb'));
    await put('step-1/.hidden', bytesOf(''));
    await put('step-10/other.bin', bytesOf('not of step-1'));
    const listing = await source.list(uri('step-1'), options());
    expect(listing.kind).toBe('directory');
    expect(new Map(listing.files.map(({ path, size }) => [path, size]))).toEqual(
      new Map([
        ['a.bin', 1],
        ['deep/er/b.bin', 2],
        ['.hidden', 0],
      ]),
    );
  },

  async 'an ONNX model comes with the weights that lie beside it, as a directory of the two'({ source, uri, put }) {
    await put('run/policy.onnx', bytesOf('model'));
    await put('run/policy.onnx.data', bytesOf('weights'));
    await put('run/whole.onnx', bytesOf('all of it'));
    await put('run/policy.bin', bytesOf('b'));
    await put('run/policy.bin.data', bytesOf('something else'));
    const pair = await source.list(uri('run/policy.onnx'), options());
    expect(pair).toMatchObject({
      kind: 'directory',
      files: [
        { path: 'policy.onnx', size: 5 },
        { path: 'policy.onnx.data', size: 7 },
      ],
    });
    const read = await Promise.all(pair.files.map((file) => readAll(source, file)));
    expect(read.map(String)).toEqual(['model', 'weights']);
    for (const alone of ['run/whole.onnx', 'run/policy.bin'])
      expect(await source.list(uri(alone), options())).toMatchObject({ kind: 'file', files: [{}] });
  },

  async 'the bytes that are read are the bytes that were written'({ source, uri, put }) {
    const bytes = Uint8Array.from({ length: LARGE }, (_, index) => (index * 31) ^ (index >> 8));
    await put('large.bin', bytes);
    const read = await readAll(source, await only(source, uri('large.bin')));
    expect(read.equals(bytes)).toBe(true);
  },

  async 'the bytes from one on, where a source can hand them out, are those that stand there'({ source, uri, put }) {
    const bytes = Uint8Array.from({ length: LARGE }, (_, index) => (index * 31) ^ (index >> 8));
    await put('large.bin', bytes);
    const file = await only(source, uri('large.bin'));
    for (const from of source.readFrom ? [0, 1, LARGE - 5] : []) {
      const read: Uint8Array[] = [];
      for await (const chunk of source.readFrom?.(file, from, new AbortController().signal) ?? []) read.push(chunk);
      expect(Buffer.concat(read).equals(bytes.subarray(from))).toBe(true);
    }
  },

  async 'an empty file is read as no bytes'({ source, uri, put }) {
    await put('empty.bin', bytesOf(''));
    expect((await readAll(source, await only(source, uri('empty.bin')))).length).toBe(0);
  },

  async 'what does not exist is an input error that names it'({ source, uri, put }) {
    await put('there.bin', bytesOf('x'));
    await expect(source.list(uri('not-there'), options())).rejects.toMatchObject({
      kind: 'input',
      code: 'checkpoint.missing',
      message: expect.stringContaining('not-there'),
    });
  },

  async 'more files than allowed stop the listing'({ source, uri, put }) {
    for (const name of ['a', 'b', 'c']) await put(`many/${name}`, bytesOf(name));
    expect((await source.list(uri('many'), { ...options(), maxFiles: 3 })).files).toHaveLength(3);
    await expect(source.list(uri('many'), { ...options(), maxFiles: 2 })).rejects.toMatchObject({ code: 'checkpoint.too-many-files' });
  },

  async 'ignored files and directories are left out and not counted'({ source, uri, put }) {
    await put('code/task.py', bytesOf('x'));
    await put('code/cache/one', bytesOf('x'));
    await put('code/cache/two', bytesOf('x'));
    const listing = await source.list(uri('code'), {
      ...options(),
      maxFiles: 1,
      ignores: (path) => path === 'cache' || path.startsWith('cache/'),
    });
    expect(listing.files.map(({ path }) => path)).toEqual(['task.py']);
  },

  async 'an untouched file keeps its revision, a rewritten one does not, though its size is the same'({ source, uri, put }) {
    await put('a.bin', bytesOf('one'));
    const first = await only(source, uri('a.bin'));
    expect(await only(source, uri('a.bin'))).toEqual(first);
    await put('a.bin', bytesOf('two'));
    expect((await only(source, uri('a.bin'))).revision).not.toBe(first.revision);
  },

  async 'a file that was rewritten since it was listed is not read'({ source, uri, put }) {
    await put('a.bin', bytesOf('one'));
    const file = await only(source, uri('a.bin'));
    await put('a.bin', bytesOf('two'));
    await expect(readAll(source, file)).rejects.toThrow(CheckpointChangedError);
    await expect(readAll(source, file)).rejects.toThrow(file.address);
  },

  async 'a file that is gone since it was listed has changed'({ source, uri, put, remove }) {
    await put('a.bin', bytesOf('one'));
    const file = await only(source, uri('a.bin'));
    await remove('a.bin');
    await expect(readAll(source, file)).rejects.toThrow(CheckpointChangedError);
  },

  async 'a file that is rewritten under the read fails the read'({ source, uri, put }) {
    await put('a.bin', new Uint8Array(LARGE));
    const file = await only(source, uri('a.bin'));
    await expect(readAll(source, file, () => put('a.bin', new Uint8Array(LARGE).fill(1)))).rejects.toThrow(CheckpointChangedError);
  },

  async 'a file that grows under the read fails the read'({ source, uri, put }) {
    await put('a.bin', new Uint8Array(LARGE));
    const file = await only(source, uri('a.bin'));
    await expect(readAll(source, file, () => put('a.bin', new Uint8Array(LARGE + 1)))).rejects.toThrow(CheckpointChangedError);
  },

  async 'an aborted signal stops a listing with its reason'({ source, uri, put }) {
    await put('d/a.bin', bytesOf('x'));
    const reason = new Error('stopped');
    await expect(source.list(uri('d'), { ...options(), signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  },

  async 'an abort under the read stops it with its reason'({ source, uri, put }) {
    await put('a.bin', new Uint8Array(LARGE));
    const file = await only(source, uri('a.bin'));
    const stop = new AbortController();
    const reason = new Error('stopped');
    await expect(readAll(source, file, async () => stop.abort(reason), stop.signal)).rejects.toBe(reason);
  },
};

/**
 * Runs every case on a fresh subject.
 *
 * @param unfit cases that the source cannot meet.
 */
export function checkpointSourceContract(
  name: string,
  makeSubject: () => Promise<CheckpointSourceSubject>,
  unfit: ExpectedFailures = {},
): void {
  describe(`${name} keeps the contract of a checkpoint source`, () => {
    for (const [title, run] of Object.entries(cases)) {
      const test = async (): Promise<void> => {
        await using subject = await makeSubject();
        await run(subject);
      };
      contractCase(title, test, unfit[title]);
    }
  });
}

async function only(source: CheckpointSource, uri: string): Promise<ListedFile> {
  const [file] = (await source.list(uri, options())).files;
  if (file === undefined) throw new Error(`nothing is listed at ${uri}`);
  return file;
}

/** @param afterFirst runs once, when the first bytes have come. */
async function readAll(
  source: CheckpointSource,
  file: ListedFile,
  afterFirst: () => Promise<void> = async () => undefined,
  signal: AbortSignal = options().signal,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source.read(file, signal)) {
    chunks.push(chunk);
    if (chunks.length === 1) await afterFirst();
  }
  return Buffer.concat(chunks);
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text);
}

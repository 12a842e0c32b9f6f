import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/kernel/errors.ts';
import { readZipDirectory, type ZipEntry } from '../../src/policy-distribution/formats/zip-directory.ts';
import { pythonInterpreter } from '../support/python-interpreter.ts';

/** Written by Python's zipfile, which PyTorch's own archives are read with as well. */
const WRITE = `
import io, sys, zipfile
target = io.BytesIO()
with zipfile.ZipFile(target, "w") as archive:
    archive.comment = b"a comment, PK\\x05\\x06 and all"
    with archive.open("model/data.pkl", "w", force_zip64=True) as entry:
        entry.write(b"x" * 300)
    archive.writestr(zipfile.ZipInfo("model/data/0"), b"y" * 20, zipfile.ZIP_DEFLATED)
    archive.writestr("größe.txt", b"")
sys.stdout.buffer.write(target.getvalue())
`;
const ARCHIVE = execFileSync(pythonInterpreter().executable, ['-c', WRITE]);

function read(bytes: Uint8Array): Promise<readonly ZipEntry[]> {
  return readZipDirectory('p.pt', bytes.length, async (position, length) => bytes.subarray(position, position + length));
}

/** The same archive with the end that archives beyond 4 GiB have. */
function asZip64(bytes: Buffer): Buffer {
  const endAt = bytes.indexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  const end = Buffer.from(bytes.subarray(endAt, endAt + 22));
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x06064b50);
  record.writeBigUInt64LE(BigInt(end.readUInt32LE(12)), 40);
  record.writeBigUInt64LE(BigInt(end.readUInt32LE(16)), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50);
  locator.writeBigUInt64LE(BigInt(endAt), 8);
  end.fill(0xff, 12, 20);
  end.writeUInt16LE(0, 20);
  return Buffer.concat([bytes.subarray(0, endAt), record, locator, end]);
}

describe('the directory of a ZIP archive', () => {
  it('names its entries, with their sizes', async () => {
    const entries = await read(ARCHIVE);
    expect(entries.map(({ name, size }) => [name, size])).toEqual([
      ['model/data.pkl', 300],
      ['model/data/0', 20],
      ['größe.txt', 0],
    ]);
    expect(entries[1]?.packed).toBeLessThan(20);
  });

  it('is found in archives beyond 4 GiB', async () => {
    expect(await read(asZip64(ARCHIVE))).toEqual(await read(ARCHIVE));
  });

  it.each([0, 1, 21, 100])('that is cut off after %i bytes is refused', async (length) => {
    await expect(read(ARCHIVE.subarray(0, length))).rejects.toMatchObject({ kind: 'input', code: 'checkpoint.zip' });
  });

  it('with false sizes is read or refused, without another error', async () => {
    const change = fc.record({ at: fc.double({ min: 0, max: 0.999_999, noNaN: true }), to: fc.uint8Array({ minLength: 1, maxLength: 8 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(ARCHIVE, asZip64(ARCHIVE)),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        async (archive, changes) => {
          const bytes = Buffer.from(archive);
          for (const { at, to } of changes)
            bytes.set(to.subarray(0, bytes.length - Math.floor(at * bytes.length)), Math.floor(at * bytes.length));
          const answer = await read(bytes).catch((error: unknown) => error);
          expect(Array.isArray(answer) || answer instanceof InputError).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('that claims more than is read at once is refused', async () => {
    const bytes = Buffer.from(ARCHIVE);
    bytes.writeUInt32LE(0xfffffff0, bytes.indexOf(Buffer.from([0x50, 0x4b, 5, 6])) + 12);
    await expect(read(bytes)).rejects.toThrow('its directory has 4294967280 bytes (4.0 GiB); expected at most');
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnknownPickle } from '../../src/policy-distribution/formats/pickled-values.ts';
import { readPickledTensors } from '../../src/policy-distribution/formats/pickled-tensors.ts';
import { readZipDirectory, readZipEntry } from '../../src/policy-distribution/formats/zip-directory.ts';

function isReadOrRefused(bytes: Uint8Array): boolean {
  try {
    return readPickledTensors(bytes).length >= 0;
  } catch (error) {
    return error instanceof UnknownPickle;
  }
}

async function pickle(sample: string): Promise<Uint8Array> {
  const file = readFileSync(join(import.meta.dirname, 'samples', sample));
  const readAt = async (position: number, length: number): Promise<Uint8Array> => file.subarray(position, position + length);
  const entry = (await readZipDirectory(sample, file.length, readAt)).find(({ name }) => name.endsWith('/data.pkl'));
  if (!entry) throw new Error('the sample has a pickle');
  return readZipEntry(sample, entry, readAt, 1_000_000);
}

describe('the pickle of a state dict', () => {
  it('that calls other functions than tensors need is not described', () => {
    const evil = Buffer.from('\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.', 'latin1');
    expect(() => readPickledTensors(evil)).toThrow(new UnknownPickle('it calls os.system'));
  });

  it('that refers to itself ends', () => {
    const endless = Buffer.from([0x80, 2, 0x5d, 0x71, 0, 0x68, 0, 0x61, 0x2e]);
    expect(() => readPickledTensors(endless)).toThrow('nested too deeply');
  });

  it.each(['state.pth', 'module.pt'])('is read as it is, or refused, whatever stands in it: %s', async (sample) => {
    const bytes = await pickle(sample);
    const anything = fc.property(fc.nat(bytes.length - 1), fc.nat(255), fc.nat(bytes.length), (at, value, end) => {
      const changed = Uint8Array.from(bytes.subarray(0, end));
      if (at < end) changed[at] = value;
      return isReadOrRefused(changed);
    });
    expect(fc.check(anything, { numRuns: 3000, seed: 1 })).toMatchObject({ failed: false });
  });
});

describe('the pickle of a TorchScript model', () => {
  it('names parameters and buffers by their modules', async () => {
    expect(readPickledTensors(await pickle('module.pt'))).toEqual([
      { name: 'mean', dtype: 'F64', shape: [4] },
      { name: 'net.0.weight', dtype: 'F32', shape: [8, 4] },
      { name: 'net.0.bias', dtype: 'F32', shape: [8] },
      { name: 'net.2.weight', dtype: 'F32', shape: [2, 8] },
      { name: 'net.2.bias', dtype: 'F32', shape: [2] },
    ]);
  });

  it('of a class that is not in the archive is not described', () => {
    const foreign = Buffer.from('\x80\x02cmodels\nPolicy\n)\x81}b.', 'latin1');
    expect(() => readPickledTensors(foreign)).toThrow(new UnknownPickle('it calls models.Policy'));
  });
});

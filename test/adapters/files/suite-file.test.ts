import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readSuiteFile } from '../../../src/adapters/files/suite-file.ts';

it('a checkpoint in place of a suite is refused', async () => {
  await expect(readSuiteFile('runs/late.safetensors')).rejects.toMatchObject({
    code: 'suite.swapped',
    message: expect.stringContaining("runs/late.safetensors has the name of a checkpoint's file; expected a suite"),
  });
});

it('an agent in place of a suite is refused as an agent, and a suite that names an agent is accepted', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'muster-suite-file-'));
  try {
    const file = path.join(directory, 'qwen.yaml');
    await writeFile(file, 'agent: model\nendpoint: trainer\nmodel: policy\n');
    const message = `${file} describes an agent; expected a suite`;
    await expect(readSuiteFile(file)).rejects.toMatchObject({ code: 'suite.swapped', message });
    await writeFile(file, 'agent: oracle\nname: code\n');
    expect((await readSuiteFile(file)).value).toEqual({ agent: 'oracle', name: 'code' });
  } finally {
    await rm(directory, { recursive: true });
  }
});

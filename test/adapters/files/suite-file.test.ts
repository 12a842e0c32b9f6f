import { expect, it } from 'vitest';
import { readSuiteFile } from '../../../src/adapters/files/suite-file.ts';

it('a checkpoint that stands where a suite is expected is not read as one', async () => {
  await expect(readSuiteFile('runs/late.safetensors')).rejects.toMatchObject({
    code: 'suite.swapped',
    message: expect.stringContaining("runs/late.safetensors has the name of a checkpoint's file, and stands where the suite is expected"),
  });
});

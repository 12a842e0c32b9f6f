import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStateDirectory } from '../../../src/adapters/files/state-directory.ts';

describe('a state directory', () => {
  let directory: string;
  beforeEach(async () => (directory = await mkdtemp(path.join(tmpdir(), 'muster-state-'))));
  afterEach(async () => await rm(directory, { recursive: true }));

  it('is created if it is missing, and used if it exists', async () => {
    const stateDir = path.join(directory, 'deep/state');
    await openStateDirectory(stateDir);
    await mkdir(path.join(stateDir, 'store/incoming'), { recursive: true });
    await expect(openStateDirectory(stateDir)).resolves.toBeUndefined();
  });

  // A command that root ran makes directories that the service's user may not write to. A file stands for one, as it is closed to root, too.
  it.each(['store', 'uploads', 'sandboxes', 'store/incoming', 'store/holds'])(
    'with a %s that this user may not write to is refused before anything needs it',
    async (part) => {
      const file = path.join(directory, part);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, '', { mode: 0o600 });
      await expect(openStateDirectory(directory)).rejects.toMatchObject({
        code: 'config.state-dir',
        message: expect.stringMatching(new RegExp(`${directory} cannot be used: .*${part}'; give all of it to this user, or set stateDir`)),
      });
    },
  );
});

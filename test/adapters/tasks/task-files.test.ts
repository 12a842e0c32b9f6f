import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readTaskContent } from '../../../src/adapters/tasks/task-content.ts';
import { readTaskDirectory } from '../../../src/adapters/tasks/task-files.ts';
import { readTask } from '../../../src/agents/tasks/read-task.ts';
import { caseTaskFiles, taskDirectory } from '../../support/task-fixture.ts';

describe('a task directory on disk', () => {
  let top = '';
  beforeEach(async () => {
    top = await mkdtemp(join(tmpdir(), 'muster-task-'));
    for (const [path, text] of Object.entries(caseTaskFiles())) {
      await mkdir(dirname(join(top, path)), { recursive: true });
      await writeFile(join(top, path), text);
    }
  });
  afterEach(() => rm(top, { recursive: true, force: true }));

  it('equals the same task in memory, digest included, and an executable file makes another task', async () => {
    const task = readTask(await readTaskDirectory(top));
    expect(task.digest).toBe(readTask(taskDirectory(caseTaskFiles())).digest);
    await chmod(join(top, 'solution/double.py'), 0o755);
    expect(readTask(await readTaskDirectory(top)).digest).not.toBe(task.digest);
  });

  it('is read as it was when the task was read: a small file once, and a large one only unchanged', async () => {
    const [small, large] = ['tests/small', 'tests/large'];
    for (const [path, bytes] of [[small, 100] as const, [large, 70_000] as const]) await writeFile(join(top, path), 'a'.repeat(bytes));
    const content = readTaskContent(top, readTask(await readTaskDirectory(top)));
    const before = await content.read(small);
    for (const path of [small, large]) await writeFile(join(top, path), 'b');
    expect(await content.read(small)).toEqual(before);
    await expect(content.read(large)).rejects.toThrow(/tests\/large: it has changed since the task was read; start again/);
  });

  it('is refused with links, special files, and unusable names', async () => {
    const link = join(top, 'tests/link');
    await symlink('/etc/passwd', link);
    await expect(readTaskDirectory(top)).rejects.toThrow(/tests\/link: it is a symbolic link; expected files and directories only/);
    await rm(link);
    execFileSync('mkfifo', [link]);
    await expect(readTaskDirectory(top)).rejects.toThrow(/tests\/link: it is not a regular file/);
    await rm(link);
    await writeFile(join(top, 'a\nb'), '');
    await expect(readTaskDirectory(top)).rejects.toThrow(/expected a relative path of plain names/);
  });

  it('is refused when it is missing, or its task.toml is too large', async () => {
    await expect(readTaskDirectory(join(top, 'none'))).rejects.toThrow(/the task's directory cannot be read/);
    await writeFile(join(top, 'instruction.md'), Buffer.alloc(4 * 1024 * 1024 + 1, 'a'));
    await expect(readTaskDirectory(top)).rejects.toThrow(
      'instruction.md has 4194305 bytes (4.0 MiB); such a file has at most 4194304 bytes (4.0 MiB)',
    );
  });
});

import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import type { ReportDocument } from '../../faces/report/document.ts';

/** Where a command puts its page. */
export interface ReportFile {
  /** The page is there whole or not at all. @throws InfrastructureError when it cannot be written. */
  write(document: ReportDocument): Promise<void>;
}

/** @param flag that named the path. @throws InputError at once, before anything is played, when a page could not be put there. */
export async function reportFile(path: string, flag = '--report'): Promise<ReportFile> {
  const target = resolve(path);
  try {
    // A directory may refuse files although its mode allows them, as those of /proc do.
    await writeFile(createPartialPath(target), '');
    await rm(createPartialPath(target));
    const isDirectory = (await stat(target).catch(() => undefined))?.isDirectory();
    if (isDirectory === true) throw new Error('it is a directory');
  } catch (error) {
    throw new InputError(
      'report.unusable',
      `${flag} ${path} cannot be written: ${getMessage(error)}; name a file in a directory that you may write to`,
      {
        cause: error,
      },
    );
  }
  return { write: (document) => write(`${flag} ${path}`, target, document) };
}

async function write(what: string, target: string, document: ReportDocument): Promise<void> {
  // What draws the page is read by those who ask for one.
  const { reportPage } = await import('../../faces/report/page.ts');
  const partial = createPartialPath(target);
  try {
    await writeFile(partial, reportPage(document));
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { force: true });
    throw new InfrastructureError(
      'report.write',
      `${what} could not be written: ${getMessage(error)}; free space there or name another file`,
      {
        cause: error,
      },
    );
  }
}

const createPartialPath = (target: string): string => `${target}.partial`;

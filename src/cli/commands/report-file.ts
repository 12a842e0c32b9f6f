import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { getReason } from '../../kernel/errno.ts';
import { InfrastructureError, InputError, getMessage } from '../../kernel/errors.ts';
import type { ReportDocument } from '../../faces/report/document.ts';

/** The destination of a command's page. */
export interface ReportFile {
  /** Writes the whole page or nothing. @throws InfrastructureError when it cannot be written. */
  write(document: ReportDocument): Promise<void>;
}

/** @param flag that named the path. @throws InputError before anything is played when the page could not be written there. */
export async function reportFile(path: string, flag = '--report'): Promise<ReportFile> {
  const target = resolve(path);
  try {
    // Some directories refuse files although their mode allows them, such as those of /proc.
    await writeFile(createPartialPath(target), '');
    await rm(createPartialPath(target));
    const isDirectory = (await stat(target).catch(() => undefined))?.isDirectory();
    if (isDirectory === true) throw new Error('it is a directory');
  } catch (error) {
    throw new InputError(
      'report.unusable',
      `${flag} ${path} cannot be written: ${getReason(error, path)}; name a file in a directory that you may write to`,
      {
        cause: error,
      },
    );
  }
  return { write: (document) => write(`${flag} ${path}`, target, document) };
}

async function write(what: string, target: string, document: ReportDocument): Promise<void> {
  // The module that draws the page is loaded only when a page is wanted.
  const { renderReportPage } = await import('../../faces/report/page.ts');
  const partial = createPartialPath(target);
  try {
    await writeFile(partial, renderReportPage(document));
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

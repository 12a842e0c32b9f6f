import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { hasErrno } from '../../../../kernel/errno.ts';
import { listDirectoryNames } from '../../../files/path-contents.ts';

/** The kernel's control-group file system, as far as it is used: a seam, because its directories fill themselves. */
export interface CgroupFiles {
  /** @throws the system error, also when the directory exists. */
  makeDirectory(path: string): Promise<void>;
  /** Removes one group with its control files. @throws EBUSY while a process is in it. */
  removeDirectory(path: string): Promise<void>;
  /** Lists the names of the child groups; none when the group is gone. */
  listChildren(path: string): Promise<readonly string[]>;
  /** @returns undefined when there is no such file. */
  read(path: string): Promise<string | undefined>;
  /** @returns false when there is no such file. */
  write(path: string, text: string): Promise<boolean>;
}

export const kernelCgroupFiles: CgroupFiles = {
  makeDirectory: (path) => mkdir(path),
  removeDirectory: (path) => rmdir(path),
  listChildren: listDirectoryNames,
  async read(path) {
    try {
      return await readFile(path, 'utf8');
    } catch (error) {
      // A group that is removed between open and read answers ENODEV.
      if (hasErrno(error, 'ENOENT', 'ENODEV')) return undefined;
      throw error;
    }
  },
  async write(path, text) {
    try {
      await writeFile(path, text, { flag: 'r+' });
      return true;
    } catch (error) {
      if (hasErrno(error, 'ENOENT', 'ENODEV')) return false;
      throw error;
    }
  },
};

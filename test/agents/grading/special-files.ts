import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Makes a named pipe. */
export async function mkfifo(file: string): Promise<void> {
  await promisify(execFile)('mkfifo', [file]);
}

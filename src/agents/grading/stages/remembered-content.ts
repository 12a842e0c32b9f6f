import type { TaskContent } from '../grading-context.ts';

/** Reads each file once, as the driver is put into a sandbox before every run. It belongs to one verdict. */
export function rememberContent(content: TaskContent): TaskContent {
  const read = new Map<string, Promise<Buffer>>();
  return {
    read(path) {
      const reading = read.get(path) ?? content.read(path);
      read.set(path, reading);
      return reading;
    },
  };
}

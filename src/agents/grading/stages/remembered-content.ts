import type { TaskContent } from '../grading-context.ts';

/** Reads each file once: the driver goes into a sandbox before every run. It is for one verdict, and forgotten with it. */
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

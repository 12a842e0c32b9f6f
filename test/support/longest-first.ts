import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Folders whose files take longest, whatever their size: each starts processes, sandboxes or servers. */
const LONGEST = ['test/packages/', 'test/contract/', 'test/end-to-end/', 'test/attacks/', 'test/agents/'];

/**
 * Without times of an earlier run, Vitest begins with the largest files. A small file that runs a large suite would then begin last, and keep one
 * process busy for a minute while the others have nothing to do.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => Number(isLong(b)) - Number(isLong(a)));
  }
}

function isLong({ moduleId }: TestSpecification): boolean {
  const file = path.relative(process.cwd(), moduleId);
  return LONGEST.some((folder) => file.startsWith(folder));
}

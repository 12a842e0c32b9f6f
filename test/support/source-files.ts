import type { SourceFiles } from '../../src/agents/preparation/source/source-files.ts';
import type { FileContents } from './grading-fixture.ts';

/** Files of a repository, as preparation reads them. */
export function filesOf(contents: FileContents): SourceFiles {
  return new Map(Object.entries(contents).map(([path, content]) => [path, { content: Buffer.from(content), executable: false }]));
}

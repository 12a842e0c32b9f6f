/**
 * Lists the files of src/ that a way leads through: those with a function that ran more often in one run than in another (docs/walkthrough.md).
 *
 * node scripts/files-on-the-way.mjs COVERAGE [COVERAGE_WITHOUT] [LEAST]: directories that NODE_V8_COVERAGE has filled, and how many more runs count.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns each named function, by file and position, with its number of runs. */
function countRuns(directory) {
  const runs = new Map();
  for (const file of directory ? readdirSync(directory) : [])
    for (const { url, functions } of JSON.parse(readFileSync(join(directory, file), 'utf8')).result) {
      const path = /\/src\/(.*\.ts)$/.exec(url)?.[1];
      for (const { functionName, ranges } of path ? functions : []) {
        const key = `${path} ${functionName} ${ranges[0].startOffset}`;
        if (functionName !== '') runs.set(key, (runs.get(key) ?? 0) + ranges[0].count);
      }
    }
  return runs;
}

const [directory, without = '', least = '1'] = process.argv.slice(2);
const before = countRuns(without);
const more = [...countRuns(directory)].filter(([key, count]) => count - (before.get(key) ?? 0) >= Number(least));
const files = [...new Set(more.map(([key]) => String(key.split(' ')[0])))].sort((one, other) => one.localeCompare(other));
process.stdout.write(`${files.join('\n')}\n${files.length} files\n`);

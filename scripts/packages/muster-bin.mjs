#!/usr/bin/env -S node --max-semi-space-size=16
// The command of the npm package. It is plain JavaScript that old versions of Node can parse, so that they can report that they are too
// old.
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';

const OLDEST = [24, 12];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(
    `muster: this is Node ${process.versions.node}, and ${OLDEST.join('.')} or newer is needed; install it, or put it beside Muster: npm install node@24\n`,
  );
  process.exit(3);
}
// Node keeps the compiled code for the next start, which halves the time of a short command.
module.enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'muster', 'node'));
await import('../src/cli/muster.js');

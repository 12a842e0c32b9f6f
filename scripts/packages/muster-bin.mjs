#!/usr/bin/env -S node --max-semi-space-size=16
// The command of the npm package. Plain JavaScript that old Nodes can read, so that they can say that they are too old.
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
// What has been compiled is kept for the next start: it is half of what a short command takes.
module.enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'muster', 'node'));
await import('../src/cli/muster.js');

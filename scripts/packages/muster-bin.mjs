#!/usr/bin/env -S node --max-semi-space-size=16
// The command of the npm package. It is plain JavaScript that old versions of Node can parse, so that they can report that they are too
// old.
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describeOldNode } from './required-node.js';

const oldNode = describeOldNode();
if (oldNode !== undefined) {
  process.stderr.write(`muster: ${oldNode}\n`);
  process.exit(3);
}
// Node keeps the compiled code for the next start, which halves the time of a short command.
module.enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'muster', 'node'));
await import('../src/cli/muster.js');

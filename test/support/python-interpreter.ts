import { execFileSync } from 'node:child_process';
import { z } from 'zod';
import type { Mount } from '../../src/pool/ports/template.ts';

/** The Python on PATH, and what of it has to be mounted for a sandbox that has /usr only. */
export function pythonInterpreter(): { readonly executable: string; readonly mounts: readonly Mount[] } {
  const script = 'import json, os, sys; print(json.dumps([os.path.realpath(sys.executable), os.path.realpath(sys.base_prefix)]))';
  const [executable, prefix] = z
    .tuple([z.string(), z.string()])
    .parse(JSON.parse(execFileSync('python3', ['-c', script], { encoding: 'utf8' })));
  return { executable, mounts: prefix.startsWith('/usr') ? [] : [{ source: prefix, target: prefix }] };
}

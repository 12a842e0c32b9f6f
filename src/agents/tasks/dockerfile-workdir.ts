import { posix } from 'node:path';

const HERE_DOCUMENT = /<<-?\s*(["']?)(?<end>[A-Za-z_]\w*)\1/g;
const FROM = /^FROM\s+(?:--\S+\s+)*(?<image>\S+)(?:\s+AS\s+(?<name>\S+))?$/i;
const WORKDIR = /^WORKDIR\s+(?<path>.+)$/i;

/**
 * Finds the working directory of a Dockerfile's last stage, as far as the text shows it. Returns undefined where it does not: the stage inherits it
 * from an image, or names it by a variable. The root directory itself is no workdir, as it is not writable.
 */
export function findDockerfileWorkdir(text: string): string | undefined {
  const stages = new Map<string, string | undefined>();
  let name: string | undefined;
  let workdir: string | undefined;
  for (const instruction of listInstructions(text)) {
    const stage = FROM.exec(instruction)?.groups;
    if (stage) {
      workdir = stages.get(stage['image']?.toLowerCase() ?? '');
      name = stage['name']?.toLowerCase();
    } else {
      const path = WORKDIR.exec(instruction)?.groups?.['path'];
      if (path !== undefined) workdir = resolveWorkdir(workdir, path.trim().replaceAll(/^(["'])(.*)\1$/g, '$2'));
    }
    if (name !== undefined) stages.set(name, workdir);
  }
  return workdir === '/' ? undefined : workdir;
}

function resolveWorkdir(before: string | undefined, path: string): string | undefined {
  if (path.includes('$')) return undefined;
  if (path.startsWith('/')) return posix.resolve(path);
  return before === undefined ? undefined : posix.resolve(before, path);
}

/** Joins continued lines; leaves out comments and here-documents. */
function listInstructions(text: string): readonly string[] {
  const lines = text
    .replaceAll('\r\n', '\n')
    .replaceAll(/^[ \t]*#.*\n?/gm, '')
    .replaceAll(/\\[ \t]*\n/g, ' ')
    .split('\n');
  const instructions: string[] = [];
  let ends: string[] = [];
  for (const line of lines.map((each) => each.trim())) {
    if (ends.length > 0) {
      if (line === ends[0]) ends = ends.slice(1);
      continue;
    }
    instructions.push(line);
    ends = /^(RUN|COPY|ADD)\s/i.test(line) ? [...line.matchAll(HERE_DOCUMENT)].flatMap(({ groups }) => groups?.['end'] ?? []) : [];
  }
  return instructions;
}

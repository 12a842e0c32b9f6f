import { readFile } from 'node:fs/promises';
import { glob } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const PROJECT = join(import.meta.dirname, '..');
const MOST_ROOMS = 14;
const MOST_FILES = 22;
const IMPORT = /(?:from\s+|import\s*\(?\s*|new URL\(\s*)'(\.{1,2}\/[^']+\.ts)'/g;

/** Each source file below src/, with the files that it imports, types included. */
async function importsByFile(): Promise<ReadonlyMap<string, readonly string[]>> {
  const imports = new Map<string, readonly string[]>();
  for await (const file of glob('src/**/*.ts', { cwd: PROJECT })) {
    const text = await readFile(join(PROJECT, file), 'utf8');
    imports.set(
      file,
      Array.from(text.matchAll(IMPORT), ([, path = '']) => join(dirname(file), path)),
    );
  }
  return imports;
}

const PYTHON_IMPORT = /^\s*from (muster\w*(?:\.\w+)*) import ([\w, ]*)/gm;

/** Each Python module below a folder, with the modules of the same folder that it imports, types included. */
async function importsOfPython(folder: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const texts = new Map<string, string>();
  for await (const file of glob('muster*/**/*.py', { cwd: join(PROJECT, folder) })) {
    const module = file.replace(/(\/__init__)?\.py$/, '').replaceAll('/', '.');
    texts.set(module, await readFile(join(PROJECT, folder, file), 'utf8'));
  }
  const find = ([, module = '', names = '']: RegExpMatchArray): readonly string[] => {
    const below = names.split(', ').map((name) => `${module}.${name}`);
    return below.every((name) => texts.has(name)) ? below : [module];
  };
  return new Map(Array.from(texts, ([module, text]) => [module, Array.from(text.matchAll(PYTHON_IMPORT), find).flat()]));
}

/** The graph of `nameOf(file)`, without arrows from a name to itself. */
function graphOf(imports: ReadonlyMap<string, readonly string[]>, nameOf: (file: string) => string): Map<string, Set<string>> {
  const graph = new Map<string, Set<string>>();
  for (const [file, imported] of imports) {
    const targets = graph.get(nameOf(file)) ?? new Set();
    for (const other of imported.map(nameOf)) if (other !== nameOf(file)) targets.add(other);
    graph.set(nameOf(file), targets);
  }
  return graph;
}

/** The nodes that are left when nodes without imports are removed again and again: those of circles, and what leads to them. */
function withoutEnds(graph: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  let left = new Map(graph);
  for (;;) {
    const kept = new Map([...left].filter(([, targets]) => [...targets].some((target) => left.has(target))));
    if (kept.size === left.size) return [...left.keys()].sort();
    left = kept;
  }
}

const roomOf = (file: string): string => file.split('/')[1] ?? '';

/** The table of ARCHITECTURE.md: a room's name → the rooms that it imports. */
async function documentedRooms(): Promise<ReadonlyMap<string, readonly string[]>> {
  const text = await readFile(join(PROJECT, 'ARCHITECTURE.md'), 'utf8');
  const rows = text.matchAll(/^\| `src\/([\w-]+)` \|.*\| ([^|]+) \|$/gm);
  return new Map(Array.from(rows, ([, room = '', imports = '']) => [room, imports === 'nothing' ? [] : imports.split(', ')]));
}

describe('the rooms of src/', () => {
  it('import what the table of ARCHITECTURE.md says, and nothing else', async () => {
    const graph = graphOf(await importsByFile(), roomOf);
    const actual = Object.fromEntries([...graph].map(([room, targets]) => [room, [...targets].sort()]));
    expect(actual).toEqual(Object.fromEntries(await documentedRooms()));
    expect(graph.size).toBeLessThanOrEqual(MOST_ROOMS);
  });

  it('import only rooms that the table lists above them', async () => {
    const rooms = [...(await documentedRooms())];
    const up = rooms.flatMap(([room, imports], at) => {
      const above = new Set(rooms.slice(0, at).map(([name]) => name));
      return imports.filter((other) => !above.has(other)).map((other) => `${room} imports ${other}`);
    });
    expect(rooms.length).toBeGreaterThan(10);
    expect(up).toEqual([]);
  });

  it('have no cycle between files or folders, also not by type', async () => {
    const imports = await importsByFile();
    const byFile = graphOf(imports, (file) => file);
    expect(byFile.size).toBeGreaterThan(500);
    expect(withoutEnds(byFile)).toEqual([]);
    expect(withoutEnds(graphOf(imports, dirname))).toEqual([]);
  });

  it('have no folder with too many files directly in it', async () => {
    const folders = Map.groupBy((await importsByFile()).keys(), dirname);
    const full = [...folders].filter(([, files]) => files.length > MOST_FILES);
    expect(full.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([]);
  });
});

describe.each(['runner', 'clients/python/src'])('the Python modules of %s', (folder) => {
  it('have no circle, also not by type', async () => {
    const graph = graphOf(await importsOfPython(folder), (module) => module);
    expect([...graph.values()].filter((imported) => imported.size > 0).length).toBeGreaterThan(50);
    expect(withoutEnds(graph)).toEqual([]);
  });
});

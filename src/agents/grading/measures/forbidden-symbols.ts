import type { WorkspaceFile } from '../../workspace/command.ts';
import { readElfSymbols } from './elf-symbols.ts';

export type FoundNames = { readonly found: string[]; readonly reason?: undefined } | { readonly found: null; readonly reason: string };

/**
 * Which of the forbidden symbols the programs and libraries among the files define or ask for.
 *
 * A program that has its symbols taken away says nothing of what it uses, so it fails; one that finds a function by its name as it runs has
 * dlsym among its symbols.
 */
export function findForbiddenSymbols(forbidden: readonly string[], files: readonly WorkspaceFile[]): FoundNames {
  const programs = files.filter(({ content }) => content.subarray(0, 4).equals(Buffer.from('7f454c46', 'hex')));
  if (programs.length === 0) return { found: null, reason: 'there is no program or library for 64-bit Linux to look at' };
  const used = new Set<string>();
  for (const { path, content } of programs) {
    const symbols = readElfSymbols(content);
    if (symbols === undefined) return { found: null, reason: `${path} has no table of symbols that can be read` };
    for (const name of symbols) used.add(name);
  }
  return { found: forbidden.filter((name) => used.has(name)) };
}

import type { WorkspaceFile } from '../../workspace/command.ts';

/** ELF, 64 bits, little-endian: elf(5). */
const MAGIC = Buffer.from('7f454c460201', 'hex');
const SECTION_BYTES = 64;
const SYMBOL_BYTES = 24;
const SYMBOL_TABLES: ReadonlySet<number> = new Set([2, 11]);
const MOST_SECTIONS = 65_535;

/**
 * Reads the names of the symbols that a program or library defines or needs, from both of its tables, without versions.
 *
 * @returns undefined for another kind of file, and for one whose tables are missing or outside of it: its symbols are then unknown.
 */
export function readElfSymbols(content: Buffer): ReadonlySet<string> | undefined {
  if (content.length < SECTION_BYTES || !content.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const [start, size, count] = [content.readBigUInt64LE(40), content.readUInt16LE(58), content.readUInt16LE(60)];
  const headers = readPart(content, start, BigInt(size) * BigInt(count));
  if (headers === undefined || size !== SECTION_BYTES || count > MOST_SECTIONS) return undefined;
  const names = new Set<string>();
  let tables = 0;
  for (let at = 0; at < headers.length; at += SECTION_BYTES) {
    if (!SYMBOL_TABLES.has(headers.readUInt32LE(at + 4))) continue;
    const link = headers.readUInt32LE(at + 40);
    if (link >= count) return undefined;
    const symbols = getSection(content, headers, at);
    const texts = getSection(content, headers, link * SECTION_BYTES);
    if (symbols === undefined || texts === undefined) return undefined;
    tables += 1;
    addNames(names, symbols, texts);
  }
  return tables === 0 ? undefined : names;
}

function addNames(names: Set<string>, symbols: Buffer, texts: Buffer): void {
  for (let at = 0; at + SYMBOL_BYTES <= symbols.length; at += SYMBOL_BYTES) {
    const begin = symbols.readUInt32LE(at);
    // Names longer than any forbidden one are cut off, so the time grows only with the number of symbols.
    const text = texts.subarray(begin, begin + 512);
    const end = text.indexOf(0);
    const [name = ''] = text.toString('latin1', 0, end === -1 ? text.length : end).split('@', 1);
    if (name !== '') names.add(name);
  }
}

function getSection(content: Buffer, headers: Buffer, at: number): Buffer | undefined {
  return readPart(content, headers.readBigUInt64LE(at + 24), headers.readBigUInt64LE(at + 32));
}

function readPart(content: Buffer, start: bigint, bytes: bigint): Buffer | undefined {
  if (start + bytes > BigInt(content.length)) return undefined;
  return content.subarray(Number(start), Number(start + bytes));
}

type FoundNames = { readonly found: string[]; readonly reason?: undefined } | { readonly found: null; readonly reason: string };

/**
 * Finds which of the forbidden symbols the programs and libraries among the files define or need.
 *
 * A stripped program does not show what it uses, so it fails; one that looks a function up at run time has dlsym among its symbols.
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

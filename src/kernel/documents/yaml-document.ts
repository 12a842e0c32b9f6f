import { Composer, Lexer, LineCounter, Parser, type Document } from 'yaml';

/**
 * Bounds of a YAML text. The largest suites and batches that people and programs write have some ten thousand values and about ten levels.
 * Reading a text at the bounds takes about a second.
 */
export const YAML_BOUNDS = {
  /** Characters of the text. */
  characters: 4 * 1024 * 1024,
  /** Tokens of the lexer: a value in a list has two or three, a key with its value six. */
  tokens: 500_000,
  /** Nested lists and mappings, aliases included. */
  depth: 64,
  /** Counted with every alias replaced by its value. */
  values: 200_000,
} as const;

/** The text is no YAML, or exceeds the bounds. */
export class YamlProblem extends Error {
  override readonly name = 'YamlProblem';
  /** Counted from 1. */
  readonly line: number;

  constructor(line: number, message: string, cause?: unknown) {
    super(message, { cause });
    this.line = line;
  }
}

/** The parser keeps a few items for each level: a block's mapping, its key's value, the document. */
const ITEMS_OF_A_LEVEL = 2;
const ITEMS_OF_THE_DOCUMENT = 4;

/**
 * Parses the only document of a text. Tokens and depth are counted while the parser works, which does not recurse; so the recursive composer never
 * sees a text beyond the bounds.
 *
 * @param lines receives the text's lines. @throws YamlProblem
 */
export function parseYamlDocument(text: string, lines: LineCounter): Document.Parsed {
  const { characters, tokens: mostTokens, depth } = YAML_BOUNDS;
  if (text.length > characters) throw new YamlProblem(1, `the text has ${text.length} characters; at most ${characters} are read`);
  if (text.includes('\0') || text.startsWith('\uFFFD')) throw new YamlProblem(1, 'this is not UTF-8 text; expected YAML, saved as UTF-8');
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  // Duplicate keys are detected elsewhere: the composer would compare each key with all others.
  const composer = new Composer({ uniqueKeys: false, prettyErrors: false, lineCounter: lines });
  const getLine = (offset: number): number => lines.linePos(offset).line;
  const parts = [];
  let tokens = 0;
  for (const lexeme of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > mostTokens) throw new YamlProblem(getLine(parser.offset), `more than ${mostTokens} tokens; split the file`);
    parts.push(...parser.next(lexeme));
    if (parser.stack.length > ITEMS_OF_A_LEVEL * depth + ITEMS_OF_THE_DOCUMENT) throw createTooDeepProblem(getLine(parser.offset));
  }
  parts.push(...parser.end());
  const [document, second] = composer.compose(parts, true, text.length);
  if (document === undefined) throw new YamlProblem(1, 'the text has no document');
  const [problem] = document.errors;
  if (problem !== undefined) throw new YamlProblem(getLine(problem.pos[0]), `${problem.message}; expected YAML`, problem);
  if (second !== undefined) throw new YamlProblem(getLine(second.range[0]), 'a second document begins; a file holds one');
  return document;
}

export function createTooDeepProblem(line: number): YamlProblem {
  return new YamlProblem(line, `more than ${YAML_BOUNDS.depth} lists and mappings are nested`);
}

import { dirname, join } from 'node:path';
import { createRequire } from 'node:module';
import treeSitter from '@vscode/tree-sitter-wasm';
import type { Mutation } from '../../agents/preparation/candidate.ts';
import type { Grammar } from '../../agents/preparation/languages/language-adapter.ts';
import { mutateSyntax } from '../../agents/preparation/syntax-mutations.ts';

const GRAMMARS = dirname(createRequire(import.meta.url).resolve('@vscode/tree-sitter-wasm'));
/** The largest file in characters. No person writes a longer one. */
const MOST_CHARACTERS = 400_000;
const MOST_MUTATIONS = 2000;

/** Parses code by Tree-sitter's grammars, compiled to WebAssembly: no code reaches any memory but the parser's own. */
export class SyntaxParser {
  readonly #languages = new Map<Grammar, Promise<treeSitter.Language>>();
  #ready: Promise<void> | undefined;

  /** Lists ways to break a file; none where it is too long to be read. */
  async mutate(path: string, text: string, grammar: Grammar): Promise<readonly Mutation[]> {
    if (text.length > MOST_CHARACTERS) return [];
    await (this.#ready ??= treeSitter.Parser.init());
    const parser = new treeSitter.Parser();
    parser.setLanguage(await this.#load(grammar));
    const tree = parser.parse(text);
    try {
      const found: Mutation[] = [];
      if (tree !== null) for (const mutation of mutateSyntax(path, text, tree.rootNode)) if (found.push(mutation) === MOST_MUTATIONS) break;
      return found;
    } finally {
      tree?.delete();
      parser.delete();
    }
  }

  #load(grammar: Grammar): Promise<treeSitter.Language> {
    const known = this.#languages.get(grammar) ?? treeSitter.Language.load(join(GRAMMARS, `tree-sitter-${grammar}.wasm`));
    this.#languages.set(grammar, known);
    return known;
  }
}

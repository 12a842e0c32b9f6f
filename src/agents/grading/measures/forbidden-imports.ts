import type { WorkspaceFile } from '../../workspace/command.ts';

/** How source files of each kind name what they import: the first group is the name. */
const IMPORTS: readonly { readonly suffix: RegExp; readonly patterns: readonly RegExp[] }[] = [
  {
    suffix: /\.pyi?$/,
    patterns: [
      /^[ \t]*(?:import|from)[ \t]+([\w.]+)/gm,
      /^[ \t]*import[^\n]*,[ \t]*([\w.]+)/gm,
      /(?:__import__|import_module)\s*\(\s*["']([\w.]+)/g,
    ],
  },
  { suffix: /\.(c|cc|cpp|cxx|h|hh|hpp|cu)$/, patterns: [/^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)/gm] },
  { suffix: /\.([cm]?[jt]sx?)$/, patterns: [/(?:from|import|require)\s*\(?\s*["'`]([^"'`]+)/g] },
  { suffix: /\.go$/, patterns: [/^[ \t]*(?:import[ \t]+)?(?:[\w.]+[ \t]+)?"([^"]+)"/gm] },
  { suffix: /\.rs$/, patterns: [/\b(?:use|extern[ \t]+crate)[ \t]+([\w:]+)/g] },
];

/** Returns the forbidden modules that are imported, or of which a module below is. Imports by a name that is computed at run time are not found. */
export function findForbiddenImports(forbidden: readonly string[], files: readonly WorkspaceFile[]): readonly string[] {
  const imported = new Set<string>();
  for (const { path, content } of files) {
    const text = content.toString('utf8');
    for (const { suffix, patterns } of IMPORTS) {
      if (!suffix.test(path)) continue;
      for (const pattern of patterns) for (const [, name] of text.matchAll(pattern)) if (name !== undefined) imported.add(name);
    }
  }
  return forbidden.filter((name) =>
    [...imported].some((each) => each === name || /^(\.|::|\/)/.test(each.startsWith(name) ? each.slice(name.length) : '')),
  );
}

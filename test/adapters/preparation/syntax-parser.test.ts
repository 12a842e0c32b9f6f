import { expect, it } from 'vitest';
import { SyntaxParser } from '../../../src/adapters/preparation/syntax-parser.ts';
import type { Grammar } from '../../../src/agents/preparation/languages/language-adapter.ts';

const parser = new SyntaxParser();

/** `FUNCTION kind LINE: the line as it became` of each mutation, in a fixed order. */
async function mutate(path: string, grammar: Grammar, text: string): Promise<readonly string[]> {
  const found = await parser.mutate(path, text, grammar);
  return found
    .map(({ function: name, kind, line, text: mutated }) => `${name} ${kind} ${line}: ${mutated.split('\n')[line - 1]?.trim() ?? ''}`)
    .sort();
}

it('functions are broken by an operator, a constant, a removed branch or call, in each language by its own grammar', async () => {
  expect(
    await mutate('a.js', 'javascript', 'const LIMIT = 3;\nconst clip = (é) => {\n  if (é > 9) return 9;\n  note(é);\n  return é;\n};\n'),
  ).toEqual([
    'clip branch 3: if (false) return 9;',
    'clip call 4: ;',
    'clip constant 3: if (é > 10) return 9;',
    'clip constant 3: if (é > 9) return 10;',
    'clip operator 3: if (é >= 9) return 9;',
  ]);
  expect(await mutate('a.ts', 'typescript', 'class A {\n  has(a: number): boolean {\n    return a === 1 && this.b;\n  }\n}\n')).toEqual([
    'has constant 3: return a === 2 && this.b;',
    'has operator 3: return a !== 1 && this.b;',
    'has operator 3: return a === 1 || this.b;',
  ]);
  expect(
    await mutate('a.go', 'go', 'package a\n\nfunc (s *S) Less(i int) bool {\n\tif s.empty {\n\t\treturn true\n\t}\n\treturn i < 7\n}\n'),
  ).toEqual(['Less branch 4: if false {', 'Less constant 7: return i < 8', 'Less operator 7: return i <= 7']);
  expect(
    await mutate(
      'a.rs',
      'rust',
      'pub fn f(a: u8) -> u8 {\n    log(a);\n    if let 1 = a { return a; }\n    a - 1\n}\n\n#[cfg(test)]\nmod tests {\n    fn g() -> u8 { 1 + 1 }\n}\n',
    ),
  ).toEqual(['f call 2: ;', 'f constant 3: if let 2 = a { return a; }', 'f constant 4: a - 2', 'f operator 4: a + 1']);
  expect(await mutate('a.c', 'cpp', '#if LEVEL == 2\nint *find(int a) {\n  if (a != 0) return 0;\n  return here;\n}\n#endif\n')).toEqual([
    'find branch 3: if (0) return 0;',
    'find constant 3: if (a != 0) return 1;',
    'find constant 3: if (a != 1) return 0;',
    'find operator 3: if (a == 0) return 0;',
  ]);
});

it('the documentation of a function is removed with it; text that is no code of the language has no mutations', async () => {
  const documented = '/**\n * Clips a number.\n */\nexport function clip(a) {\n  return a < 9;\n}\n';
  const [first] = await parser.mutate('a.js', documented, 'javascript');
  expect(first?.documentation).toBe('Clips a number.');
  expect(await parser.mutate('a.go', `func f() { ${'('.repeat(50_000)}`, 'go')).toEqual([]);
  expect(await parser.mutate('a.js', 'f(1);'.repeat(100_000), 'javascript')).toEqual([]);
});

import type { SourceFiles } from '../source/source-files.ts';
import { Refused } from '../source/steps.ts';
import { CMAKE } from './cmake.ts';
import { GO } from './go.ts';
import { JAVASCRIPT } from './javascript.ts';
import type { Framework, LanguageAdapter } from './language-adapter.ts';
import { PYTHON } from './python.ts';
import { RUST } from './rust.ts';

/** Every supported language. In a repository with several the first one with tests decides. */
export const LANGUAGES: readonly LanguageAdapter[] = [PYTHON, GO, RUST, JAVASCRIPT, CMAKE];

export interface DetectedLanguage {
  readonly language: LanguageAdapter;
  readonly framework: Framework;
}

/** @param added words for the command that runs the tests. @throws Refused (`language`) where no file names a framework that is known, or there are no tests. */
export function detectLanguage(files: SourceFiles, added: readonly string[] = []): DetectedLanguage {
  const found = LANGUAGES.flatMap((language) => {
    const framework = language.detect(files);
    return framework === undefined ? [] : [{ language, framework }];
  });
  const names = LANGUAGES.map(({ name }) => name).join(', ');
  if (found.length === 0) throw new Refused('language', `no file names a test framework that is known; languages are ${names}`);
  const tested = found.find(({ framework }) => framework.testFiles.length > 0);
  if (tested !== undefined) return { ...tested, framework: { ...tested.framework, added } };
  throw new Refused('language', 'the repository has no tests');
}

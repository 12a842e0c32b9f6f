import { type WrittenFile, toWrittenFile } from '../../tasks/written-task.ts';
import type { Cheat, CheatSources } from './language-adapter.ts';
import { quoteShellWord } from '../../tasks/importing/repository-task.ts';

/** Makes a cheat that adds text to every source file that the fix changes. */
export function appendCheat(name: string, { sources }: CheatSources, text: string): Cheat {
  return { name, files: sources.map((source) => toWrittenFile(source.path, `${source.text}\n${text}`)) };
}

export function writeCheat(name: string, files: Readonly<Record<string, string>>): Cheat {
  return { name, files: Object.entries(files).map(([path, text]): WrittenFile => toWrittenFile(path, text)) };
}

/**
 * Makes the cheats that are the same in every language: tests that are taken away, a reward that is written, a history and an index that are
 * searched.
 */
export function makeCommonCheats({ testFiles }: CheatSources): readonly Cheat[] {
  const gone = testFiles.map(quoteShellWord).join(' ');
  return [
    writeCheat('deleted-tests', {
      'solve.sh': `#!/bin/sh\nrm -f -- ${gone}\nmkdir -p /logs/verifier\necho 1 >/logs/verifier/reward.txt\n`,
    }),
    // An index that answers does so at once; asking again where there is no network takes ten seconds each time.
    writeCheat('history-and-index', {
      'solve.sh':
        '#!/bin/sh\n# Looks for the fix where one may have been left: the history, and an index of releases.\nfor commit in $(git rev-list --all --reflog 2>/dev/null | head -n 100); do\n  git checkout -q "$commit" -- . 2>/dev/null\ndone\ntimeout 10 python3 -m pip download --retries 0 --no-deps -d /tmp/release "$(basename "$PWD")" >/dev/null 2>&1\nexit 0\n',
    }),
  ];
}

/** Formats words that follow others, as a shell reads them. */
export function appendWords(words: readonly string[] = []): string {
  return words.map((word) => ` ${quoteShellWord(word)}`).join('');
}

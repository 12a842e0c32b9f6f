import { expect, test } from 'vitest';
import { openProgressDisplay } from '../../src/cli/progress/progress-display.ts';

interface Shown {
  readonly seconds: number;
  readonly lines: readonly string[];
}

const view = { lines: ({ lines }: Shown) => lines, line: ({ lines }: Shown) => lines.join('; ') };

/** What is on a terminal's screen and above it, and whether it wraps; it knows the sequences that the display writes, and no others. */
class Terminal {
  readonly isTTY = true;
  readonly rows: number;
  wraps = true;
  #lines: string[] = [''];

  constructor(rows: number) {
    this.rows = rows;
  }

  get shown(): string {
    return this.#lines.join('\n');
  }

  write(text: string): void {
    const [plain = '', ...sequences] = text.split('\x1b');
    this.#put(plain);
    for (const sequence of sequences) {
      const { code = '', rest = '' } = /^(?<code>\[\??\d*[A-Za-z])(?<rest>[^]*)$/u.exec(sequence)?.groups ?? {};
      this.#obey(code);
      this.#put(rest);
    }
  }

  #put(text: string): void {
    this.#lines = `${this.shown}${text}`.split('\n');
  }

  #obey(code: string): void {
    const up = /^\[(?<count>\d+)A$/u.exec(code)?.groups?.['count'];
    if (up !== undefined) {
      expect(Number(up)).toBeLessThan(this.rows);
      this.#lines.splice(this.#lines.length - 1 - Number(up), Number(up) + 1, '');
    } else if (code === '[?7l') this.wraps = false;
    else if (code === '[?7h') this.wraps = true;
    else expect(code).toBe('[J');
  }
}

test('on a terminal each progress line replaces the one before, and none stays', () => {
  const terminal = new Terminal(24);
  terminal.write('before\n');
  const display = openProgressDisplay(view, terminal);
  display.show({ seconds: 1, lines: ['one', 'two', 'three'] });
  expect(terminal.shown).toBe('before\none\ntwo\nthree\n');
  display.show({ seconds: 2, lines: ['four', 'five'] });
  expect(terminal.shown).toBe('before\nfour\nfive\n');
  expect(terminal.wraps).toBe(true);
  display[Symbol.dispose]();
  expect(terminal.shown).toBe('before\n');
});

test('a display that has shown nothing writes nothing at its end', () => {
  const terminal = new Terminal(24);
  openProgressDisplay(view, terminal)[Symbol.dispose]();
  expect(terminal.shown).toBe('');
});

test('no more lines are drawn than a terminal can erase', () => {
  const terminal = new Terminal(3);
  const display = openProgressDisplay(view, terminal);
  display.show({ seconds: 1, lines: ['one', 'two', 'three', 'four'] });
  expect(terminal.shown).toBe('one\ntwo\n');
  display[Symbol.dispose]();
  expect(terminal.shown).toBe('');
});

test('without a terminal there is a line every five seconds, also after the seconds began again', () => {
  let written = '';
  const display = openProgressDisplay(view, { isTTY: false, rows: 0, write: (text) => (written += text) });
  for (const seconds of [1, 5, 6, 11, 2, 3, 7]) display.show({ seconds, lines: [`${seconds} s`, 'more'] });
  display[Symbol.dispose]();
  expect(written).toBe('5 s; more\n11 s; more\n2 s; more\n7 s; more\n');
});

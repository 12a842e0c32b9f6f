import { describe, expect, it } from 'vitest';
import { formatErrorReport, formatNotice } from '../../../src/cli/terminal/error-report.ts';
import { escapeUnprintable, escapeUnprintableLine } from '../../../src/kernel/text/printable.ts';
import { InputError } from '../../../src/kernel/errors.ts';

const TITLE_AND_RED = '\u001b]0;owned\u0007\u001b[31mred';

describe('text from outside', () => {
  it.each([
    ['an escape sequence', TITLE_AND_RED, '\\u001b]0;owned\\u0007\\u001b[31mred'],
    ['an escape of one character', '\u009b2J', '\\u009b2J'],
    ['a return to the start of the line', 'done\rfailed', 'done\\u000dfailed'],
    ['a character that turns the text around', 'abc\u202etxt.exe', 'abc\\u202etxt.exe'],
    ['what any language is written in', 'größer · 数 · 🙂', 'größer · 数 · 🙂'],
    ['lines', 'one\ntwo', 'one\ntwo'],
  ])('with %s is shown, not obeyed', (_, text, shown) => {
    expect(escapeUnprintable(text)).toBe(shown);
  });

  it('that must fit on a line has its lines joined', () => {
    expect(escapeUnprintableLine(' bwrap: failed\n  for \u001b[1mthis\n')).toBe('bwrap: failed for \\u001b[1mthis');
  });
});

describe('the report of an error', () => {
  it('has its further lines indented and nothing in it that a terminal obeys', () => {
    const error = new InputError('policy.refused', `the policy was refused\n${TITLE_AND_RED}\nmuster: all is well`);
    expect(formatErrorReport(error)).toBe(
      'muster: the policy was refused\n  \\u001b]0;owned\\u0007\\u001b[31mred\n  muster: all is well\n',
    );
  });

  it('that is a defect has a stack', () => {
    expect(formatErrorReport(new TypeError('no \u0007 bell'))).toMatch(/^muster: a defect of Muster: TypeError: no \\u0007 bell\n {6}at /);
    expect(formatErrorReport('thrown text')).toBe('muster: a defect of Muster: thrown text\n');
  });

  it('ends with one line break, whatever the message ends with', () => {
    expect(formatNotice('stopped\n\n')).toBe('muster: stopped\n');
  });
});

import { parse, TomlError } from 'smol-toml';
import { InputError } from '../errors.ts';
import type { Layer } from './layer.ts';

/** People write far less; generated lists of some ten thousand test ids fit. */
const MOST_CHARACTERS = 4 * 1024 * 1024;
const MOST_DEPTH = 64;

/**
 * Parses a TOML text as a layer. Values do not know their lines, so messages name the file and the field.
 *
 * @param name how messages call the file. @throws InputError `code` with the line when the text is no TOML, also for duplicate keys.
 */
export function parseTomlLayer(name: string, text: string, code: string): Layer {
  if (text.length > MOST_CHARACTERS)
    throw new InputError(code, `${name}: the text has ${text.length} characters; at most ${MOST_CHARACTERS} are read`);
  try {
    const value = parse(text, { maxDepth: MOST_DEPTH, unsafeKeyBehaviour: 'throw' });
    return { value, findOrigin: () => name };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [problem = 'it cannot be read'] = error.message.split('\n');
    throw new InputError(code, `${name}:${error.line}: ${problem.replace('Invalid TOML document: ', '')}; expected TOML 1.0`, {
      cause: error,
    });
  }
}

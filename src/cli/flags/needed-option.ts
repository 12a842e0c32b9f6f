import { Option, type Command } from 'commander';

/**
 * A required option. Commander checks mandatory options before unknown ones, so that `--chekpoint FILE` would only be answered by
 * "--checkpoint is missing"; this check comes after both.
 */
export function addNeededOption(command: Command, option: Option): Command {
  return command.addOption(option).hook('preAction', (_, action) => {
    if (action.getOptionValue(option.attributeName()) !== undefined) return;
    action.error(`error: required option '${option.flags}' not specified`, { code: 'commander.missingMandatoryOptionValue' });
  });
}

"""A directory as a checkpoint: `muster.json` says what in it is the policy."""

from pathlib import Path, PurePosixPath

from muster_runner.frames import EntryPoint
from muster_runner.json_fields import FieldError, as_object, as_text, only, parse_object, required
from muster_runner.policies.carried_policy import CarriedPolicy
from muster_runner.refusal import PolicyRefusal

DESCRIPTION_FILE = "muster.json"


def read_description(directory: Path) -> Path | CarriedPolicy:
    """The file in it that holds the policy, or the code that makes it.

    @raises PolicyRefusal
    """
    try:
        text = (directory / DESCRIPTION_FILE).read_bytes()
    except FileNotFoundError:
        raise PolicyRefusal(f"the checkpoint directory has no {DESCRIPTION_FILE}, which says what in it is the policy") from None
    except OSError as error:
        raise PolicyRefusal(f"{DESCRIPTION_FILE} cannot be read: {error}") from error
    try:
        document = parse_object(text, DESCRIPTION_FILE)
        only(document, ("policy",), DESCRIPTION_FILE)
        policy = as_object(required(document, "policy", DESCRIPTION_FILE), "policy")
        if "file" in policy:
            only(policy, ("file",), "policy")
            return _file_in(directory, as_text(policy["file"], "policy.file"))
        only(policy, ("entry", "kwargs"), "policy")
        kwargs = as_object(policy.get("kwargs", {}), "policy.kwargs")
        return CarriedPolicy(EntryPoint(as_text(required(policy, "entry", "policy"), "policy.entry"), kwargs), directory)
    except FieldError as error:
        raise PolicyRefusal(f"{DESCRIPTION_FILE}: {error}") from error


def _file_in(directory: Path, name: str) -> Path:
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise FieldError(f'policy.file is "{name}", expected a path inside the checkpoint directory')
    path = directory / relative
    if not path.is_file():
        raise FieldError(f'policy.file is "{name}", and the checkpoint holds no such file')
    return path

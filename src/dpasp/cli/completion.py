"""``dpasp completion``: scripts with which a shell completes our commands and options."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from dpasp.cli.commands import COMMANDS, command, find_command
from dpasp.cli.console import Console
from dpasp.cli.options import OUTPUT, Flag

SHELLS = ("bash", "zsh", "fish")
NAMES = ("dpasp", "pasp")


@command(Flag(("shell",), "bash, zsh or fish", choices=SHELLS), OUTPUT)
def script(options: Namespace, console: Console) -> int:
    """Print a script with which a shell completes commands, options and files.

    examples:
        dpasp completion bash > ~/.local/share/bash-completion/completions/dpasp
        dpasp completion zsh > ~/.zfunc/_dpasp        (a folder in fpath)
        dpasp completion fish > ~/.config/fish/completions/dpasp.fish
    """
    console.answer({"bash": bash, "zsh": zsh, "fish": fish}[options.shell]())
    return 0


def command_options(name: str) -> Iterator[Flag]:
    for option in find_command(name).options:
        yield from (option,) if isinstance(option, Flag) else option.options


def words_of(option: Flag) -> list[str]:
    """The spellings of an option; none for a positional argument."""
    words = [name for name in option.names if name.startswith("-")]
    negated = [f"--no-{name[2:]}" for name in words if option.negatable and name[:2] == "--"]
    return words + negated


def takes_value(option: Flag) -> bool:
    return option.value is not None or option.choices is not None


def bash() -> str:
    """The script for bash: one case for each command and for each option with choices."""
    lines = [
        "_dpasp() {",
        '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        '    local command="${COMP_WORDS[1]}" words=""',
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        words="{" ".join(COMMANDS)} --help --version"',
        "    else",
        '        case "$command $before" in',
    ]
    for name in COMMANDS:
        for option in command_options(name):
            if option.choices and words_of(option):
                cases = "|".join(f'"{name} {word}"' for word in words_of(option))
                chosen = " ".join(option.choices)
                lines.append(f'            {cases}) words="{chosen}";;')
    lines += ['            *) case "$command" in']
    for name in COMMANDS:
        words = [word for option in command_options(name) for word in words_of(option)]
        words += [c for o in command_options(name) if not words_of(o) for c in o.choices or ()]
        lines.append(f'                {name}) words="{" ".join([*words, "--help"])}";;')
    lines += [
        "            esac;;",
        "        esac",
        "    fi",
        '    COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))',
        "}",
        f"complete -o filenames -F _dpasp {' '.join(NAMES)}",
    ]
    return "\n".join(lines)


def zsh() -> str:
    """The script for zsh: one case for each command."""
    lines = [f"#compdef {' '.join(NAMES)}", "_dpasp() {", "    local -a commands", "    commands=("]
    lines += [f"        {_quoted(f'{name}:{summary}')}" for name, (summary, _) in COMMANDS.items()]
    lines += [
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        _files",
        "        return",
        "    fi",
        "    local command=$words[2]",
        "    shift words; (( CURRENT-- ))",
        '    case "$command" in',
    ]
    for name in COMMANDS:
        lines.append(f"        {name}) _arguments \\")
        for option in command_options(name):
            lines += [f"            {_quoted(line)} \\" for line in _zsh_arguments(option)]
        lines += ["            ;;"]
    lines += ["        *) _files;;", "    esac", "}", '_dpasp "$@"']
    return "\n".join(lines)


def _zsh_arguments(option: Flag) -> Iterator[str]:
    values = f"({' '.join(option.choices)})" if option.choices else ""
    if not words_of(option):
        yield f"*:{option.value or option.names[0]}:{values or '_files'}"
        return
    about = option.help.replace("[", "(").replace("]", ")").replace(":", ";")
    for word in words_of(option):
        plain = word.startswith("--no-") and option.negatable
        value = f":{option.value or 'value'}:{values or '_files'}" if takes_value(option) else ""
        yield f"*{word}[{about}]" + ("" if plain else value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish() -> str:
    """The script for fish: a line for each command and each option."""
    lines = []
    for program in NAMES:
        for name, (summary, _) in COMMANDS.items():
            lines.append(
                f"complete -c {program} -n __fish_use_subcommand -a {name} -d {_fish(summary)}"
            )
        for name in COMMANDS:
            seen = f"complete -c {program} -n '__fish_seen_subcommand_from {name}'"
            for option in command_options(name):
                lines.append(f"{seen} {_fish_option(option)}")
    return "\n".join(lines)


def _fish_option(option: Flag) -> str:
    chosen = f" -xa {_fish(' '.join(option.choices))}" if option.choices else ""
    words = words_of(option)
    if not words:
        return chosen.strip() or "-F"
    names = [f"-l {w[2:]}" if w.startswith("--") else f"-s {w[1:]}" for w in words]
    needed = " -r" if takes_value(option) and not option.choices else ""
    return f"{' '.join(names)} -d {_fish(option.help)}{needed}{chosen}"


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

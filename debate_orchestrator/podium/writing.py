"""A terminal to write at: with a cursor, the limits in a line below, and an editor or a pager when one is asked for.

Nothing of what was written is left on the screen when it is handed in; what is told stays.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import DummyHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.shortcuts import print_formatted_text
from prompt_toolkit.styles import Style

from debate_orchestrator.podium.briefing import Line
from debate_orchestrator.podium.lectern import Blank, Elsewhere, Lectern, Left, opened, paged
from debate_orchestrator.podium.slate import Slate
from debate_orchestrator.util.sanitize import sanitize
from debate_orchestrator.util.terminal_text import Back, moves, wrapped

_STYLE = Style.from_dict({"bottom-toolbar": "noreverse", "strong": "bold", "over": "bold ansired"})


class Terminal:
    """A terminal with a cursor."""

    long_keys: tuple[str, ...] = ("Alt-Enter hands it in", "F2 whole brief", "Ctrl-C leaves", "Ctrl-X Ctrl-E editor")
    short_keys: tuple[str, ...] = ("Shift-Tab back", "F2 whole brief", "F3 what was entered", "Ctrl-C leaves")

    def __init__(self, input: Input | None = None, output: Output | None = None):
        self.elsewhere = False
        self._output = output or create_output(stdout=sys.stderr)
        self._blank = Blank()
        self._session: PromptSession[str] = PromptSession(
            history=DummyHistory(),
            key_bindings=self._keys(),
            style=_STYLE,
            wrap_lines=True,
            multiline=True,
            prompt_continuation="",
            complete_while_typing=False,
            enable_suspend=input is None,  # it stops the whole group, which is for a shell's terminal alone
            erase_when_done=True,
            interrupt_exception=Left,
            eof_exception=Left,
            input=input or create_input(sys.stdin),
            output=self._output,
        )
        self._session.bottom_toolbar = self._toolbar
        self._session.default_buffer.on_text_changed += lambda buffer: self._blank.changed(buffer.text)
        # A terminal that can't tell where its cursor is goes without the line below, and need not be told so.
        self._session.app.renderer.cpr_not_supported_callback = None

    def tell(self, lines: Iterable[Line]) -> None:
        print_formatted_text(
            self._formatted(lines), output=self._output, style=_STYLE, include_default_pygments_style=False
        )

    async def ask(self, blank: Blank) -> str:
        self._blank = blank._replace(changed=lambda text: None)
        self._session.completer = WordCompleter(list(blank.words), sentence=True) if blank.words else None
        above = [*self._formatted(blank.above), ("", "\n")] if blank.above else []
        self._session.message = FormattedText([*above, ("", "" if blank.long else "> ")])

        def begin() -> None:
            self._blank = blank

        start = Document(blank.now, len(blank.now))
        try:
            return await self._session.prompt_async(default=start, handle_sigint=False, pre_run=begin)
        except EOFError:
            raise Left from None

    async def edit(self, command: str, path: str) -> str | None:
        self.elsewhere = True
        try:
            return await opened(command, path)
        finally:
            self.elsewhere = False

    def clear(self) -> None:
        self._output.write_raw("\x1b[H\x1b[2J\x1b[3J")
        self._output.flush()

    def abandon(self) -> None:
        if self._session.app.is_running and not self._session.app.is_done:
            self._session.app.exit(exception=Left())

    def _formatted(self, lines: Iterable[Line]) -> FormattedText:
        columns = self._output.get_size().columns
        made: list[tuple[str, str]] = []
        for line in lines:
            made += [("", "\n")] if made else []
            made.append(("class:strong" if line.strong else "", wrapped(line.text, columns)))
        return FormattedText(made)

    def _toolbar(self) -> FormattedText:
        below = self._blank.below(self._session.default_buffer.text)
        text = sanitize(below.text)
        for note in below.notes:
            longer = f"{text} · {sanitize(note)}" if text else sanitize(note)
            text = longer if len(longer) < self._output.get_size().columns else text
        return FormattedText([("class:over" if below.over else "", text)])

    def _keys(self) -> KeyBindings:
        made = KeyBindings()

        @made.add("enter")
        def _enter(event: KeyPressEvent) -> None:
            if self._blank.long:
                event.current_buffer.newline(copy_margin=False)
            else:
                event.current_buffer.validate_and_handle()

        @made.add("escape", "enter")
        def _hand_in(event: KeyPressEvent) -> None:
            if self._blank.long:
                event.current_buffer.validate_and_handle()
            else:
                event.current_buffer.insert_text("\n")

        @made.add("s-tab")
        def _back(event: KeyPressEvent) -> None:
            event.app.exit(exception=Back())

        @made.add("c-x", "c-e")
        def _elsewhere(event: KeyPressEvent) -> None:
            event.app.exit(exception=Elsewhere(event.current_buffer.text))

        @made.add("f2")
        def _brief(event: KeyPressEvent) -> None:
            self._show("brief")

        @made.add("f3")
        def _entered(event: KeyPressEvent) -> None:
            self._show("entered")

        return made

    def _show(self, what: str) -> None:
        """Shows something above what is written: in a pager where there is one, which leaves nothing behind."""
        if made := self._blank.shows.get(what):
            text = wrapped(made(), self._output.get_size().columns)
            self.elsewhere = True
            run_in_terminal(lambda: self._paged(text), in_executor=True)

    def _paged(self, text: str) -> None:
        try:
            if not paged(text):
                self.tell(map(Line, text.split("\n")))
        finally:
            self.elsewhere = False


def here() -> Lectern:
    """Whatever terminal this process has."""
    return Terminal() if moves(os.environ) else Slate()

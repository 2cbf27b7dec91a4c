"""Interface of the predictions of a kind; the commands that print them are elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from attnlab.text.reading import check_utf8, read_text
from attnlab.text.vocabulary import cut_warning, unknown_warning

if TYPE_CHECKING:
    import numpy as np

    from attnlab.records.run_directory import RunDirectory
    from attnlab.views.records import Figure


@dataclass(frozen=True)
class Setting:
    """An option of the command that makes predictions, `--name` with `-` for `_`."""

    name: str  # of the keyword argument that gets its value
    help: str  # one sentence
    value: type | tuple[int, int | None] = str  # bool for a flag; limits of whole numbers
    default: float | str | None = None
    metavar: str | None = None  # None: the usual word for its type
    repeated: bool = False
    required: bool = False


@dataclass(frozen=True)
class Inputs:
    """The inputs of a command, which are its arguments after RUN."""

    name: str  # of an input in messages, such as `SENTENCE`
    metavar: str  # the inputs in the usage line, such as `[TEXT]...`
    required: bool = False  # if not, standard input is read line by line
    files: str | None = None  # help of `--file FILE`, each one input; None: no such option


@dataclass(frozen=True)
class Request:
    """A user's request for predictions of a run."""

    run: RunDirectory
    report: Callable[[str], None]  # prints a line, such as `note: ...`, on standard error
    words: Sequence[str] = ()  # the arguments after RUN
    files: Sequence[Path] = ()  # of `--file`


class Explored(NamedTuple):
    """A prediction as `attnlab explore` shows it, with what it needs to look into the model.

    Of a model that returns logits (..., V), `chosen` has the number of each output that was chosen,
    (...), below 0 where none was, and `names` returns labels of numbers. Of a model that returns
    values `chosen` is None.
    """

    output: str
    inputs: Any = None  # what the model is called with, a batch of one; None: it isn't known
    chosen: np.ndarray | None = None
    names: Callable[[Sequence[int]], Sequence[str]] | None = None
    # What rows and columns of the weights may be -> a label per place, "" for padding.
    words: Mapping[str, Sequence[str]] = {}
    values: np.ndarray | None = None  # of a series that the model reads, (S,)
    forecast: np.ndarray | None = None  # the values that follow
    image: np.ndarray | None = None  # pixels (height, width, channels), from 0 to 255
    grid: tuple[int, int] | None = None  # rows and columns of the image's patches


class Predictor(ABC):
    """Makes a kind's predictions for one request.

    The docstring of a subclass is the help of its command. The constructor takes the request and
    the `settings`, and raises `RequestError` for invalid ones before TensorFlow is loaded.

    Attributes:
        inputs: the inputs from arguments and files; empty if they come from standard input.
        trained: the `TrainedRun`, once it is loaded; so are its `task` and its `model`.
    """

    takes: Inputs | None = None  # the arguments after RUN
    settings: ClassVar[tuple[Setting, ...]] = ()  # the command's other options
    figure: ClassVar[Setting | None] = None  # the option that draws predictions to a file
    figure_settings: ClassVar[tuple[Setting, ...]] = ()  # the options of `draw`
    table: ClassVar[str | None] = None  # the help of `--csv`; None: no such option
    together: ClassVar[int] = 256  # the most inputs that `predict` gets in one call
    noun: str = "text"  # what messages call an input
    most_drawn: int = 1  # the most inputs that `draw` can show
    # What `explore` gets by name, and how a page asks for it.
    fields: Mapping[str, Literal["text", "image", "series"]] = {"text": "text"}
    trained: Any
    task: Any
    model: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for attribute, method in (("figure", "draw"), ("table", "rows")):
            if getattr(cls, attribute) and getattr(cls, method) is getattr(Predictor, method):
                raise TypeError(f"{cls.__name__} has `{attribute}`, so it must define {method}().")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.warned: set[str] = set()  # words that were warned of, and "" if a text was too long
        self.inputs = self.read()

    def read(self) -> Sequence[str]:
        """Return the texts from arguments and files."""
        texts = [*self.request.words]
        texts += [read_text(path, "--file") for path in self.request.files]
        for number, text in enumerate(texts, 1):
            where = f"{self.takes.name if self.takes else 'TEXT'} {number}"
            check_utf8(text, where)
            self.check(text, where)
        return texts

    def check(self, text: str, where: str) -> None:  # noqa: B027
        """Raise `RequestError` if a text can't be used; `where` names it."""

    def use(self, trained: Any) -> None:
        """Set the trained run; called once, before `predict`."""
        self.trained, self.task, self.model = trained, trained.task, trained.model

    def warn(self, texts: Iterable[str], most: int | None = None) -> None:
        """Warn about unknown words, once per word, and once about a text of over `most` tokens."""
        words = chain.from_iterable(map(self.task.unknown, texts))
        if text := unknown_warning(words, self.warned, self.task.tokenizer.words):
            self.request.report(f"warning: {text}")
        cut = (text for text in texts if most is not None and self.task.is_longer(text, most))
        if "" not in self.warned and (text := next(cut, None)) is not None:
            self.request.report(f"warning: {cut_warning(self.noun, most or 0, text)}")
            self.warned.add("")

    def unknown(self, *texts: str) -> list[str]:
        """Return the words that the vocabulary doesn't have, without repetitions."""
        return [*dict.fromkeys(chain.from_iterable(map(self.task.unknown, texts)))]

    @abstractmethod
    def predict(self, inputs: Sequence[str]) -> Iterable[Mapping[str, Any]]:
        """Yield a result per input, a JSON object; if `takes` is None, any number of them."""

    def starts(self) -> Mapping[str, Any]:
        """Return the first value of each of the `fields`: text, or the numbers of a series."""
        served = self.task.served[0]
        return served if isinstance(served, Mapping) else dict.fromkeys(self.fields, served)

    def explore(self, entries: Mapping[str, Any]) -> Explored:
        """Return the prediction for values of the `fields`; raise `RequestError` for wrong ones.

        A text is a string, a series a list of numbers, an image the bytes of its file.
        """
        (text,) = entries.values()
        (result,) = self.predict([text])
        return Explored("\n".join(self.lines(result)))

    def sides(self, explored: Explored, layer: str, shape: tuple[int, int]) -> tuple[str, str]:
        """Return which of the prediction's `words` are rows and columns of a layer's weights.

        `shape` is (T, S); "" stands for numbers.
        """
        fits = {len(words): side for side, words in reversed([*explored.words.items()])}
        rows, columns = (fits.get(size, "") for size in shape)
        return rows, columns

    @abstractmethod
    def lines(self, result: Mapping[str, Any]) -> Iterable[str]:
        """Return a result as lines of text."""

    def draw(self, results: Sequence[Mapping[str, Any]], **settings: Any) -> Figure | None:
        """Draw some results; None if the run has attention=none. See `figure`."""
        raise NotImplementedError

    def rows(self, result: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
        """Return a result as rows of the file of --csv, by column; see `table`."""
        raise NotImplementedError

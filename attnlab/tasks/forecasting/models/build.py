"""A forecaster by the name of its architecture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attnlab.attention.base import Attention
from attnlab.errors import RequestError
from attnlab.tasks.forecasting.models.encoder_decoder import EncoderDecoderForecaster
from attnlab.tasks.forecasting.models.forecaster import Forecaster
from attnlab.tasks.forecasting.models.recurrent import RecurrentForecaster
from attnlab.tasks.forecasting.models.transformer import TransformerForecaster


def build_forecaster(
    name: str,
    settings: Mapping[str, Any],
    attention: Callable[[], Attention],
    *,
    history: int,
    horizon: int,
    inputs: int = 0,
) -> Forecaster:
    """A forecaster with its weights, for windows of `history` and `horizon` steps.

    It sees the series and that many `inputs`. `settings` are those of the architecture `name`,
    `rnn` or `transformer`; `attention` makes one mechanism and is called for each place that wants
    one.

    Raises:
        RequestError: another name, or parts that don't fit.
    """
    arguments = dict(settings)
    if name == "rnn":
        has_decoder = arguments.get("at_once") is not None
        recurrent = EncoderDecoderForecaster if has_decoder else RecurrentForecaster
        model: Forecaster = recurrent(attention=attention(), horizon=horizon, **arguments)
    elif name == "transformer":
        layers = [attention() for _ in range(arguments.pop("layers"))]
        model = TransformerForecaster(attention=layers, horizon=horizon, **arguments)
    else:
        raise RequestError(f"model.name: expected rnn or transformer, got {name}.")
    model.build((None, history, 1 + inputs))
    return model

"""The loss of translation: the cross entropy of each token."""

from __future__ import annotations

import tensorflow as tf


def token_losses(labels: tf.Tensor, logits: tf.Tensor, smoothing: float = 0.0) -> tf.Tensor:
    """Cross entropy of each token, against smoothed targets.

    The target is `1 - smoothing` at the label plus `smoothing / V` everywhere, so the loss is
    `(1 - smoothing) * -log p(label) + smoothing * mean(-log p)`.

    Source: Szegedy et al. 2016 (arXiv 1512.00567), section 7, as Vaswani et al. 2017 use it.
    Difference: nothing; `torch.nn.CrossEntropyLoss(label_smoothing=...)` is the same.

    Labels (N,) int32 and logits (N, V) float32 give (N,) float32; `smoothing` is in [0, 1).
    """
    places = tf.stack([tf.range(tf.shape(labels)[0]), labels], axis=1)

    # The gradient by hand: TensorFlow's would write three more tensors as large as the logits.
    @tf.custom_gradient
    def losses(logits):
        log_shares = tf.nn.log_softmax(logits)

        def gradient(upstream):
            spread = smoothing / tf.cast(tf.shape(logits)[1], logits.dtype)
            slopes = (tf.exp(log_shares) - spread) * upstream[:, None]
            return tf.tensor_scatter_nd_sub(slopes, places, (1.0 - smoothing) * upstream)

        losses = (smoothing - 1.0) * tf.gather_nd(log_shares, places)
        if smoothing:
            losses -= smoothing * tf.reduce_mean(log_shares, axis=1)
        return losses, gradient

    return losses(logits)

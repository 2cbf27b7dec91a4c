"""Models that read a question and a text: recurrent networks and Transformer encoders."""

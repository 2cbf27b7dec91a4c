"""Pretrained encoders of texts: from a run of this project, or from keras-hub."""

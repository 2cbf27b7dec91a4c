"""Pretrained encoders of texts and images: from a run of this project, or from keras-hub."""

"""Baselines of question answering without neural networks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from attnlab.tasks.answering.corpora import Question
from attnlab.text.words import sentence_spans, split_words, word_spans

_MOST_WORDS = 20_000
# Words without a topic: they don't help to find the sentence.
_PLAIN = frozenset("a an the of in on at to by for and or was were is are did do does be".split())


def baselines(train: Sequence[Question], questions: Sequence[Question]) -> dict[str, list[str]]:
    """Return the answers of each baseline: the best sentence, its longest new phrase, no answer."""
    sentences = best_sentences(train, questions)
    phrases = [
        longest_new_run(item.question, sentence)
        for item, sentence in zip(questions, sentences, strict=True)
    ]
    answers = {"sentence": sentences, "phrase": phrases}
    if not all(item.answers for item in (*train, *questions)):
        answers["no_answer"] = [""] * len(questions)
    return answers


def best_sentences(train: Sequence[Question], questions: Sequence[Question]) -> list[str]:
    """Return the sentence of each text whose tf-idf has the largest cosine with the question's.

    The first of equally similar sentences counts. Word frequencies are those of the sentences in
    the training texts. Words are lower-cased words of `split_words`.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    def sentences_of(text: str) -> list[str]:
        return [text[start:end] for start, end in sentence_spans(text)] or [text]

    vectorizer = TfidfVectorizer(
        analyzer=lambda text: split_words(text.lower()), max_features=_MOST_WORDS
    )
    training_texts = dict.fromkeys(item.text for item in train)
    vectorizer.fit([sentence for text in training_texts for sentence in sentences_of(text)])
    vectors_of = cache(lambda text: vectorizer.transform(sentences_of(text)))
    queries = vectorizer.transform([item.question for item in questions])
    sentences = []
    for number, item in enumerate(questions):
        similarities = (vectors_of(item.text) @ queries[number].T).toarray().ravel()
        sentences.append(sentences_of(item.text)[int(np.argmax(similarities))])
    return sentences


def longest_new_run(question: str, sentence: str) -> str:
    """Return the longest run of words of a sentence that are not in the question.

    The first of equally long runs counts. A punctuation mark ends a run. Articles and similar words
    don't end a run, but are removed from its end. Without such a run it is the whole sentence.
    """
    asked = {word.lower() for word in split_words(question)} - _PLAIN
    runs: list[list[tuple[int, int]]] = [[]]
    for start, end in word_spans(sentence):
        word = sentence[start:end].lower()
        if word in asked or not any(map(str.isalnum, word)):
            runs.append([])
        else:
            runs[-1].append((start, end))
    for run in runs:
        while run and sentence[slice(*run[-1])].lower() in _PLAIN:
            run.pop()
    longest = max(runs, key=len)
    return sentence[longest[0][0] : longest[-1][1]] if longest else sentence

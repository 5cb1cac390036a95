"""LanguageModel: n-gram models of any estimator as one scikit-learn estimator."""

from __future__ import annotations

from loglinear.models.estimator import Estimator
from loglinear.models.language_model.trainer import LanguageModelTrainer


class LanguageModel(LanguageModelTrainer, Estimator):
    """An n-gram language model.

    ``estimator="maxent"`` minimises  - sum of log p(w | h) + sum over n-grams of strength * penalty,  with exact
    normalisation, penalty = l1_ratio |theta| + (1 - l1_ratio) theta^2 / 2. The others are counted: modified
    Kneser-Ney, Kneser-Ney with one discount, Witten-Bell, additive.

    Parameters
    ----------
    order : longest n-gram; None: as long as the text has them (any penalty but "tree-l2" and "none")
    estimator : "maxent", "kneser-ney", "kneser-ney-single", "witten-bell" or "add-k"
    penalty : "elastic_net", "l1", "l2", "none" (also None), or a norm of every n-gram with all n-grams that extend it:
        "tree-l2", "tree-linf" (maxent)
    strength : one number for all n-grams above unigrams; one per order from the second (the last holds for the orders
        above; not for trees); None: a default per penalty
    tune : None, or "validation": the strengths are chosen on the ``validation`` text of ``fit``, l1 and l2 of every
        order apart
    depth_growth : the penalty is multiplied by this once more with every order above the second; None: 1, or a default
        per tree penalty, which is tuned together with the strength
    feature_decay : the penalty is that of theta / feature_decay ** (order - 2), as if features of longer n-grams were
        multiplied by it (Nelakanti et al.'s alpha); depth_growth is then 1 by default
    group_norm : the norm of tree-l2: "counts", sqrt(sum of (c_i / c_g) theta_i^2) with the counts c, or "plain",
        sqrt(sum of theta_i^2)
    l2 : strength of a ridge beside a tree penalty; None: a default per penalty, tuned together with the strength
    strength_classes : which n-grams share a strength when it is tuned: those of one "order", or "fine" classes by
        order, count, count of the shorter n-gram and frequency of the word
    l1_ratio : share of l1 in the elastic net; one number or one per order
    unigram_strength : ridge of the unigrams
    nonnegative : weights of order 2 and above are never negative: an n-gram that was seen can only make its word more
        probable
    min_count : n-grams that occur less often are left out: one number, or one per order (not decreasing); maxent
    prune : n-grams with at most this count are left out, per order, as (0, 0, 1); Kneser-Ney
    prune_entropy : leave out n-grams whose removal raises the perplexity, relatively, by less than this; any
        estimator
    k : added to counts (add-k)
    vocabulary : a file of words, one per line, or a list of words; None: the words of the text
    min_word_count, max_words : the vocabulary keeps words with at least this count, and at most this many words
    unknown : "token": words outside the vocabulary become ``<unk>``; "error": they raise an error
    units : "words" (separated by blanks), "characters" or "bytes"
    reserved : "error" or "skip": what to do with ``<s>`` and ``</s>`` inside text
    encoding : encoding of text files
    text_column : which column of JSON lines, Parquet and Arrow files, and which key of records (dicts), is the text;
        None: "text". A model file does not keep it
    sources : None, or information sources (``loglinear.sources``) instead of ``order``: [Words(3), Topic(), Tags(2)],
        or as text, "words:3,topic,tags:2"; maxent
    document_format : of files with layers: "json", "columns", "tagged" or "trees"; None: by the names of the files
    n_topics : cluster documents without labels to so many topics, for a topic source; they are then always assigned
        from the words so far
    classes : None, or the classes of a class-factored model, p(w | h) = p(class of w | h) p(w | class of w, h): a
        number of classes, which are made of the text, a class file, or a dict from words to classes; or a tree of
        classes, as (20, 400): 20 classes, each of some of 400 smaller ones, of which the last may be a file.
        ``sources`` are then those of each level of classes, and ``order`` that of the words within their class
    cache : None, or a memory of the document: True, "log-linear", "linear", a window in words, or a dict of
        settings (``CacheSettings``); fitted on the ``validation`` text
    method : how the normalisers of several sources are computed (``sources.normalisers``); None: the planner chooses
    disjoint : sets of sources whose features are nearly disjoint, and taken for disjoint in training, such as
        "words+topic"; ``disjointness_`` says what error that made, and the trained model is normalised exactly
    base : a LanguageModel to adapt, or the path of a model file or an ARPA file: only the difference is trained
        (maxent)
    memory : None, or a limit such as "4G": bytes that training may use beside what the process uses before. Text is
        then read in blocks, n-grams are counted and counted models estimated in temporary files; the result is the same
    tmp : folder for temporary files; None: the system's. A model file does not keep it
    solver, solver_options, tolerance, max_iterations : as in :class:`MaxentClassifier` (maxent)
    n_threads : native threads; None: all cores
    random_state : seed of ``sample``
    warm_start : begin from the model of the last fit
    verbose : "auto" (a progress bar on a terminal after two seconds), 0 or 1
    checkpoint : path of a file to save the weights to while training, and to resume from; default None (maxent, at
        given strengths). A model file does not keep it
    log : path of a file for one JSON object per step of training, or None (default)

    Text is a path (plain or compressed, or "-"), a list of paths, or an iterable of sentences (strings or lists of
    words) or of records (dicts with a text); or ``Sentences`` of numbers, which train only with the ``WordVocabulary``
    that numbered them as ``vocabulary``.

    Attributes
    ----------
    vocabulary_ : ``WordVocabulary``, the words by number, ``<unk>``, ``<s>`` and ``</s>`` among them
    order_, n_tokens_ : int, the longest n-gram; the tokens of the training text, ends of sentences included
    counts_, n_ngrams_ : list of int, the n-grams of the text and of the model by order: [order_] each
    n_weights_, n_parameters_ : int, weights that are kept; those that differ along paths without branches (maxent)
    n_classes_ : int, with ``classes``: those of the words and one for ``</s>``
    queries_ : ``NgramQueries`` and the like, what scores text natively
    discounts_ : list of str, the discounts of Kneser-Ney by order: [order_]
    strengths_ : list of dicts, the strengths by class of n-grams (maxent)
    strength_, depth_growth_, l2_, group_norm_ : those of a tree penalty
    tuning_, tuning_status_, n_validation_tokens_ : with ``tune``: the trials, a dict each; why they
        ended; tokens of the held-out text
    validation_score_ : float, mean log-probability of a held-out token, where there were any
    solver_, solver_reason_, objective_, gap_, gap_is_bound_, converged_, status_, n_iter_, fit_seconds_, history_ : how
        training went, as in :class:`MaxentClassifier`
    """

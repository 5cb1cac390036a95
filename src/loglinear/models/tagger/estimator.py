"""Tagger: label sequences with a CRF, MEMM, pseudolikelihood, M-estimation or HMM, as a scikit-learn estimator."""

from __future__ import annotations

from loglinear.models.estimator import Estimator
from loglinear.models.tagger.trainer import TaggerTrainer


class Tagger(TaggerTrainer, Estimator):
    """Label every token of a sequence.

    Minimises  sum of losses + strength * penalty,  l2 = |w|^2 / 2, l1 = |w|_1. CRFsuite's c2 is strength / 2 and its
    c1 is the strength of l1 (see ``from_crfsuite_params``); Wapiti's rho2 is strength. M-estimation keeps its paper's
    mean over sequences, so its strength is 1 / c there.

    Parameters
    ----------
    estimator : "crf" (default), "memm", "pseudolikelihood", "m-estimation" or "hmm"
    templates : for input in columns: a built-in set ("chunking", "sha-pereira", "ner", "ner-tags", "ner-phrases",
        "pos", "hmm"), a file of CRF++ or Wapiti templates, or their text. None (default): the input is dicts or strings
        of attributes per token
    dialect : whose templates they are, for the marks of rows outside the sequence: "crf++" (``_B-1``, ``_B+1``),
        "wapiti" (``_x-1``, ``_x+1``, to which commands apply), "loglinear" (``_B-1``, ``_E+1``), or "auto" (default):
        the tool that knows what the templates use, crf++ where both do; of built-in sets and joint models, loglinear
    classes : word classes that templates see: a file (``word TAB class``, or the ``paths`` of Brown's tool) or a dict
        (``WordClasses.to_dict()``); ``%c[0,0]`` in a template is the class of a word, ``%c[0,0,4]`` its first four
        bits. Templates without ``%c`` get some. The model file has the classes. None (default): no classes
    lexicon : lists of phrases with types (gazetteers) that templates see: a file (``phrase TAB type``, or a phrase per
        line of the type that the file is named after), a list of files, or a dict from phrases to a type or several;
        ``%l[0,0,"person"]`` in a template is where a token lies in a phrase. Templates without ``%l`` get some for
        every type. The model file has the phrases. None (default): no lexicon
    order : 1 (default), or 2 for features of three labels
    features : "observed" (default: attribute-label pairs that occur in training) or "all"
    transitions : "observed" (default) or "all"; label pairs without a weight are possible, with weight zero
    min_count : int, attributes that occur less often are dropped; default 1
    min_feature_count : float, features (an attribute with a label, a pair of labels) whose values sum to less in
        training are dropped, as CRFsuite's ``feature.minfreq`` does; default 0
    max_features : int or None (default): train on the so many features of attributes that rank best under
        M-estimation, which is fast to train (needs templates); transitions are kept besides. A model that is continued
        adds all features of the new data
    hash_bits : int or None (default): number attributes by hashing into 2**hash_bits instead of keeping their names
    oov : bool, whether to map the first occurrence of every column value in training to one symbol, and unknown
        values to it; default False, but always done for an HMM and M-estimation
    base : base distribution of M-estimation: "hmm" (default), "locally-uniform" or "empirical"
    smoothing : float, constant that is added to the emission counts of the base; default 1
    expectation : "exact" (default) or "sample": how expectations under the base are computed
    n_samples : int, sequences drawn where expectations are sampled; default 10,000
    input_only : features of the input alone for M-estimation, joined with no label: None (default), the length of
        the longest n-grams of each column (3: up to trigrams), or templates, a file or their text. They take from
        the other weights the burden of explaining the input, and count in ``input_log_probability``
    em : int, rounds of expectation-maximisation over sequences with unknown labels, for an HMM and M-estimation: each
        completes their labels by the model, and estimates it anew; default 0: they are refused
    em_labels : "sample" (default: labels drawn from p(y | x), which stand for the expectation) or "best" (the best
        labelling, Viterbi training)
    initialise : None (default), or "m-estimation": start a CRF from an M-estimate (needs templates)
    scheme : None (default: labels stay as they are), or "bio", "iob1", "iobes", "bilou", "bmes": labels are converted
        to this scheme from whichever they are of, so that the model predicts in it
    constraint : labellings to exclude when predicting: None (default), one of these schemes, "auto" (the scheme of the
        training data, unless they break it) or label pairs of which the second must not follow the first
    penalty, strength, l1_ratio, solver, solver_options, tolerance, max_iterations, n_threads, random_state,
    warm_start, verbose, checkpoint, log : as in :class:`MaxentClassifier`
    tune : None (default), "validation" (strengths from strong to weak; the best score on the ``validation`` sequences
        of ``fit`` wins), or the strengths to try
    machine : "auto" (default), "dense" or "sparse": how transitions are stored while training

    ``X`` is a list of sequences: of dicts, of lists of strings, or (with templates) of tuples of column values; or
    arrays [n_tokens, width] of numbers, or ``TokenArrays`` (numbers beside attributes, given scores of labels); or
    ``Columns`` / ``AttributeSequences`` as read from files. ``y`` is a list of lists of labels, text or whole
    numbers; None is an unknown label and a set one of several (estimator "crf", or ``em``); or ``FlatLabels`` as read
    from files, in which -1 is unknown.

    Attributes
    ----------
    classes_ : list of the labels, sorted, text or whole numbers: [n_labels]
    weights_ : [n_weights] float64; ``state_features_`` and ``transition_features_`` have them by name
    scheme_, n_illegal_ : the label scheme of the training data or None; how many of its labels break it
    strength_, tuning_ : the strength of the model; with ``tune`` also a list of the trials, a dict each
    validation_score_ : float, ``score`` on the held-out sequences, where there were any
    em_ : with ``em``, a list of the rounds, a dict each
    solver_, solver_reason_, objective_, gap_, gap_is_bound_, converged_, status_, n_iter_, fit_seconds_, history_ : how
        training went, as in :class:`MaxentClassifier`
    """

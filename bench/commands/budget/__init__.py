"""`tokbench budget`: limits on the tokens of files, alone or against a base commit.

The text changes and the tokenizer is fixed: the opposite of `tokbench compare`.

    schema      what a budget may say
    git         files as they are at a commit
    texts       the files of the working tree and of the base, paired
    counts      tokens of texts, with a cache
    outcome     what a check found
    check       limits against counts
    lines       the lines that cost most
"""

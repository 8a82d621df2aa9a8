"""How the texts of a run use a vocabulary: residues of merging, entries of one word, languages."""

// Package mask takes secrets out of text that is about to be shown to strangers.
//
// It masks two kinds. Values that it knows ([Mask.Add], [Mask.MaskConfig], [Mask.Follow]) it finds wherever they stand: as they
// are, escaped, URL-encoded or in base64. As a second net it masks what looks like a secret by its shape: private keys,
// tokens, the values of keys named password. Names, addresses, certificates and thumbprints stay. A known value of fewer
// than four bytes is masked by shape alone, because it is a part of half of all words.
//
// It is the one masker of the program: bundles, exported recordings, artifacts and reports go through it.
//
// Floor 0.
package mask

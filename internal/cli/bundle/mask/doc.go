// Package mask takes secrets out of text that is about to be shown to strangers.
//
// It knows two kinds: values that it was told of ([Mask.Know], [Mask.Learn]), which it finds wherever they stand, as they
// are, escaped, URL-encoded or in base64; and what looks like a secret by its shape: private keys, tokens, the values of
// keys named password. Names, addresses, certificates and thumbprints stay. A known value of fewer than four bytes is
// masked by shape alone: it is in half of all words.
//
// Floor 5. It reads and writes nothing but what it is handed.
package mask

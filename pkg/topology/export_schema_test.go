package topology

// ChoicesOf lets the schema's generator, which is a test, ask what the decoder asks.
func ChoicesOf(value any) (words []string, limited bool) { return choicesOf(value) }

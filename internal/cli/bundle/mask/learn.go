package mask

import (
	"encoding/base64"
	"path"
	"strings"
)

// Learn takes the secrets out of a file of configuration, whose name may say that it is one as a whole, and knows them from
// then on. Logs are not for it: what they have by a key's name need not be one.
func (m *Mask) Learn(name string, text []byte) {
	s := string(text)
	if base := path.Base(name); base == "token" || strings.HasSuffix(base, ".token") || strings.HasSuffix(base, ".key") {
		m.Know(s)
	}
	for _, key := range privateKey.FindAllString(s, -1) {
		m.Know(strings.ReplaceAll(key, `\n`, "\n"))
	}
	for _, g := range pair.FindAllStringSubmatch(s, -1) {
		bare, _ := unquote(g[2])
		m.value(bare)
	}
	for _, g := range line.FindAllStringSubmatch(s, -1) {
		bare, _ := unquote(strings.TrimSpace(g[2]))
		m.value(bare)
	}
	for _, g := range inURL.FindAllString(s, -1) {
		_, password, _ := strings.Cut(strings.TrimPrefix(g, "://"), ":")
		m.value(strings.TrimSuffix(password, "@"))
	}
}

// value knows what a key has; a key or a certificate may be in base64 there.
func (m *Mask) value(v string) {
	if strings.HasSuffix(v, Text) || strings.HasPrefix(v, "/") || v == "|" || v == ">" { // a file that has it
		return
	}
	m.Know(v)
	if plain, err := base64.StdEncoding.DecodeString(v); err == nil && readable(plain) {
		m.Know(string(plain))
	}
}

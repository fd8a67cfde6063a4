package artifacts

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const hidden = "[hidden]"

// shapes are secrets that can be told by what they look like: JSON Web Tokens, private keys, headers with credentials.
var shapes = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), hidden},
	{regexp.MustCompile(`(?i)\b(authorization:?\s*(?:basic|bearer)\s+)[A-Za-z0-9+/=._~-]{6,}`), "${1}" + hidden},
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`), hidden + "\n"},
}

// keyBegin and keyEnd are the lines around a private key.
var (
	keyBegin = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)
	keyEnd   = regexp.MustCompile(`-----END [A-Z ]*PRIVATE KEY-----`)
)

// secrets are texts that are not to be written down.
type secrets struct {
	mu    sync.Mutex
	texts []string // longest first: one may be the beginning of another
}

// add takes texts of four characters or more: shorter ones would take whole words out of logs.
func (s *secrets) add(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range texts {
		if len(t) < 4 {
			continue
		}
		// As it is, in a Secret, in a URL.
		for _, form := range []string{t, base64.StdEncoding.EncodeToString([]byte(t)), url.QueryEscape(t)} {
			if !slices.Contains(s.texts, form) {
				s.texts = append(s.texts, form)
			}
		}
	}
	slices.SortFunc(s.texts, func(a, b string) int { return len(b) - len(a) })
}

// clean returns b without secrets. b is not changed.
func (s *secrets) clean(b []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.texts {
		b = bytes.ReplaceAll(b, []byte(t), []byte(hidden))
		if quoted := jsonText(t); quoted != t {
			b = bytes.ReplaceAll(b, []byte(quoted), []byte(hidden))
		}
	}
	for _, sh := range shapes {
		b = sh.find.ReplaceAll(b, []byte(sh.put))
	}
	return b
}

// jsonText is a text as it stands between quotation marks.
func jsonText(t string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(t)
}

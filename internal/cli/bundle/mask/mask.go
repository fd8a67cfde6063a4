package mask

import (
	"slices"
	"strings"
	"sync"
)

// Text stands in the place of what was a secret.
const Text = "(masked)"

// shortest is the length from which on a value is looked for by itself.
const shortest = 4

// Mask knows secrets. The zero value knows those that have a shape. Its methods may be called from any goroutine.
type Mask struct {
	mu     sync.Mutex
	known  map[string]bool
	finder *finder // nil: to be made anew
	count  int
}

// public is how many lines of a certificate may be in others of its issuer: the names and times.
const public = 4

// Know adds a value that is to be found nowhere. Of a private key every line counts; of a certificate those that no other has.
func (m *Mask) Know(secret string) {
	secret = strings.TrimSpace(secret)
	values := []string{secret}
	if strings.Contains(secret, "-----BEGIN ") {
		values = nil
		skip := 0
		if strings.Contains(secret, "-----BEGIN CERTIFICATE") {
			skip = public
		}
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "-----") || len(line) < 16 {
				continue
			}
			if skip--; skip < 0 {
				values = append(values, line)
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]bool{}
	}
	for _, v := range values {
		if len(v) >= shortest && !dull(v) && !m.known[v] {
			m.known[v], m.finder = true, nil
		}
	}
}

// Bytes returns text without the secrets.
func (m *Mask) Bytes(text []byte) []byte { return []byte(m.String(string(text))) }

// String returns text without the secrets.
func (m *Mask) String(text string) string {
	m.mu.Lock()
	if m.finder == nil {
		m.finder = newFinder(m.known)
	}
	f := m.finder
	m.mu.Unlock()
	masked := f.mask(text, deepest)
	if n := strings.Count(masked, Text) - strings.Count(text, Text); n > 0 {
		m.mu.Lock()
		m.count += n
		m.mu.Unlock()
	}
	return masked
}

// Count is how many places have been masked so far.
func (m *Mask) Count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// dull tells of what stands where a secret could, and is none.
func dull(value string) bool {
	return strings.Trim(value, "*") == "" || slices.Contains([]string{Text, "true", "false", "null", "nil", "none", "<none>", "<nil>", "{}", "[]"}, value)
}

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
	finder *finder // nil: what is known has changed
	count  int
	// followed are the instance directories of [Mask.Follow], with the size of the store as it was last read.
	followed map[string]int64
}

// public is how many lines of a certificate may be in others of its issuer: the names and times.
const public = 4

// Know adds values that may stand nowhere. Of a text of several lines each line counts that is long enough, for it may be
// indented; of a certificate those lines that no other has.
func (m *Mask) Know(secrets ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range secrets {
		m.know(parts(strings.TrimSpace(s)))
	}
}

// longLine is the length from which on a line of a longer secret is looked for alone.
const longLine = 16

// parts are what is looked for of a secret.
func parts(secret string) []string {
	if !strings.Contains(secret, "\n") {
		return []string{secret}
	}
	var all []string
	skip := 0
	switch {
	case !strings.Contains(secret, "-----BEGIN "):
		all = append(all, secret)
	case strings.Contains(secret, "-----BEGIN CERTIFICATE"):
		skip = public
	}
	for line := range strings.Lines(secret) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "-----") || len(line) < longLine {
			continue
		}
		if skip--; skip < 0 {
			all = append(all, line)
		}
	}
	return all
}

// know adds values. The caller holds the lock.
func (m *Mask) know(values []string) {
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
	_ = m.catchUp() // Follow has returned this error; a store that cannot be read now was read then
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

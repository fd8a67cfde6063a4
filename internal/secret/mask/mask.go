package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"html"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
)

// Text stands in the place of what was a secret.
const Text = "(masked)"

// shortest is the minimum length of a value that is masked on its own.
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

// Add adds values that may stand nowhere. Of a text of several lines each line counts that is long enough, for it may be
// indented; of a certificate those lines that no other has.
func (m *Mask) Add(secrets ...string) {
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

// dull reports whether a value in the place of a secret is none.
func dull(value string) bool {
	return strings.Trim(value, "*") == "" || slices.Contains([]string{Text, "true", "false", "null", "nil", "none", "<none>", "<nil>", "{}", "[]"}, value)
}

// forms are the ways in which texts write a secret down: as it is, in the quotes of languages, in URLs.
func forms(secret string) []string {
	all := []string{secret, html.EscapeString(secret), strings.ReplaceAll(secret, "'", `'\''`), strings.ReplaceAll(secret, "'", "''")}
	for _, once := range quoted(secret) {
		all = append(all, once)
		all = append(all, quoted(once)...) // a line of JSON in a line of JSON
	}
	var x bytes.Buffer
	if xml.EscapeText(&x, []byte(secret)) == nil {
		all = append(all, x.String())
	}
	all = append(all, strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(secret))
	q := strconv.Quote(secret)
	all = append(all, strings.NewReplacer(`\x00`, `\0`, `\x1b`, `\e`).Replace(q[1:len(q)-1])) // YAML's own
	query := url.QueryEscape(secret)
	for _, u := range []string{query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(secret), strings.TrimPrefix(url.UserPassword("", secret).String(), ":")} {
		all = append(all, u, lowerHex(u))
	}
	return all
}

func quoted(s string) []string {
	q, ascii := strconv.Quote(s), strconv.QuoteToASCII(s)
	all := []string{q[1 : len(q)-1], ascii[1 : len(ascii)-1]}
	for _, escape := range []bool{true, false} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escape)
		if e.Encode(s) == nil {
			q := strings.TrimSuffix(b.String(), "\n")
			all = append(all, q[1:len(q)-1])
		}
	}
	return all
}

var hex = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerHex(s string) string { return hex.ReplaceAllStringFunc(s, strings.ToLower) }

// cores returns the parts of a secret that every base64 text with it contains, independent of its neighbors: one for each
// of the three alignments.
func cores(secret string) []string {
	var all []string
	for before := range 3 {
		from := (before*8 + 5) / 6           // the first character that is of the secret alone
		to := (before + len(secret)) * 8 / 6 // and the first that is not
		text := make([]byte, before, before+len(secret))
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			core := e.EncodeToString(append(text, secret...))[from:to]
			if len(core) < shortest {
				continue
			}
			q := url.QueryEscape(core)
			all = append(all, core, q, lowerHex(q))
		}
	}
	return all
}

// secretKeys end the names of what has a secret as its value.
const secretKeys = `password|passwd|passphrase|token|client[-_]?secret|secret[-_]?key|private[-_]?key|api[-_]?key|access[-_]?key|certificate[-_]key|` +
	`client-key-data|client-certificate-data|session[-_]?id|session[-_]?key|soap_session|authorization|cookie`

// The shapes. All keep what stands before the secret, the first group; the last one what stands after it.
var (
	privateKey = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)-----END [A-Z0-9 ]*PRIVATE KEY-----`)
	cutKey     = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:\\r|\\n|[A-Za-z0-9+/=\s])*`)
	jwt        = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`)
	bootstrap  = regexp.MustCompile(`(?i)(token["'\s:=]{1,4})[a-z0-9]{6}\.[a-z0-9]{16}\b`) // kubeadm's; names of Events look like them
	login      = regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=%-]{8,}`)
	inURL      = regexp.MustCompile(`(://[^/\s:@"'<>]*:)[^@/\s"'<>]+(@)`)
	flag       = regexp.MustCompile(`(?i)(--[\w-]*(?:` + secretKeys + `) +)[^\s"'\\-][^\s"'\\]*`)
	element    = regexp.MustCompile(`(?i)(<(?:[\w-]+:)?(?:` + secretKeys + `)\b[^<>]*>)[^<]+(</)`)
	line       = regexp.MustCompile(`(?im)^([ \t]*(?:- +)?(?:export[ \t]+)?(?:[\w./][\w./-]*)?(?:` + secretKeys + `)[ \t]*[:=][ \t]*)([^\s].*)$`)
	pair       = regexp.MustCompile(`(?i)((?:` + secretKeys + `)(?:\\*["'])?[ \t]*[:=][ \t]*)(\\+"[^"]*"|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&}\]<>"'\\]+)`)
)

// shapes masks what looks like a secret. Most lines of a log have none of the words that a shape begins with, and finding
// that out is a hundred times faster than the expressions are.
func shapes(text string) string {
	lower := strings.ToLower(text)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(lower, w) })
	}
	if has("private key-----") {
		text = privateKey.ReplaceAllLiteralString(text, Text)
		text = cutKey.ReplaceAllLiteralString(text, Text)
	}
	if has("eyj") {
		text = jwt.ReplaceAllLiteralString(text, Text)
	}
	if has("bearer", "basic") {
		text = login.ReplaceAllString(text, "${1}"+Text)
	}
	if has("://") && has("@") {
		text = inURL.ReplaceAllString(text, "${1}"+Text+"${2}")
	}
	if !has("pass", "token", "key", "session", "authorization", "cookie") { // parts of all of secretKeys
		return text
	}
	for _, r := range []*regexp.Regexp{bootstrap, flag} {
		text = r.ReplaceAllString(text, "${1}"+Text)
	}
	text = element.ReplaceAllString(text, "${1}"+Text+"${2}")
	return valued(pair, valued(line, text, wholeLine), inQuotes)
}

// valued masks the second group of r, as masked writes it.
func valued(r *regexp.Regexp, text string, masked func(value string) string) string {
	return r.ReplaceAllStringFunc(text, func(found string) string {
		g := r.FindStringSubmatch(found)
		if bare, _ := unquote(g[2]); bare == "" || dull(bare) {
			return found
		}
		return g[1] + masked(g[2])
	})
}

// wholeLine masks a value that is the rest of its line; a YAML block, which begins in the next line, has none.
func wholeLine(value string) string {
	if value == "|" || value == ">" || value == "{" || value == "[" {
		return value
	}
	return Text
}

// inQuotes keeps the quotes, so that JSON stays JSON.
func inQuotes(value string) string {
	_, quote := unquote(value)
	return quote + Text + quote
}

// unquote returns a value without its quotes, and one of these.
func unquote(value string) (bare, quote string) {
	rest := strings.TrimLeft(value, `\`)
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return value, ""
	}
	quote = value[:len(value)-len(rest)+1]
	return strings.TrimSuffix(strings.TrimPrefix(value, quote), quote), quote
}

// Follow learns the secrets of an instance from its directory: what its store holds, and what stands in its files of
// configuration, keys and tokens. The store is read again whenever it has grown, so what the instance comes to know later
// is masked as well; that the directory goes does no harm. The error says what could not be read: what it would have
// taught is masked by its shape alone.
func (m *Mask) Follow(dir string) error {
	m.mu.Lock()
	if m.followed == nil {
		m.followed = map[string]int64{}
	}
	m.followed[dir] = 0
	m.mu.Unlock()
	return errors.Join(m.catchUp(), m.learnFiles(dir))
}

// Settle ends what [Mask.Follow] began: what instances learn from now on is masked by its shape alone.
func (m *Mask) Settle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.followed = nil
}

// catchUp reads the stores that have grown.
func (m *Mask) catchUp() error {
	m.mu.Lock()
	followed := maps.Clone(m.followed)
	m.mu.Unlock()
	var errs []error
	for dir, was := range followed {
		info, err := os.Lstat(filepath.Join(dir, secret.File))
		if err != nil || info.Size() == was { // one that is gone was read before, or never was
			continue
		}
		values, err := secret.Read(dir)
		for _, v := range values {
			m.Add(v)
			m.MaskConfig("", []byte(v)) // it may be a configuration with a password in it
		}
		if errs = append(errs, err); err == nil {
			m.mu.Lock()
			m.followed[dir] = info.Size()
			m.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

// learnable is how long a file of configuration may be.
const learnable = 1 << 20

// learnFiles learns from the files of an instance: its configuration, keys and tokens, not its logs, events and data. Of
// what kubelets mount into pods it reads the tokens.
func (m *Mask) learnFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it ended just now
		case err != nil:
			return err
		case d.IsDir():
			switch d.Name() {
			case "etcd", "logs", "sim", "plugins":
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || strings.HasSuffix(path, ".jsonl") || filepath.Base(path) == secret.File:
			return nil
		case strings.Contains(path, string(filepath.Separator)+"pods"+string(filepath.Separator)) && d.Name() != "token":
			return nil
		}
		if i, err := d.Info(); err != nil || i.Size() > learnable {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && bytes.IndexByte(text, 0) < 0 {
			m.MaskConfig(path, text)
		}
		return nil // what cannot be read is put nowhere either
	})
}

// MaskConfig takes the secrets out of a file of configuration, whose name may say that it is one as a whole, and knows them from
// then on. Logs are not for it: what they have by a key's name need not be one.
func (m *Mask) MaskConfig(name string, text []byte) {
	s := string(text)
	if base := filepath.Base(name); base == "token" || strings.HasSuffix(base, ".token") || strings.HasSuffix(base, ".key") {
		m.Add(s)
	}
	for _, key := range privateKey.FindAllString(s, -1) {
		m.Add(strings.ReplaceAll(key, `\n`, "\n"))
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
	m.Add(v)
	if plain, err := base64.StdEncoding.DecodeString(v); err == nil && readable(plain) {
		m.Add(string(plain))
	}
}

// deepest is how many times what was encoded may have been encoded again.
const deepest = 3

// finder finds what is known, and what has the shape of a secret.
type finder struct {
	forms, cores *strings.Replacer
}

// mark stands for the core of a base64 text until the rest of that is found. No text that is handed in has it any more.
const mark = "\x00"

func newFinder(known map[string]bool) *finder {
	var all, inner []string
	for secret := range known {
		all = append(all, forms(secret)...)
		inner = append(inner, cores(secret)...)
	}
	return &finder{replacer(all, Text), replacer(inner, mark)}
}

// replacer finds the longest first, so that of a secret that begins another nothing is left.
func replacer(words []string, with string) *strings.Replacer {
	slices.SortFunc(words, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, w := range slices.Compact(words) {
		pairs = append(pairs, w, with)
	}
	return strings.NewReplacer(pairs...)
}

// Runs of base64, and those that hold a mark; a backslash before them began a \n of JSON's.
var (
	encoded = regexp.MustCompile(`(?:[A-Za-z0-9+/_-]|%2[BbFf]){24,}(?:=|%3[Dd]){0,2}`)
	marked  = regexp.MustCompile(`\\*[A-Za-z0-9+/_=%-]*(?:` + mark + `[A-Za-z0-9+/_=%-]*)+`)
)

func (f *finder) mask(text string, depth int) string {
	text = strings.ReplaceAll(text, mark, " ")
	text = f.forms.Replace(text)
	if text = f.cores.Replace(text); strings.Contains(text, mark) {
		text = marked.ReplaceAllLiteralString(text, Text)
	}
	text = shapes(text)
	if depth == 0 {
		return text
	}
	return encoded.ReplaceAllStringFunc(text, func(run string) string {
		if plain := decode(run); plain != "" && f.mask(plain, depth-1) != plain {
			return Text
		}
		return run
	})
}

// decode returns the text that a run is in base64, "" where it is none. Something before it may have looked like a part.
func decode(run string) string {
	run = strings.NewReplacer("-", "+", "_", "/", "%2B", "+", "%2b", "+", "%2F", "/", "%2f", "/", "%3D", "", "%3d", "", "=", "").Replace(run)
	for begin := range 4 {
		rest := run[min(begin, len(run)):]
		if len(rest)%4 == 1 {
			rest = rest[:len(rest)-1]
		}
		if plain, err := base64.RawStdEncoding.DecodeString(rest); err == nil && readable(plain) {
			return string(plain)
		}
	}
	return ""
}

func readable(b []byte) bool {
	if len(b) == 0 || !utf8.Valid(b) {
		return false
	}
	return !strings.ContainsFunc(string(b), func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) })
}

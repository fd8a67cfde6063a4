package mask

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret"
)

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

package secrets

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// window is how many bytes of a written secret are looked up at once. Shorter ones are not looked for.
const window = 8

// secrets are what may stand nowhere, by what they are.
type secrets struct {
	what map[string]string   // by value
	of   map[string][]string // the ways in which values are written, by their first bytes
	name map[string]string   // what a written one is
}

func newSecrets() *secrets {
	return &secrets{what: map[string]string{}, of: map[string][]string{}, name: map[string]string{}}
}

// add has a value looked for. Of a text of several lines these are the long ones: keys, not what surrounds them.
func (s *secrets) add(what, value string) {
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) > 40 && !strings.HasPrefix(line, "-----") {
				s.add(what, line)
			}
		}
		return
	}
	if value = strings.TrimSpace(value); len(value) < window || s.what[value] != "" {
		return
	}
	s.what[value] = what
	for how, text := range writings(value) {
		if len(text) < window || s.name[text] != "" {
			continue
		}
		s.name[text] = what + ", " + how
		s.of[text[:window]] = append(s.of[text[:window]], text)
	}
}

// writings are the ways in which a value may be written in what leaves.
func writings(value string) map[string]string {
	plainJSON := func(v string, escape bool) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escape)
		_ = e.Encode(v) // a string cannot fail
		return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
	}
	var x bytes.Buffer
	_ = xml.EscapeText(&x, []byte(value))
	q := strconv.Quote(value)
	y, _ := yaml.Marshal(value)
	all := map[string]string{
		"plain": value, "JSON": plainJSON(value, false), "JSON for HTML": plainJSON(value, true), "JSON in JSON": plainJSON(plainJSON(value, true), true),
		"XML": x.String(), "HTML": html.EscapeString(value), "Go": q[1 : len(q)-1], "YAML": strings.TrimSuffix(string(y), "\n"), "YAML, one quote": strings.ReplaceAll(value, "'", "''"),
		"URL query": url.QueryEscape(value), "URL path": url.PathEscape(value), "URL query, spaces": strings.ReplaceAll(url.QueryEscape(value), "+", "%20"),
	}
	for before := range 3 {
		text := append(bytes.Repeat([]byte("x"), before), value...)
		first, after := (before*8+5)/6, len(text)*8/6 // the characters that are of the value alone
		all[fmt.Sprintf("base64 after %d", before)] = base64.StdEncoding.EncodeToString(text)[first:after]
		all[fmt.Sprintf("base64 for URLs after %d", before)] = base64.URLEncoding.EncodeToString(text)[first:after]
	}
	return all
}

// find returns what stands in a text, each once.
func (s *secrets) find(text string) (found []string) {
	seen := map[string]bool{}
	for i := 0; i+window <= len(text); i++ {
		for _, w := range s.of[text[i:i+window]] {
			if strings.HasPrefix(text[i:], w) && !seen[w] {
				seen[w] = true
				found = append(found, fmt.Sprintf("%s: …%.60q▸%.12s…◂", s.name[w], text[max(0, i-60):i], w))
			}
		}
	}
	return found
}

// clean fails the test where texts, by name, hold a secret. It wants texts that have something in them.
func (s *secrets) clean(t *testing.T, where string, texts map[string]string) {
	t.Helper()
	bytes := 0
	for name, text := range texts {
		bytes += len(text)
		for _, found := range append(s.find(text), s.find(name)...) {
			t.Errorf("%s: %s has %s", where, name, found)
		}
	}
	t.Logf("%s: %d texts, %d bytes, %d secrets", where, len(texts), bytes, len(s.what))
	if bytes == 0 {
		t.Errorf("%s: there is nothing to look through", where)
	}
}

// unpack returns the files of a bundle.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(text)
	}
}

// read returns the files below a folder, but for those that skip names.
func read(t *testing.T, folder string, skip func(rel string) bool) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it ended while we looked
		} else if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil || rel != "." && skip(rel) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return err
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		files[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// What the scanner is for, it finds: in every writing, in the midst of others, and in an archive.
func TestScannerFinds(t *testing.T) {
	const value = `c4nary "one" & <two>'s/três+four`
	s := newSecrets()
	s.add("a canary", value)
	s.add("a key", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n-----END PRIVATE KEY-----\n")
	quoted, _ := json.Marshal(map[string]string{"message": value})
	twice, _ := json.Marshal(string(quoted))
	inYAML, _ := yaml.Marshal(map[string]string{"password": value})
	var inXML bytes.Buffer
	_ = xml.EscapeText(&inXML, []byte(value))
	for name, text := range map[string]string{
		"plain": value, "json": string(quoted), "twice": string(twice), "yaml": string(inYAML), "xml": inXML.String(), "html": html.EscapeString(value),
		"query": url.Values{"p": {value}}.Encode(), "path": url.PathEscape(value), "user": url.UserPassword("u", value).String(), "go": fmt.Sprintf("%q", value),
		"basic": base64.StdEncoding.EncodeToString([]byte("root:" + value)), "secret": base64.StdEncoding.EncodeToString([]byte(value)),
		"jwt": base64.RawURLEncoding.EncodeToString([]byte("ab" + value + "cd")), "key": "x MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ y",
	} {
		if len(s.find("before "+text+" after")) == 0 {
			t.Errorf("%s: not found in %s", name, text)
		}
	}
	if found := s.find("c4nary two, three: nothing to see " + strings.Repeat("MIIE", 20)); len(found) > 0 {
		t.Errorf("found what is not there: %v", found)
	}
	path := filepath.Join(t.TempDir(), "x.tar.gz")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: "logs/a.log", Mode: 0o600, Size: int64(len(value))})
	_, werr := io.WriteString(w, value)
	if err := errors.Join(err, werr, w.Close(), z.Close(), os.WriteFile(path, packed.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if found := s.find(unpack(t, path)["logs/a.log"]); len(found) == 0 {
		t.Error("not found in an archive")
	}
}
